// SPDX-License-Identifier: Apache-2.0
// SimulatedNodes: what the simulator knows of each of its nodes, by number (from 1) and by name, and the addresses of
// its pods. On the loop's thread.
#pragma once

#include <bitset>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"

namespace berth::kubelet {

inline constexpr int kPodAddresses = 254;  // of a node

struct SimulatedNode {
  NodeShape shape;
  bool is_adopted = false;
  bool keeps_amounts = false;  // adopted, and it says itself what it has
  bool has_labels = false;     // those of a kubelet
  bool was_seen = false;       // a node that somebody deletes is not made again: a kubelet registers when it starts
  bool exists = false;
  bool is_ready = false;
  bool is_reported = false;  // by us, since Start()
  bool has_lease = false;    // as far as we know
  std::string uid;
  std::bitset<kPodAddresses + 1> addresses;
  int address_last = 0;

  // Round the node's addresses, so that one is not used again at once. With all in use, pods share.
  int TakeAddress() {
    for (int step = 0; step < kPodAddresses; ++step) {
      address_last = address_last % kPodAddresses + 1;
      if (!addresses.test(static_cast<std::size_t>(address_last))) break;
    }
    addresses.set(static_cast<std::size_t>(address_last));
    return address_last;
  }
};

class SimulatedNodes {
 public:
  explicit SimulatedNodes(std::vector<NodeShape> shapes) {
    for (NodeShape& shape : shapes) Add(std::move(shape));
  }

  // Returns its number. A reference to another node stays good.
  int Add(NodeShape shape) {
    numbers_[shape.name] = count() + 1;
    nodes_.emplace_back().shape = std::move(shape);
    return count();
  }

  int count() const { return static_cast<int>(nodes_.size()); }
  SimulatedNode& At(int number) { return nodes_[static_cast<std::size_t>(number) - 1]; }
  // 0: not ours.
  int NumberOf(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? 0 : found->second;
  }

 private:
  std::deque<SimulatedNode> nodes_;
  StringHashMap<int> numbers_;
};

}  // namespace berth::kubelet
