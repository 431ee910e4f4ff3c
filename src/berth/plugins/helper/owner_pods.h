// SPDX-License-Identifier: Apache-2.0
// OwnerPods: how many pods each owner has in each domain of nodes, such as zones, kept up to date instead of counted
// again for each pod that is scheduled. Within turns only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/table_sync.h"

namespace berth::plugins {

class OwnerPods {
 public:
  using DomainId = std::uint32_t;
  // Pods there are not counted.
  static constexpr DomainId kNoDomain = UINT32_MAX;
  // Owners without a pod that are kept beyond as many as there are with one; then all is counted anew.
  static constexpr std::size_t kDeadOwnersMax = 4096;
  // Classes whose owner is remembered.
  static constexpr std::size_t kClassesMax = 65536;

  // The domain of a node; must rest on the node object alone. Where it rests on more, Forget() has to follow each
  // change of that.
  using DomainOf = std::function<DomainId(const api::Node&)>;
  enum class Owners : std::uint8_t {
    kNone,         // nothing is counted: only the domains of rows are kept
    kControllers,  // pods without a controller are not counted
    kAll,          // pods without a controller belong to those of their namespace with the same labels
  };
  struct Count {
    DomainId domain = kNoDomain;
    std::int32_t pods = 0;  // above 0
  };

  OwnerPods(DomainOf domain_of, Owners owners) : domain_of_(std::move(domain_of)), owners_counted_(owners) {}

  // Brings domains and counts up to date with the table; looks at rows that changed since the last time only. Pods
  // that are being deleted do not count, nor do those on rows without a node object.
  void Sync(const framework::NodeTable& nodes);
  // Everything is looked at and counted anew by the next Sync().
  void Forget();

  // The row's domain as of the last Sync(); kNoDomain for a row without a node.
  DomainId domain(framework::NodeIndex row) const { return row < rows_.size() ? rows_[row].domain : kNoDomain; }
  // How many rows of that domain there are.
  std::size_t RowsOf(DomainId domain) const;
  std::size_t row_count() const { return live_rows_; }  // with a domain
  std::size_t domain_count() const { return rows_by_domain_.size(); }
  // The pods of the owner that a pod of this class has. Valid until the next Sync(); in no particular order.
  std::span<const Count> CountsOf(const framework::PodClass& pod_class) const;

  // Whether both have an owner, and the same one.
  static bool HaveSameOwner(const framework::PodClass& a, const framework::PodClass& b, Owners owners);

  std::size_t owner_count() const { return owners_.size(); }

 private:
  using OwnerId = std::uint32_t;
  static constexpr OwnerId kNoOwner = UINT32_MAX;

  struct Owner {
    absl::InlinedVector<Count, 3> counts;
  };
  // A pod as of the last Sync().
  struct Pod {
    std::uint64_t class_id = 0;
    OwnerId owner = kNoOwner;  // none also for one that is being deleted
    bool is_terminating = false;
  };
  struct Row {
    std::shared_ptr<const api::Node> node;
    DomainId domain = kNoDomain;
    std::vector<Pod> pods;
  };

  void SyncRow(const framework::NodeInfo& info, std::size_t pods_kept, Row& row);
  void MoveRow(Row& row, DomainId domain);
  Pod PodOf(const framework::PodInfo& pod);
  OwnerId OwnerOf(const framework::PodClass& pod_class);
  void Add(OwnerId owner, DomainId domain, std::int32_t pods);

  const DomainOf domain_of_;
  const Owners owners_counted_;
  TableSync table_;

  std::vector<Row> rows_;
  std::size_t live_rows_ = 0;
  absl::flat_hash_map<DomainId, std::size_t> rows_by_domain_;
  std::vector<Owner> owners_;
  std::size_t live_owners_ = 0;
  StringHashMap<OwnerId> owner_of_key_;
  absl::flat_hash_map<std::uint64_t, OwnerId> owner_of_class_;  // by PodClass::id; some
  mutable std::string key_;                                     // scratch
};

}  // namespace berth::plugins
