// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/priority_sort/priority_sort.h"

namespace berth::plugins {

bool PrioritySort::Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const {
  const std::int32_t priority_a = a.pod.priority();
  const std::int32_t priority_b = b.pod.priority();
  return priority_a != priority_b ? priority_a > priority_b : a.timestamp < b.timestamp;
}

}  // namespace berth::plugins
