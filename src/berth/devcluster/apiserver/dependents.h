// SPDX-License-Identifier: Apache-2.0
// Dependents: which objects name which as their owners, as of one look at all of them. Belongs to one request; not
// thread-safe.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "berth/devcluster/apiserver/object.h"
#include "berth/devcluster/apiserver/served_type.h"

namespace berth::apiserver {

class Dependents {
 public:
  struct Dependent {
    std::shared_ptr<const ServedType> served;
    ObjectPtr object;
  };

  void Add(const std::shared_ptr<const ServedType>& served, const ObjectPtr& object);

  // The owner's dependents, theirs, and so on, breadth first, without the owner itself: owners may form circles. What
  // one call has given no later one gives again, so that all calls together take the time of the objects and their
  // references, whatever owners have in common.
  std::vector<Dependent> Take(std::string_view owner_uid);

 private:
  // The objects hold the uids, here and below.
  absl::flat_hash_map<std::string_view, std::vector<Dependent>> by_owner_;
  absl::flat_hash_set<std::string_view> taken_;
};

}  // namespace berth::apiserver
