// SPDX-License-Identifier: Apache-2.0
// CachedRefusal: the VerdictId of one refusal, for one call of a column filter. The first row that is refused interns
// it.
#pragma once

#include <string>
#include <string_view>

#include "berth/framework/fast_path.h"

namespace berth::plugins {

class CachedRefusal {
 public:
  // `statuses` and `reason` must outlive it.
  CachedRefusal(framework::StatusTable& statuses, framework::Code code, std::string_view reason)
      : statuses_(statuses), code_(code), reason_(reason) {}

  framework::VerdictId Get() {
    if (id_ == framework::kVerdictOk) id_ = statuses_.Intern(framework::Status(code_, {std::string(reason_)}));
    return id_;
  }

 private:
  framework::StatusTable& statuses_;
  framework::Code code_;
  std::string_view reason_;
  framework::VerdictId id_ = framework::kVerdictOk;
};

}  // namespace berth::plugins
