// Operation: what PreBind, Bind and PostBind want done outside. Nothing in the core waits: the shell carries it out and
// its outcome comes back as an input, which resumes the pod's binding cycle.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/framework/status.h"

namespace berth::framework {

// The pod that a write is about. The uid is part of every write, so that a pod of the same name made later is not
// meant.
struct PodRef {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string resource_version;
};

// POST pods/<name>/binding with the pod's uid as precondition.
struct BindWrite {
  PodRef pod;
  std::string node_name;
};

// A strategic merge patch of pods/<name>/status. Without `condition` only the nomination is written.
struct PodStatusWrite {
  PodRef pod;
  bool has_condition = false;
  std::string condition_type;    // "PodScheduled"
  std::string condition_status;  // "False"
  std::string condition_reason;  // "Unschedulable", "SchedulerError"
  std::string condition_message;
  bool is_transition = true;  // the status changed: lastTransitionTime moves to now
  std::int64_t observed_generation = 0;
  // Empty optional-like pair: first says whether nominatedNodeName is written, second is its value (empty removes it).
  bool has_nomination = false;
  std::string nominated_node_name;
};

// GET of a pod whose binding has an unknown outcome.
struct PodRead {
  PodRef pod;
};

using ApiWrite = std::variant<BindWrite, PodStatusWrite, PodRead>;

struct Operation {
  // Work that may block, run by the shell on a worker thread. It must not touch the core.
  using Work = std::function<Status()>;

  static Operation Done(Status status = Status::Success()) { return {std::move(status), {}, {}}; }
  static Operation Write(ApiWrite write) { return {Status::Success(), {std::move(write)}, {}}; }
  static Operation Run(Work work) { return {Status::Success(), {}, std::move(work)}; }

  bool is_done() const { return writes.empty() && !work; }

  Status status;                 // the outcome when there is nothing to wait for; kSkip: not my pod (Bind)
  std::vector<ApiWrite> writes;  // carried out in order; the first failure ends the operation
  Work work;
};

}  // namespace berth::framework
