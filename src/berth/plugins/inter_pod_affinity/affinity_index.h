// SPDX-License-Identifier: Apache-2.0
// AffinityIndex: the pods of one node table by class, so that what they mean for an incoming pod is found without a
// walk over them. A pod that comes or goes changes one row; only what it brought or took is looked at.
//
// Everything happens between kinds of classes (PodKinds): a kind of running pods is tested against an incoming one
// once, and all classes of an incoming kind have their sums in common. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/lru_cache.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/table_sync.h"
#include "berth/plugins/inter_pod_affinity/affinity_counts.h"

namespace berth::plugins {

class AffinityIndex {
 public:
  // Bound on what is kept for incoming kinds; those that were not used for longest go.
  static constexpr std::size_t kCountsBytesMax = std::size_t{64} << 20;
  // Changes that are kept for kinds which were not asked about for a while; they count anew when it was longer.
  static constexpr std::size_t kLogMax = 65536;
  // The number of classes without a running pod, and of their terms, may exceed that of classes with one by this much.
  // Beyond that the index is rebuilt.
  static constexpr std::size_t kDeadClassesMax = 4096;
  static constexpr std::size_t kDeadTermsMax = 131'072;
  static constexpr std::size_t kDeadBytesMax = std::size_t{16} << 20;  // of those classes
  // The bounds that DropIdle() enforces.
  static constexpr std::size_t kIdleDeadTermsMax = 16'384;
  static constexpr std::size_t kIdleDeadBytesMax = std::size_t{2} << 20;
  // An incoming kind that is asked about again is tested one by one against at most this many new running kinds.
  static constexpr std::size_t kDirectTestsMax = 64;

  // `namespaces` must outlive the index. Required affinity terms of running pods count `hard_weight` in scores, if that
  // is above 0.
  // `id` tells it from others. `resolves_selectors`: Release::resolves_namespace_selectors.
  AffinityIndex(const framework::ObjectStore<api::Namespace>& namespaces, std::int32_t hard_weight, std::uint64_t id,
                bool resolves_selectors = false)
      : namespaces_(namespaces), hard_weight_(hard_weight), id_(id), kinds_(namespaces, resolves_selectors) {}

  // Brings the index up to date. The table must not change as long as anything below is asked.
  void Sync(const framework::NodeTable& nodes);
  const framework::NodeTable* table() const { return table_.table(); }

  // Whether any running pod has terms of its own.
  bool HasCarriers() const { return carrier_count_ > 0; }

  // The sums for a pod of that class, up to date; classes of one kind share them. They are changed by the next call for
  // the kind after the table has changed. The reference is good until the next call.
  const std::shared_ptr<const AffinityCounts>& CountsFor(const std::shared_ptr<const framework::PodClass>& pod_class);

  // What one more pod of class `running` would add to `counts`, which are those of class `incoming`; kScore is left
  // out.
  std::vector<AffinityEffect> EffectsOf(const AffinityCounts& counts,
                                        const std::shared_ptr<const framework::PodClass>& incoming,
                                        const std::shared_ptr<const framework::PodClass>& running);

  const Topology& topology() const { return topology_; }
  Topology& topology() { return topology_; }
  std::uint64_t id() const { return id_; }
  // How often it was rebuilt, and with it the numbering of keys and values.
  std::uint64_t reset_count() const { return reset_count_; }
  // Drops the sums that nobody has asked for since the last call, and rebuilds the index where that frees much memory.
  void DropIdle();
  // How many kinds of incoming pods it holds sums for.
  std::size_t counts_count() const { return counts_.size(); }

 private:
  using ClassId = PodKinds::ClassId;
  using KindId = PodKinds::KindId;

  // The running pods of a class.
  struct Slot {
    absl::flat_hash_map<framework::NodeIndex, std::int32_t> count_by_row;
    std::int64_t pod_count = 0;
  };
  struct KeptCounts {
    std::shared_ptr<AffinityCounts> counts;
    std::size_t Bytes() const { return counts->Bytes(); }
  };
  struct Change {
    ClassId pod_class = 0;
    framework::NodeIndex row = 0;
    std::int32_t pods = 0;
  };

  bool HasDeadBytes(std::size_t bytes_max) const { return class_bytes_ > 2 * live_class_bytes_ + bytes_max; }
  bool HasDeadClasses() const {
    return kinds_.class_count() > 2 * live_class_count_ + kDeadClassesMax ||
           carried_term_count_ > 2 * live_term_count_ + kDeadTermsMax || HasDeadBytes(kDeadBytesMax);
  }
  void Reset();
  void SyncRow(const framework::NodeInfo& info, framework::NodeIndex row, std::size_t pods_kept);
  void Count(ClassId id, framework::NodeIndex row, std::int32_t pods);
  ClassId ClassFor(const std::shared_ptr<const framework::PodClass>& pod_class);

  std::shared_ptr<const AffinityCounts> BringUp(const std::shared_ptr<const framework::PodClass>& pod_class);
  void Match(AffinityCounts& counts);
  void AddEffects(AffinityCounts& counts, KindId running);
  void CollectEffects(KindId incoming, KindId running);
  void CountAll(AffinityCounts& counts);
  void Replay(AffinityCounts& counts);
  void Apply(AffinityCounts& counts, AffinityCounts::Range effects, framework::NodeIndex row, std::int32_t pods) const;

  const framework::ObjectStore<api::Namespace>& namespaces_;
  const std::int32_t hard_weight_;
  const std::uint64_t id_;
  std::uint64_t reset_count_ = 0;

  TableSync table_;
  std::uint64_t nodes_version_ = 0;
  Topology topology_;
  std::vector<std::vector<ClassId>> classes_by_row_;  // of its pods as of the last Sync, in their order
  std::vector<bool> is_row_used_;                     // a pod was counted there
  std::uint64_t moves_ = 0;  // how often nodes with pods changed a value: all sums are counted anew

  PodKinds kinds_;
  std::vector<Slot> slots_;  // by class
  std::size_t live_class_count_ = 0;
  // The heap bytes of all classes, and of those with a running pod.
  std::size_t class_bytes_ = 0;
  std::size_t live_class_bytes_ = 0;
  // Terms of all classes and of those with a running pod; what several have counts several times.
  std::size_t carried_term_count_ = 0;
  std::size_t live_term_count_ = 0;
  std::int64_t carrier_count_ = 0;

  std::vector<Change> log_;
  std::uint64_t log_base_ = 0;
  std::uint64_t reset_at_ = 0;  // position of the log

  LruCache<KeptCounts> counts_;  // by KindId
  std::uint64_t matches_ = 0;    // how often counters were laid out

  // The last answer of CountsFor(). Plugins ask several times a cycle.
  struct Answer {
    std::shared_ptr<const framework::PodClass> pod_class;
    std::shared_ptr<const AffinityCounts> counts;
    // As they were: all that a sum can change with.
    std::uint64_t moves = 0;
    std::uint64_t log_end = 0;
    std::size_t class_count = 0;
  };
  Answer latest_;

  // Scratch.
  std::vector<AffinityEffect> found_effects_;
};

}  // namespace berth::plugins
