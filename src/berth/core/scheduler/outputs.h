// SPDX-License-Identifier: Apache-2.0
// Outputs: the outputs of this turn in order of decision, and the source of operation numbers. An outcome comes back
// under the number of its operation. Within turns only; it carries nothing out.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/scheduler/io.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

class Outputs {
 public:
  // Numbers ascend and are never used twice.
  std::uint64_t NewOperation() { return next_operation_++; }
  // The number that NewOperation() returns next.
  std::uint64_t next_operation() const { return next_operation_; }

  template <typename ApiWrite>
  void AddWrite(std::uint64_t operation, ApiWrite&& write) {
    outputs_.emplace_back(std::in_place_type<Write>, operation, std::forward<ApiWrite>(write), adds_sequels_);
  }
  // Sets whether writes added from now on are sequels (Write::is_sequel).
  void SetAddsSequels(bool adds_sequels) { adds_sequels_ = adds_sequels; }
  void AddWork(std::uint64_t operation, framework::Operation::Work&& work) {
    outputs_.emplace_back(std::in_place_type<Work>, operation, std::move(work));
  }
  void AddEvent(framework::PodEvent&& event) { outputs_.emplace_back(std::move(event)); }
  void AddEvent(const std::string& scheduler_name, const framework::PodInfo& pod, bool is_warning, std::string reason,
                std::string action, std::string note);
  void AddQuestion(AskExtender&& question) { outputs_.emplace_back(std::move(question)); }
  void AddReport(BookingReport&& report) { outputs_.emplace_back(std::move(report)); }

  // Swaps the outputs into `outputs`, whose memory is reused.
  void TakeInto(std::vector<Output>& outputs) {
    outputs.clear();
    outputs.swap(outputs_);
  }

 private:
  std::vector<Output> outputs_;
  std::uint64_t next_operation_ = 1;
  bool adds_sequels_ = false;
};

// Identifies the pod in a write or a request.
inline framework::PodRef RefOf(const framework::PodInfo& pod) {
  return {pod.namespace_name(), pod.name, pod.uid, pod.resource_version};
}

}  // namespace berth::scheduler
