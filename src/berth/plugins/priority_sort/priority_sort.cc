// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/priority_sort/priority_sort.h"

#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

class PrioritySort final : public FastQueueSort {
 public:
  std::string_view Name() const override { return names::kPrioritySort; }
  bool Less(const QueuedPod& a, const QueuedPod& b) const override {
    const std::int32_t priority_a = a.pod.priority();
    const std::int32_t priority_b = b.pod.priority();
    return priority_a != priority_b ? priority_a > priority_b : a.timestamp < b.timestamp;
  }
  bool IsPriorityThenTime() const override { return true; }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreatePrioritySort() { return std::make_unique<PrioritySort>(); }

}  // namespace berth::plugins
