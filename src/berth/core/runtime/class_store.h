// SPDX-License-Identifier: Apache-2.0
// ClassStore: what an Evaluator keeps between the pods of a class: their KeptEvaluations, within bounds in bytes, those
// not used for longest go first (an LRU cache). A class gets room of its own with its second pod, because most classes
// have only one. Within turns only.
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
  // Both must outlive it.
  ClassStore(const ProfileTraits& profile, const EvaluatorOptions& options);

  struct Found {
    KeptEvaluation* kept = nullptr;  // stays until the next Find(), Bound() or DropIdle()
    std::uint64_t key = 0;           // one number for all pods that share `kept`; 0 where nothing is shared
    bool is_first_sight = true;      // the class's key was not met before: nothing is kept yet
  };
  // What is kept for the pod's class, which may be nothing yet. What was kept at another `epoch` is forgotten.
  Found Find(const framework::PodInfo& pod, bool do_nominations_matter, std::uint64_t epoch);

  // After a cycle: makes room, for a node table of so many rows. What was found last always stays.
  void Bound(std::size_t row_count);
  // Drops what was not used since the last call.
  void DropIdle();

  std::size_t size() const { return evaluations_.size(); }

 private:
  // A class whose status table is larger begins anew: its plugins give other reasons from call to call.
  static constexpr std::size_t kStatusesMax = 4096;
  // Bound on nominated_keys_, which is then forgotten as a whole; classes with nominations begin anew.
  static constexpr std::size_t kNominatedKeysMax = 65536;

  std::uint64_t KeyOf(const framework::PodInfo& pod, bool do_nominations_matter);

  const ProfileTraits& profile_;
  const EvaluatorOptions& options_;
  LruCache<KeptEvaluation> evaluations_;  // by KeyOf()
  FirstSights first_sights_;
  // Results of the latest pod that was the first of its class; scratch in forms that keep nothing.
  KeptEvaluation fresh_;
  std::uint64_t fresh_key_ = 0;  // 0: of no class
  // Keys of classes to which nominations matter, by their other key and the pods' priority.
  absl::flat_hash_map<std::pair<std::uint64_t, std::int32_t>, std::uint64_t> nominated_keys_;
  std::uint64_t nominated_key_count_ = 0;
};

}  // namespace berth::runtime
