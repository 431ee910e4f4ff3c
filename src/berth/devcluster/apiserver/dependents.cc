// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/dependents.h"

#include <cstddef>
#include <string>

namespace berth::apiserver {

void Dependents::Add(const std::shared_ptr<const ServedType>& served, const ObjectPtr& object) {
  for (const std::string& owner : object->owner_uids) by_owner_[owner].push_back({served, object});
}

std::vector<Dependents::Dependent> Dependents::Take(std::string_view owner_uid) {
  std::vector<Dependent> found;
  const auto visit = [&](std::string_view uid) {
    const auto at = by_owner_.find(uid);
    if (at == by_owner_.end()) return;
    taken_.insert(at->first);
    for (const Dependent& each : at->second) {
      if (taken_.insert(each.object->uid).second) found.push_back(each);
    }
  };
  visit(owner_uid);
  for (std::size_t next = 0; next < found.size(); ++next) visit(found[next].object->uid);
  return found;
}

}  // namespace berth::apiserver
