// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/class_store.h"

namespace berth::runtime {

using framework::PodInfo;

ClassStore::ClassStore(const ProfileTraits& profile, const EvaluatorOptions& options)
    : profile_(profile), options_(options) {}

std::uint64_t ClassStore::KeyOf(const PodInfo& pod, bool do_nominations_matter) {
  const framework::PodClass& pod_class = *pod.pod_class;
  const bool is_shared = profile_.is_kept_by_placement && pod_class.placement_id != 0;
  const std::uint64_t key = is_shared ? pod_class.placement_id * 2 : pod_class.id * 2 + 1;
  if (!do_nominations_matter) return key;
  // Nominations of equal or higher priority count, so that results depend on the pod's priority as well.
  constexpr std::uint64_t kNominated = std::uint64_t{1} << 63;
  if (nominated_keys_.size() > kNominatedKeysMax) nominated_keys_.clear();
  const auto [it, is_new] = nominated_keys_.try_emplace({key, pod.priority()}, kNominated + nominated_key_count_);
  if (is_new) ++nominated_key_count_;
  return it->second;
}

ClassStore::Found ClassStore::Find(const PodInfo& pod, bool do_nominations_matter, std::uint64_t epoch) {
  if (options_.form != Form::kReuse) {
    fresh_.Clear();
    return {&fresh_, 0, true};
  }
  const std::uint64_t key = KeyOf(pod, do_nominations_matter);
  KeptEvaluation* kept = evaluations_.Find(key);
  if (kept == nullptr) {
    if (fresh_key_ == key) {
      kept = &evaluations_.Add(key, std::move(fresh_));
      fresh_ = KeptEvaluation();
      fresh_key_ = 0;
    } else if (first_sights_.Note(key)) {
      fresh_.Clear();
      fresh_.epoch = epoch;
      fresh_key_ = key;
      return {&fresh_, key, true};
    } else {
      kept = &evaluations_.Add(key);
      kept->epoch = epoch;
    }
  }
  if (kept->statuses.size() > kStatusesMax || kept->epoch != epoch) {
    kept->Clear();
    kept->epoch = epoch;
  }
  return {kept, key, false};
}

void ClassStore::Bound(std::size_t row_count) {
  // The other half of the limit is for the orders of rows (row_orders.h).
  if (options_.form == Form::kReuse) evaluations_.Bound(options_.ClassBytesMax(row_count) / 2);
}

void ClassStore::DropIdle() {
  fresh_ = KeptEvaluation();
  fresh_key_ = 0;
  evaluations_.DropIdle();
}

}  // namespace berth::runtime
