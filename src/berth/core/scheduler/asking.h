// A scheduling cycle that waits for extenders. For this folder's sources only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "berth/core/runtime/extender_verdicts.h"
#include "berth/core/scheduler/scheduler.h"

namespace berth::scheduler {

struct Scheduler::ExtenderCycle {
  Profile* profile = nullptr;
  queue::QueuedPodInfo queued;   // queued.pod: its newest object
  Decision* decision = nullptr;  // the newest of the log: no other cycle begins meanwhile
  std::uint64_t seed = 0;

  runtime::ExtenderVerdicts say;
  bool is_nominated = false;            // extenders are asked about the pod's nominated node alone
  bool is_prioritizing = false;         // all have filtered
  std::vector<std::string> node_names;  // that are left
  std::size_t first_count = 0;          // of nodes that passed the filters
  std::size_t left_count = 0;           // as extenders count, who may name a node twice
  std::size_t extender = 0;             // the next to be asked about filtering
  // By operation: who has been asked and has not answered yet. One that filters, or all that prioritize.
  std::map<std::uint64_t, std::size_t> waiting;
};

}  // namespace berth::scheduler
