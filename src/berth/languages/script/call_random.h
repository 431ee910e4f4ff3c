// SPDX-License-Identifier: Apache-2.0
// CallRandom: the random numbers of math.random in a call. The source is only asked at the first draw of a call, so
// that other calls cost nothing. Each call starts with a new generator, so that its result does not depend on earlier
// calls. One thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "berth/base/random.h"

namespace berth::script {

class CallRandom {
 public:
  // Returns the generator for a call; nullopt: the call may not draw numbers, for the reason that was set last.
  using Source = std::function<std::optional<Random>()>;

  void SetSource(Source source) { source_ = std::move(source); }
  void SetReason(const char* reason) { reason_ = reason; }

  void BeginCall() { random_.reset(); }
  // Null: the call may not draw numbers; see reason().
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
