// SPDX-License-Identifier: Apache-2.0
// HeldParts: which parts of a request's room are held, found by how well a pod suits them and by their node. A search
// costs what there are classes of stand-ins, not parts: a request may have 20,000. Plain values; within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/hash_map.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

// How well a pod suits the room of a stand-in; less is better.
enum class Fit : std::uint8_t {
  kSame,      // the same demands on a node
  kKin,       // admission may have added tolerations and volumes since the template was written
  kSameSize,  // another pod set may have this size, too
  kSmaller,
  kNone,
};
Fit FitOf(const framework::PodClass& stand_in, const framework::PodClass& pod);

class HeldParts {
 public:
  // The part's stand-in is of this class, and on that node. Each part once.
  void Add(std::size_t part, const std::shared_ptr<const framework::PodClass>& stand_in, const std::string& node_name);
  // The same arguments as with Add().
  void Remove(std::size_t part, const framework::PodClass& stand_in, std::string_view node_name);

  // The part that suits the pod best: of those that are larger than the pod the smallest, among equals one on the pod's
  // own node, and then the first. nullopt: none is held.
  std::optional<std::size_t> BestFor(const framework::PodInfo& pod) const;
  bool HasOn(std::string_view node_name) const { return on_node_.contains(node_name); }
  bool empty() const { return groups_.empty(); }

 private:
  // The parts whose stand-ins are of one class.
  struct Group {
    std::shared_ptr<const framework::PodClass> stand_in;
    std::set<std::size_t> parts;
    StringHashMap<std::set<std::size_t>> on_node;  // the same parts
  };

  // None is empty. In the order of their first parts' arrival, so that equal questions have equal answers.
  std::vector<Group> groups_;
  absl::flat_hash_map<const framework::PodClass*, std::size_t> group_of_;
  StringHashMap<std::size_t> on_node_;  // how many
};

}  // namespace berth::scheduler
