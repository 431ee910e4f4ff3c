// SPDX-License-Identifier: Apache-2.0
// PreEnqueueGate: asks the PreEnqueue plugins whether a pod, or a group, may enter activeQ. Internal to the queue;
// within turns only.
#pragma once

#include <span>

#include "berth/core/queue/entry.h"
#include "berth/core/queue/queue_metrics.h"
#include "berth/core/queue/queue_records.h"
#include "berth/core/queue/rejectors.h"

namespace berth::queue {

class PreEnqueueGate {
 public:
  // All must outlive it.
  PreEnqueueGate(QueueRecords& records, Rejectors& rejectors, QueueMetrics& metrics)
      : records_(records), rejectors_(rejectors), metrics_(metrics) {}

  // Whether the entry may pass; it must be in no place. A group passes if all its members do. Sets the entry's gating
  // plugin and its reason.
  bool Admits(Entry* entry);
  // The same about `pods` alone, which `entry` stands for, without a measurement.
  bool AdmitsAll(Entry* entry, std::span<Entry* const> pods);
  // Whether the plugin that gates the group refuses this member.
  static bool IsHeldBy(const Entry& member, const Entry& group);

 private:
  bool Ask(Entry* entry);

  QueueRecords& records_;
  Rejectors& rejectors_;
  QueueMetrics& metrics_;
};

}  // namespace berth::queue
