// SPDX-License-Identifier: Apache-2.0
// ObjectGraph: every object by its uid, with the objects that name it as their owner. A change costs the logarithm of
// the number of dependents for each reference that changed, never a look at all objects. On the loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <absl/container/btree_map.h>

#include "berth/base/hash_map.h"
#include "berth/devcluster/controllers/objects.h"

namespace berth::controllers {

// A kind of objects as the API server serves it.
struct ResourceKind {
  std::string group;   // "" for core
  std::string prefix;  // "/apis/batch/v1"
  std::string plural;  // "jobs"
  std::string kind;    // "Job"
  bool is_namespaced = true;
};

class ObjectGraph {
 public:
  using KindPtr = std::shared_ptr<const ResourceKind>;
  using ObjectPtr = std::shared_ptr<const ObjectView>;

  struct Node {
    KindPtr kind;
    ObjectPtr object;                               // null: others name it as their owner, and it was not seen
    absl::btree_map<std::string, bool> dependents;  // by uid, in the same order in each run; true: it blocks the owner
    std::size_t blocking = 0;                       // of the dependents, those that block

    // Its deletion waits for the dependents that block it.
    bool WaitsForDependents() const { return object != nullptr && object->WaitsForDependents(); }
  };

  // Gives the version before; null for a new object.
  ObjectPtr Put(const KindPtr& kind, const ObjectPtr& object);
  void Erase(std::string_view uid);

  // Null when there is none. Valid until the next change.
  const Node* Find(std::string_view uid) const;
  std::size_t size() const { return nodes_.size(); }
  // Objects that were seen; `visit` may not change the graph.
  void ForEach(const std::function<void(const Node&)>& visit) const;

 private:
  void Link(const ObjectView& dependent);
  void Unlink(const ObjectView& dependent);

  StringHashMap<Node> nodes_;
};

}  // namespace berth::controllers
