// SPDX-License-Identifier: Apache-2.0
// TopologyTree: the topology domains of nodes on several levels, such as racks in blocks in zones. A domain is named by
// the values of its level's label and of those of all wider levels, so that racks of two blocks may have one name.
// Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/api/node.h"
#include "berth/base/hash_map.h"

namespace berth::plugins {

class TopologyTree {
 public:
  using DomainId = std::uint32_t;
  static constexpr DomainId kNoDomain = UINT32_MAX;

  struct Domain {
    DomainId parent = kNoDomain;  // on the next wider level
    std::uint32_t level = 0;      // an index of the keys
    bool is_labelled = false;     // its nodes have the level's label; if not, they have nothing in common on this level
  };

  // `keys`: of the levels' labels, the narrowest first; at least one.
  explicit TopologyTree(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  // The node's domain on the narrowest level; it gets a number if it is new.
  DomainId LeafOf(const api::Node& node);
  // A parent has a lower number than its children.
  const std::vector<Domain>& domains() const { return domains_; }
  void Clear();

 private:
  const std::vector<std::string> keys_;
  std::vector<Domain> domains_;
  StringHashMap<DomainId> by_path_;
  std::string path_;  // scratch
};

}  // namespace berth::plugins
