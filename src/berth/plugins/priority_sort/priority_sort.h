// SPDX-License-Identifier: Apache-2.0
// PrioritySort: the order of the queue: higher priority first, among equals whoever has waited longer.
#pragma once

#include "berth/framework/fast_path.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class PrioritySort final : public framework::FastQueueSort {
 public:
  std::string_view Name() const override { return names::kPrioritySort; }
  bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const override;
  bool IsPriorityThenTime() const override { return true; }
};

}  // namespace berth::plugins
