// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/unschedulable_pods.h"

#include <algorithm>
#include <chrono>

#include "berth/base/check.h"

namespace berth::queue {
namespace {

constexpr Duration kFlushPeriod = std::chrono::seconds(30);

Time FlushWindow(Time time) { return Time(time.time_since_epoch() / kFlushPeriod * kFlushPeriod); }

}  // namespace

void UnschedulablePods::Park(Entry* entry) {
  RejectorSet* const set = entry->rejector_set;
  BERTH_CHECK(set != nullptr, entry->info.pod->uid);
  entry->place = set->is_gated() ? Place::kGated : Place::kUnschedulable;
  ++(set->is_gated() ? gated_count_ : unschedulable_count_);
  if (set->waiting.empty()) {
    set->nonempty_position = sets_.size();
    sets_.push_back(set);
  }
  set->Link(entry);
  if (set->flushes) oldest_ = std::min(oldest_, entry->waits_since());
}

void UnschedulablePods::Unpark(Entry* entry) {
  RejectorSet* const set = entry->rejector_set;
  --(set->is_gated() ? gated_count_ : unschedulable_count_);
  set->Unlink(entry);
  if (!set->waiting.empty()) return;
  RejectorSet* const last_set = sets_.back();
  sets_[set->nonempty_position] = last_set;
  last_set->nonempty_position = set->nonempty_position;
  sets_.pop_back();
}

void UnschedulablePods::Flush(Time now, std::vector<std::pair<Entry*, Strategy>>& due) {
  if (last_flush_ && FlushWindow(now) <= *last_flush_) return;
  last_flush_ = FlushWindow(now);
  if (oldest_ == Time::max() || now - oldest_ <= wait_max_) return;
  oldest_ = Time::max();
  for (RejectorSet* const set : sets_) {
    if (!set->flushes) continue;
    for (const WaitingClass& waiting : set->waiting) {
      for (Entry* entry = waiting.first; entry != nullptr; entry = entry->later) {
        if (now - entry->waits_since() > wait_max_) {
          due.emplace_back(entry, Strategy::kAfterBackoff);
        } else {
          oldest_ = std::min(oldest_, entry->waits_since());
        }
      }
    }
  }
}

std::optional<Time> UnschedulablePods::NextFlush() const {
  if (sets_.empty() || oldest_ == Time::max()) return std::nullopt;
  // The first flush at which the oldest pod has waited for too long. That pod may have left since.
  const Time flush = FlushWindow(oldest_ + wait_max_) + kFlushPeriod;
  return last_flush_ ? std::max(flush, *last_flush_ + kFlushPeriod) : flush;
}

}  // namespace berth::queue
