// SPDX-License-Identifier: Apache-2.0
#include "berth/api/pod_group.h"

#include <algorithm>
#include <span>

namespace berth::api {
namespace {

const GroupCondition* Find(std::span<const GroupCondition> conditions, std::string_view type) {
  const auto found = std::ranges::find(conditions, type, &GroupCondition::type);
  return found == conditions.end() ? nullptr : &*found;
}

}  // namespace

const GroupCondition* PodGroup::FindCondition(std::string_view type) const { return Find(conditions, type); }
const GroupCondition* CompositePodGroup::FindCondition(std::string_view type) const { return Find(conditions, type); }

}  // namespace berth::api
