// SPDX-License-Identifier: Apache-2.0
// The sort orders of activeQ and the back-off heaps. Defined in a header so that the heaps can inline them.
// Single-threaded.
#pragma once

#include <cstdint>

#include "berth/base/log.h"
#include "berth/core/queue/entry.h"
#include "berth/core/queue/indexed_heap.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/guarded.h"

namespace berth::queue {

// The sort key of all three heaps. `sequence` breaks ties, which makes the order total and the queue deterministic.
struct OrderKey {
  Time backoff_expiration{};  // used by the back-off heaps only
  std::int32_t priority = 0;
  Time timestamp{};
  std::uint64_t sequence = 0;
};
using OrderSlot = HeapSlot<Entry, OrderKey>;

// The order of the QueueSort plugin. Where its Less throws, pods are ordered by priority and time; the first exception
// is logged.
class Sort {
 public:
  explicit Sort(const framework::QueueSortPlugin& plugin) : plugin_(plugin) {
    const auto* const fast = dynamic_cast<const framework::FastQueueSort*>(&plugin);
    if (fast != nullptr) Note(framework::GuardedCall([&] { is_by_key_ = fast->IsPriorityThenTime(); }));
  }

  // Whether a is popped before b.
  bool Less(const OrderSlot& a, const OrderSlot& b) {
    if (is_by_key_) return IsBefore(a.key, b.key);
    const framework::QueuedPod left{*a.element->info.pod, a.key.timestamp};
    const framework::QueuedPod right{*b.element->info.pod, b.key.timestamp};
    bool is_before = false;
    const framework::Status failed = framework::GuardedCall([&] {
      is_before = plugin_.Less(left, right) || (a.key.sequence < b.key.sequence && !plugin_.Less(right, left));
    });
    if (failed.IsSuccess()) return is_before;
    Note(failed);
    return IsBefore(a.key, b.key);
  }

 private:
  static bool IsBefore(const OrderKey& a, const OrderKey& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp;
    return a.sequence < b.sequence;
  }
  void Note(const framework::Status& failed) {
    if (failed.IsSuccess() || has_failed_) return;
    has_failed_ = true;
    log::Warning("queue", "A QueueSort plugin fails: pods are in the order of priority and time where it does",
                 {{"plugin", plugin_.Name()}, {"error", failed.Message()}});
  }

  const framework::QueueSortPlugin& plugin_;
  bool is_by_key_ = false;
  bool has_failed_ = false;
};

// The order of activeQ.
struct ActiveLess {
  using Key = OrderKey;
  Sort* sort;
  bool operator()(const OrderSlot& a, const OrderSlot& b) const { return sort->Less(a, b); }
};
// By the end of the back-off, then as in activeQ: Pop takes from this heap when activeQ is empty.
struct BackoffLess {
  using Key = OrderKey;
  ActiveLess active;
  bool operator()(const OrderSlot& a, const OrderSlot& b) const {
    if (a.key.backoff_expiration != b.key.backoff_expiration) {
      return a.key.backoff_expiration < b.key.backoff_expiration;
    }
    return active(a, b);
  }
};
// By the end of the back-off, then by arrival.
struct ErrorBackoffLess {
  using Key = OrderKey;
  bool operator()(const OrderSlot& a, const OrderSlot& b) const {
    return a.key.backoff_expiration != b.key.backoff_expiration ? a.key.backoff_expiration < b.key.backoff_expiration
                                                                : a.key.sequence < b.key.sequence;
  }
};

inline OrderKey KeyOf(const Entry& entry) {
  return {entry.backoff_expiration, entry.info.pod->priority(), entry.info.timestamp, entry.sequence};
}

}  // namespace berth::queue
