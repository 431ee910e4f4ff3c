// AffinityCounts: for one class of incoming pods, how the pods that run now bear on it, as sums by (topology key,
// value): what InterPodAffinity's filter and score read. AffinityIndex keeps them up to date. Core's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/plugins/inter_pod_affinity/affinity_terms.h"
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
  void ToArray();

  CountKind kind_;
  Topology::KeyIndex key_;
  bool is_list_;
  std::vector<Entry> list_;          // sums other than 0, in no order
  std::vector<std::int64_t> array_;  // by ordinal
  // With the array: all ordinals whose sum is not 0, and some whose sum was.
  std::vector<Topology::Ordinal> touched_;
  std::int64_t pod_count_ = 0;
  std::size_t nonzero_count_ = 0;
};

class AffinityCounts {
 public:
  AffinityCounts(std::shared_ptr<const framework::PodClass> pod_class, PodTerms terms);

  const PodTerms& terms() const { return terms_; }  // with the namespaces merged
  // The pod matches all of its own required affinity terms.
  bool matches_itself() const { return matches_itself_; }

  const std::vector<TopologyCounter>& counters() const { return counters_; }
  // Another one where the list of counters differs, also between the counts that one class had at different times.
  std::uint64_t counters_version() const { return counters_base_ + counters_.size(); }
  std::int64_t Get(CountKind kind, Topology::KeyIndex key, Topology::Ordinal ordinal) const;
  // Whether any pod is counted.
  bool Any(CountKind kind) const;
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
  void SetTerms(PodTerms terms);
  std::size_t Bytes() const;

  std::shared_ptr<const framework::PodClass> pod_class_;
  PodTerms terms_;
  bool matches_itself_ = false;
  std::vector<TopologyCounter> counters_;
  std::uint64_t counters_base_ = 0;

  // How the running classes bear on this one; those that do not are not listed.
  absl::flat_hash_map<std::uint32_t, Range> effects_of_slot_;
  std::vector<CounterEffect> effects_;
  std::size_t slots_seen_ = 0;

  api::StringMap namespace_labels_;
  std::uint64_t namespaces_version_ = 0;
  // As of what the sums are.
  std::uint64_t log_position_ = 0;
  std::uint64_t moves_ = 0;
  std::size_t recount_cost_ = 0;  // rows that the last full count looked at
  std::uint64_t last_used_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace berth::plugins
