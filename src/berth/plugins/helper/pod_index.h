// SPDX-License-Identifier: Apache-2.0
// PodIndex: the running pods of one node table by class, so that how many match a selector, and where, is found without
// a walk over them: hash tables by namespace, label and value leave few classes to ask a selector about, and a log
// tells what came and went since. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/table_sync.h"

namespace berth::plugins {

class PodIndex {
 public:
  // Changes that are kept for those who did not ask for a while; they count anew when it was longer.
  static constexpr std::size_t kLogMax = 65536;
  // Slots without a pod may outnumber those with one by this much before the index is rebuilt.
  static constexpr std::size_t kDeadSlotsMax = 4096;
  static constexpr std::size_t kDeadBytesMax = std::size_t{16} << 20;  // of their classes

  using SlotId = std::uint32_t;

  // The running pods of a class, those that are being deleted apart.
  struct Slot {
    std::shared_ptr<const framework::PodClass> pod_class;
    bool is_terminating = false;
    absl::flat_hash_map<framework::NodeIndex, std::int32_t> count_by_row;  // where it is not 0
    std::int64_t pod_count = 0;
    std::uint64_t log_end = 0;  // behind the newest change; 0: none yet
  };
  struct Change {
    SlotId slot = 0;
    framework::NodeIndex row = 0;
    std::int32_t pods = 0;   // so many more
    std::uint32_t back = 0;  // that many positions before is the slot's change before this one; 0: there is none
  };

  // Brings the index up to date; looks at rows that changed since the last time only. Rows without a node object have
  // no pods here: upstream's snapshot does not know them, whatever pods name them.
  void Sync(const framework::NodeTable& nodes);

  // Everything is counted anew by the next Sync, in a new epoch.
  void Forget();

  // Grows when slots and log are rebuilt; all ids and positions from before are void then.
  std::uint64_t epoch() const { return epoch_; }
  std::size_t slot_count() const { return slots_.size(); }
  const Slot& slot(SlotId id) const { return slots_[id]; }
  // A pod was counted on the row in this epoch.
  bool IsRowUsed(framework::NodeIndex row) const { return row < is_row_used_.size() && is_row_used_[row]; }

  // Appends the slots from `first` on, ascending and each once, among which are all whose pods are of that namespace
  // and match the selector.
  void CollectCandidates(std::string_view namespace_name, const api::LabelSelector& selector, SlotId first,
                         std::vector<SlotId>& candidates) const;

  // Positions of the log: the changes since a position are those from it to log_end().
  std::uint64_t log_end() const { return log_base_ + log_.size(); }
  bool HasLogSince(std::uint64_t position) const { return position >= log_base_; }
  // Only where HasLogSince(position).
  std::span<const Change> LogSince(std::uint64_t position) const {
    return std::span(log_).subspan(static_cast<std::size_t>(position - log_base_));
  }
  // Calls take(change) for the changes of one slot since `position`, newest first. Only where HasLogSince(position).
  template <typename Take>
  void ForChangesOf(SlotId id, std::uint64_t position, const Take& take) const {
    for (std::uint64_t end = slots_[id].log_end; end > position;) {
      const Change& change = log_[static_cast<std::size_t>(end - 1 - log_base_)];
      take(change);
      if (change.back == 0) return;
      end -= change.back;
    }
  }

  // About what it holds on the heap, classes left out.
  std::size_t Bytes() const;

 private:
  struct SlotKey {
    const framework::PodClass* pod_class = nullptr;
    bool is_terminating = false;
    bool operator==(const SlotKey&) const = default;
    template <typename Hash>
    friend Hash AbslHashValue(Hash hash, const SlotKey& key) {
      return Hash::combine(std::move(hash), key.pod_class, key.is_terminating);
    }
  };
  using SlotIds = std::vector<SlotId>;  // ascending

  void SyncRow(const framework::NodeInfo& info, framework::NodeIndex row, std::size_t pods_kept);
  void Count(SlotId id, framework::NodeIndex row, std::int32_t pods);
  SlotId SlotFor(const framework::PodInfo& pod);
  void AddToBuckets(SlotId id);
  const SlotIds& Bucket(std::string_view namespace_name, std::string_view label, std::string_view value) const;

  TableSync table_;
  std::uint64_t epoch_ = 1;
  // The slots of each row's pods as of the last Sync, in their order.
  std::vector<SlotIds> slots_by_row_;
  std::vector<bool> is_row_used_;

  std::vector<Slot> slots_;
  absl::flat_hash_map<SlotKey, SlotId> slot_of_class_;
  std::size_t live_slot_count_ = 0;
  // The heap bytes of the classes of all slots, and of slots with a pod.
  std::size_t class_bytes_ = 0;
  std::size_t live_class_bytes_ = 0;
  StringHashMap<SlotIds> buckets_;  // by "namespace\0label\0value", and by namespace alone

  std::vector<Change> log_;
  std::uint64_t log_base_ = 0;
  std::uint64_t log_begin_ = 0;  // of the epoch

  mutable std::string bucket_;  // scratch
};

}  // namespace berth::plugins
