// SPDX-License-Identifier: Apache-2.0
// ProfileAware: for plugins whose metrics and messages name their profile. Within turns only.
#pragma once

#include <string_view>

#include "berth/framework/plugin.h"

namespace berth::framework {

class ProfileAware : public virtual Plugin {
 public:
  // Called once before the first cycle, with the schedulerName of the instance's profile.
  virtual void SetProfile(std::string_view scheduler_name) = 0;
};

}  // namespace berth::framework
