// SPDX-License-Identifier: Apache-2.0
// OutsideRequest: a source of outside data that a plugin reads. A plain value.
#pragma once

#include <string>

#include "berth/framework/outside_data.h"

namespace berth::scheduler {

struct OutsideRequest {
  std::string scheduler_name;  // of the profile
  std::string plugin;
  framework::OutsideSource source;
};

}  // namespace berth::scheduler
