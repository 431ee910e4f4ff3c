// SPDX-License-Identifier: Apache-2.0
// ClassStore: an LRU cache of KeptEvaluations by pod class, bounded in bytes. A class gets an entry with its second
// pod, because most classes have only one pod. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "berth/base/lru_cache.h"
#include "berth/core/runtime/evaluator_options.h"
#include "berth/core/runtime/first_sights.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/profile_traits.h"

namespace berth::runtime {

class ClassStore {
 public:
  // Both arguments must outlive it.
  ClassStore(const ProfileTraits& profile, const EvaluatorOptions& options);

  struct Found {
    KeptEvaluation* kept = nullptr;  // valid until the next Find(), Bound() or DropIdle()
    std::uint64_t key = 0;           // equal for all pods that share `kept`; 0: nothing is shared
    bool is_first_sight = true;      // the class's key is new: nothing is kept yet
  };
  // The results kept for the pod's class, possibly none. Results of another `epoch` are cleared.
  Found Find(const framework::PodInfo& pod, bool do_nominations_matter, std::uint64_t epoch);

  // Evicts entries after a cycle, for a node table of `row_count` rows. The entry found last stays.
  void Bound(std::size_t row_count);
  // Drops entries that were not used since the last call.
  void DropIdle();

  std::size_t size() const { return evaluations_.size(); }

 private:
  // A class with more statuses is cleared: its plugins give new reasons with each call.
  static constexpr std::size_t kStatusesMax = 4096;
  // Limit on nominated_keys_. When it is reached the map is cleared, so that classes with nominations start without
  // results.
  static constexpr std::size_t kNominatedKeysMax = 65536;

  std::uint64_t KeyOf(const framework::PodInfo& pod, bool do_nominations_matter);

  const ProfileTraits& profile_;
  const EvaluatorOptions& options_;
  LruCache<KeptEvaluation> evaluations_;  // key: KeyOf()
  FirstSights first_sights_;
  // Results for the latest pod that was the first of its class. Scratch for the forms that keep nothing.
  KeptEvaluation fresh_;
  std::uint64_t fresh_key_ = 0;  // 0: of no class
  // Separate keys for pods to which nominations matter, by the class's key and the pod's priority.
  absl::flat_hash_map<std::pair<std::uint64_t, std::int32_t>, std::uint64_t> nominated_keys_;
  std::uint64_t nominated_key_count_ = 0;
};

}  // namespace berth::runtime
