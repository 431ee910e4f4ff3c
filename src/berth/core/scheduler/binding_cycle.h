// SPDX-License-Identifier: Apache-2.0
// BindingCycle: the record of one pod's way from its chosen node to a binding that has taken effect. A plain value that
// BindingTable owns; within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/operation_runner.h"
#include "berth/core/scheduler/profile_set.h"
#include "berth/framework/node_table.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

// A Permit plugin that has said kWait.
struct PermitWait {
  std::string plugin;
  Duration timeout{0};
  Time deadline{};
};

// Where a binding cycle stands.
//
//   kPermit ---all allow---> kPreBind ---all done---> kBind ---confirmed---> done: PostBind
//      |                        |                     |  | ^                   ^
//      | rejected,              | a plugin failed,    |  | | read: not bound,  | read or watched:
//      | timed out,             | cancelled           |  | | posted again      | bound to its node
//      | cancelled              |             refused |  v |                   |
//      |                        |                     | kRead -----------------+
//      |                        |                     |  | read: not bound, and had been refused
//      v                        v                     v  v
//   failed: Unreserve, forget, back into the queue
//
// A cycle begins at kPermit, and passes at once a phase in which nothing is to be done. It also fails when its node is
// gone, and is dropped (Unreserve, forget) when the pod is gone or somebody else has bound it. In kRead the outcome of
// the write is unknown: the pod keeps its room, as nobody but the scheduler prevents that it is given away twice.
enum class BindingPhase : std::uint8_t { kPermit, kPreBind, kBind, kRead };

// For the log: of the evaluation that found the node.
struct NodeCounts {
  std::uint32_t evaluated = 0;
  std::uint32_t feasible = 0;
};

struct BindingCycle {
  Profile* profile = nullptr;
  queue::QueuedPodInfo queued;    // queued.pod: the newest object without a node, to put back on failure
  framework::PodInfoPtr assumed;  // with the chosen node
  framework::NodeIndex row = framework::kNoNode;  // of that node when the pod was assumed

  BindingPhase phase = BindingPhase::kPermit;
  std::vector<PermitWait> permits;                  // still waited for
  std::vector<framework::PreBindPlugin*> pre_bind;  // those with something to do
  std::size_t next_plugin = 0;                      // of the phase
  std::size_t next_extender = 0;                    // that may be asked to bind the pod
  bool is_calling_plugin = false;                   // a plugin is being called about it: it cannot be cancelled now

  // Under way; 0: none. These three are changed by BindingTable alone.
  std::uint64_t operation = 0;
  bool is_busy = false;       // it has begun lately, and is more than a wait for time to pass
  bool is_unsettled = false;  // a write of the cycle has had no answer for long, or an outcome that is not known
  std::string_view plugin;    // whose operation it is; empty: an extender's
  OperationStep step;         // of that operation

  NodeCounts nodes;

  // For metrics, by the stopwatch; Time{}: not timed.
  Time wait_began{};   // at Permit
  Time point_began{};  // of PreBind or Bind
  Time call_began{};   // of `plugin`, in a sampled attempt

  int read_count = 0;        // how often its outcome had to be read, for the delays
  int refused_count = 0;     // how often the binding was refused for what may pass
  std::string trouble_told;  // what was last told of a write that does not take effect
  bool is_waiting_to_read = false;
  Time read_at{};  // then
  // What a binding was refused with whose earlier posts may have taken effect. Believed once the pod was read unbound.
  std::string refusal;
};

}  // namespace berth::scheduler
