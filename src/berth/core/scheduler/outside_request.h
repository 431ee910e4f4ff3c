// SPDX-License-Identifier: Apache-2.0
// OutsideRequest: a source of data from outside that a plugin wants to be told of. A plain value.
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
