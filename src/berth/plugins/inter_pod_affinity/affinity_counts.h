// SPDX-License-Identifier: Apache-2.0
// AffinityCounts: for one kind of incoming pods, how the pods that run now bear on it, as sums by (topology key,
// value): what InterPodAffinity's filter and score read. AffinityIndex keeps them up to date. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/plugins/inter_pod_affinity/pod_kinds.h"
#include "berth/plugins/inter_pod_affinity/topology.h"

namespace berth::plugins {

enum class CountKind : std::uint8_t {
  kExistingAntiAffinity,  // required anti-affinity terms of running pods that match the incoming pod
  kAffinity,              // running pods that match all required affinity terms of the incoming pod, once a term
  kAntiAffinity,          // running pods that match a required anti-affinity term of the incoming pod, once a term
  kScore,                 // weights, from both sides
};

// What one running pod adds to the sum of its node's value of a key.
struct AffinityEffect {
  CountKind kind = CountKind::kScore;
  Topology::KeyIndex key = 0;
  std::int64_t weight = 0;
};

// Sums by ordinal of one key. Most workloads have pods on a few host names only: those are a short list, others an
// array.
class TopologyCounter {
 public:
  // Keys of so few values have an array from the start; a list does not get longer than that.
  static constexpr std::size_t kListMax = 48;

  TopologyCounter(CountKind kind, Topology::KeyIndex key, std::size_t ordinal_count)
      : kind_(kind), key_(key), is_list_(ordinal_count > kListMax) {}

  CountKind kind() const { return kind_; }
  Topology::KeyIndex key() const { return key_; }
  std::int64_t Get(Topology::Ordinal ordinal) const;
  // How many pods were added, also where their weights cancel out.
  std::int64_t pod_count() const { return pod_count_; }
  std::size_t nonzero_count() const { return nonzero_count_; }  // ordinals whose sum is not 0

  // Appends the ordinals whose sum is not 0; some may be there twice.
  void CollectNonzero(std::vector<Topology::Ordinal>& ordinals) const;

  void Add(Topology::Ordinal ordinal, std::int64_t weight, std::int64_t pods);
  void Clear();
  // What follows is the same in whatever order the sums were added.
  void ForgetOrder();
  // All sums as an array; it ends early where the rest are 0. `scratch` may hold it.
  std::span<const std::int64_t> Array(std::vector<std::int64_t>& scratch) const;
  std::size_t Bytes() const;

 private:
  struct Entry {
    Topology::Ordinal ordinal = 0;
    std::int64_t sum = 0;
  };

  void AddSum(Topology::Ordinal ordinal, std::int64_t sum);
  void Touch(Topology::Ordinal ordinal);
  void SortTouched();
  void ToArray();

  CountKind kind_;
  Topology::KeyIndex key_;
  bool is_list_;
  std::vector<Entry> list_;          // sums other than 0, in no order
  std::vector<std::int64_t> array_;  // by ordinal
  // While array_ is used: all ordinals whose sum is not 0, and some whose sum was not 0 before.
  std::vector<Topology::Ordinal> touched_;
  std::int64_t pod_count_ = 0;
  std::size_t nonzero_count_ = 0;
};

class AffinityCounts {
 public:
  using KindId = PodKinds::KindId;

  AffinityCounts(KindId kind, std::shared_ptr<const CarriedTerms> terms, bool matches_itself)
      : kind_(kind), terms_(std::move(terms)), matches_itself_(matches_itself) {}

  const PodTerms& terms() const { return terms_->parsed; }  // with the namespaces merged
  // The pod matches all of its own required affinity terms.
  bool matches_itself() const { return matches_itself_; }

  const std::vector<TopologyCounter>& counters() const { return counters_; }
  // Another one where the list of counters differs, also between the counts that one kind had at different times.
  std::uint64_t counters_version() const { return counters_base_ + counters_.size(); }
  std::int64_t Get(CountKind kind, Topology::KeyIndex key, Topology::Ordinal ordinal) const;
  // Whether any pod is counted.
  bool Any(CountKind kind) const;
  // A number for marks that rest on the counters in this way: another one where either differs, also from that of other
  // counts. `numbers` grows.
  std::uint64_t MarksVersion(std::uint64_t way, std::uint64_t& numbers) const;
  // How many (key, value) pairs have a sum other than 0.
  std::size_t PairCount(CountKind kind) const;

 private:
  friend class AffinityIndex;

  struct CounterEffect {
    std::uint32_t counter = 0;
    std::int64_t weight = 0;
  };
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  std::uint32_t CounterFor(CountKind kind, Topology::KeyIndex key, const Topology& topology);
  std::size_t Bytes() const;

  const KindId kind_;
  const std::shared_ptr<const CarriedTerms> terms_;
  const bool matches_itself_;
  std::vector<TopologyCounter> counters_;
  std::uint64_t counters_base_ = 0;

  // How the running kinds bear on this one; those that do not are not listed.
  absl::flat_hash_map<KindId, Range> effects_of_kind_;
  std::vector<CounterEffect> effects_;
  std::size_t kinds_seen_ = 0;

  // The state of the index that the sums reflect.
  std::uint64_t log_position_ = 0;
  std::uint64_t moves_ = 0;
  std::size_t recount_cost_ = 0;  // rows that the last full count looked at
  struct {
    std::uint64_t counters_version = 0;
    std::uint64_t way = 0;
    std::uint64_t number = 0;  // 0: none yet
  } mutable marks_version_;
};

}  // namespace berth::plugins
