// SPDX-License-Identifier: Apache-2.0
#include "berth/api/pod_group.h"

#include <algorithm>

namespace berth::api {

const GroupCondition* PodGroup::FindCondition(std::string_view type) const {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [type](const GroupCondition& condition) { return condition.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

}  // namespace berth::api
