// SPDX-License-Identifier: Apache-2.0
// OutsideSources: which plugins want to be told what from outside the cluster's objects, and what an answer changes.
// Within turns only. It asks nobody: the shell polls the sources and brings each answer as an OutsideDone.
#pragma once

#include <cstddef>
#include <vector>

#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/outside_request.h"
#include "berth/framework/outside_data.h"

namespace berth::scheduler {

class OutsideSources {
 public:
  // Asks all plugins for their sources. `state` must outlive it.
  explicit OutsideSources(CoreState& state);

  // The answer to the request i is OutsideDone{i, ...}.
  const std::vector<OutsideRequest>& requests() const { return requests_; }
  // Each source has answered, or has failed, once.
  bool HaveAllAnswered() const { return unanswered_count_ == 0; }

  void TakeAnswer(OutsideDone&& input);

 private:
  struct Reader {
    framework::OutsideDataReader* plugin = nullptr;
    std::size_t source = 0;  // which of the plugin's own
    bool has_answer = false;
  };
  framework::OutsideChange TellPlugin(const OutsideDone& input);

  CoreState& state_;
  std::vector<OutsideRequest> requests_;
  std::vector<Reader> readers_;  // parallel to requests_
  std::size_t unanswered_count_ = 0;
};

}  // namespace berth::scheduler
