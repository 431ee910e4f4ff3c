// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/pod_decision.h"

namespace berth::controllers {

json::object& ObjectIn(json::object& owner, const char* name) {
  json::value& member = owner[name];
  return member.is_object() ? member.as_object() : member.emplace_object();
}

std::int64_t NumberIn(std::string_view digits) {
  constexpr std::size_t kDigitsMax = 9;
  if (digits.empty() || digits.size() > kDigitsMax) return -1;
  std::int64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

bool UpdatesByItself(const WorkloadView& set) {
  const json::object* strategy = ObjectOf(set.spec, "updateStrategy");
  return strategy == nullptr || StringOf(*strategy, "type") != "OnDelete";
}

}  // namespace berth::controllers
