// SPDX-License-Identifier: Apache-2.0
// CallRandom: what math.random draws from in a call. The source is asked when a call first draws, so that calls that
// do not draw cost nothing, and each call begins anew, so that its answer does not depend on the calls before it. One
// thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "berth/base/random.h"

namespace berth::script {

class CallRandom {
 public:
  // Gives a call its generator; nullopt: the call may not draw, for the reason that was given last.
  using Source = std::function<std::optional<Random>()>;

  void SetSource(Source source) { source_ = std::move(source); }
  void SetReason(const char* reason) { reason_ = reason; }

  void BeginCall() { random_.reset(); }
  // Null: it may not draw, for reason().
  Random* Draw() {
    if (!random_ && source_) random_ = source_();
    return random_ ? &*random_ : nullptr;
  }
  const char* reason() const { return reason_; }

 private:
  Source source_;
  std::optional<Random> random_;
  const char* reason_ = "math.random draws within calls only";
};

}  // namespace berth::script
