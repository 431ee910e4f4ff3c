// SPDX-License-Identifier: Apache-2.0
// Outputs: what is to be done outside, in the order in which it was decided, and the numbers of the operations. An
// outcome comes back under the number of its operation. Within turns only; carries nothing out.
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
  // What NewOperation() returns next.
  std::uint64_t next_operation() const { return next_operation_; }

  template <typename ApiWrite>
  void AddWrite(std::uint64_t operation, ApiWrite&& write) {
    outputs_.emplace_back(std::in_place_type<Write>, operation, std::forward<ApiWrite>(write), adds_sequels_);
  }
  // Writes that are added from now on are sequels, or are not.
  void SetAddsSequels(bool adds_sequels) { adds_sequels_ = adds_sequels; }
  void AddWork(std::uint64_t operation, framework::Operation::Work&& work) {
    outputs_.emplace_back(std::in_place_type<Work>, operation, std::move(work));
  }
  void AddEvent(framework::PodEvent&& event) { outputs_.emplace_back(std::move(event)); }
  void AddEvent(const std::string& scheduler_name, const framework::PodInfo& pod, bool is_warning, std::string reason,
                std::string action, std::string note);
  void AddQuestion(AskExtender&& question) { outputs_.emplace_back(std::move(question)); }

  // Hands all over; `outputs` gives its memory in return.
  void TakeInto(std::vector<Output>& outputs) {
    outputs.clear();
    outputs.swap(outputs_);
  }

 private:
  std::vector<Output> outputs_;
  std::uint64_t next_operation_ = 1;
  bool adds_sequels_ = false;
};

// The pod as a write or a question names it.
inline framework::PodRef RefOf(const framework::PodInfo& pod) {
  return {pod.namespace_name(), pod.name, pod.uid, pod.resource_version};
}

}  // namespace berth::scheduler
