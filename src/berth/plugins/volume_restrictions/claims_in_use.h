// SPDX-License-Identifier: Apache-2.0
// ClaimsInUse: which PersistentVolumeClaims some pod on a node uses, kept up to date by the rows that changed. Within
// turns only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/table_sync.h"

namespace berth::plugins {

class ClaimsInUse {
 public:
  void Update(const framework::NodeTable& nodes);

  // Whether the claim "namespace/name" was in use at the last update. As in upstream, claims of ephemeral volumes do
  // not count.
  bool Contains(std::string_view key) const { return pod_counts_.contains(key); }

 private:
  void UpdateRow(const framework::NodeInfo& node, std::vector<std::string>& keys);

  TableSync table_;
  std::vector<std::vector<std::string>> keys_by_row_;
  StringHashMap<std::int32_t> pod_counts_;
};

}  // namespace berth::plugins
