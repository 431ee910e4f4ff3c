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

// A Permit plugin that answered kWait.
struct PermitWait {
  std::string plugin;
  Duration timeout{0};
  Time deadline{};
};

// The phases of a binding cycle.
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
// A cycle begins at kPermit and skips a phase in which nothing is to be done. It also fails when its node is gone. It
// is dropped (Unreserve, forget) when the pod is gone or somebody else has bound it. In kRead the outcome of the write
// is unknown. The pod stays assumed on its node, because only the scheduler keeps that room from being given away
// twice.
enum class BindingPhase : std::uint8_t { kPermit, kPreBind, kBind, kRead };

// How many nodes the evaluation looked at and found feasible, for the log.
struct NodeCounts {
  std::uint32_t evaluated = 0;
  std::uint32_t feasible = 0;
};

struct BindingCycle {
  Profile* profile = nullptr;
  queue::QueuedPodInfo queued;    // queued.pod: the newest object without a node, to put back on failure
  framework::PodInfoPtr assumed;  // with the chosen node
  framework::NodeIndex row = framework::kNoNode;  // the node's row when the pod was assumed

  BindingPhase phase = BindingPhase::kPermit;
  std::vector<PermitWait> permits;                  // the waits that have not ended
  std::vector<framework::PreBindPlugin*> pre_bind;  // the plugins that have something to do for this pod
  std::size_t next_plugin = 0;                      // the next one of this phase
  std::size_t next_extender = 0;                    // the next one that may be asked to bind the pod
  bool is_calling_plugin = false;  // during a call of a plugin for this pod, in which the cycle cannot be cancelled

  // Only BindingTable changes the next three members. Operation 0: none is under way.
  std::uint64_t operation = 0;
  bool is_busy = false;      // an operation is under way that is not late and does not only wait for time to pass
  bool is_in_doubt = false;  // a write has been without an answer for long, or its outcome stayed unknown
  std::string_view plugin;   // the plugin whose operation it is; empty: an extender
  OperationStep step;        // the step of `operation` that is under way

  NodeCounts nodes;

  // Stopwatch times, for metrics. Time{}: not timed.
  Time wait_began{};   // Permit waits
  Time point_began{};  // PreBind or Bind
  Time call_began{};   // the call of `plugin`, in a sampled attempt

  int read_count = 0;            // how often the pod was read to learn an outcome; sets the delays
  int refused_count = 0;         // how often the binding was refused for a reason that may pass
  std::string reported_trouble;  // the last event about a write that does not take effect
  bool is_waiting_to_read = false;
  Time read_at{};  // when the pod is read, if is_waiting_to_read
  // Why a binding was refused whose earlier posts may have taken effect. The refusal counts once the pod was read
  // without a node.
  std::string refusal;
};

}  // namespace berth::scheduler
