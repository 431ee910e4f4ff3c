// SPDX-License-Identifier: Apache-2.0
// OutsideSources: which plugins read which sources of outside data, and what an answer changes. Within turns only. It
// sends no requests: the shell polls the sources and brings each answer as an OutsideDone.
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

  // OutsideDone::source is an index into these.
  const std::vector<OutsideRequest>& requests() const { return requests_; }
  // Whether each source has answered, or has failed, at least once.
  bool HaveAllAnswered() const { return unanswered_count_ == 0; }

  void TakeAnswer(OutsideDone&& input);

 private:
  struct Reader {
    framework::OutsideDataReader* plugin = nullptr;
    std::size_t source = 0;  // index into the plugin's own sources
    bool has_answer = false;
  };
  framework::OutsideChange PassToPlugin(const OutsideDone& input);

  CoreState& state_;
  std::vector<OutsideRequest> requests_;
  std::vector<Reader> readers_;  // parallel to requests_
  std::size_t unanswered_count_ = 0;
};

}  // namespace berth::scheduler
