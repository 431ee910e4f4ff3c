// SPDX-License-Identifier: Apache-2.0
// Operation: what PreBind, Bind and PostBind want to have done outside of the core: API calls, code that blocks, or a
// delay. The shell carries it out, and its outcome comes back as an input that resumes the pod's binding cycle. A
// value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/base/error.h"
#include "berth/base/time.h"
#include "berth/framework/status.h"

namespace berth::framework {

// Identifies the pod of a write. The uid keeps the write from affecting a later pod of the same name.
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

// A strategic merge patch of pods/<name>/status; without has_condition it only changes the nomination. Reserved for the
// scheduler, which does not wait for it. Plugins use ObjectPatch.
struct PodStatusWrite {
  PodRef pod;
  bool has_condition = false;
  std::string condition_type;    // "PodScheduled"
  std::string condition_status;  // "False"
  std::string condition_reason;  // "Unschedulable", "SchedulerError"
  std::string condition_message;
  bool is_transition = true;  // the status changed, so that lastTransitionTime is set
  std::int64_t observed_generation = 0;
  // Whether nominatedNodeName is written, and its value; an empty value removes it.
  bool has_nomination = false;
  std::string nominated_node_name;
};

// GET of a pod whose binding has an unknown outcome. Reserved for the scheduler. Plugins use ObjectRead.
struct PodRead {
  PodRef pod;
};

// Identifies an object in the API.
struct ObjectRef {
  std::string group_version;  // "v1", "storage.k8s.io/v1"
  std::string resource;       // "persistentvolumes"
  std::string namespace_name;
  std::string name;
};

enum class PatchType : std::uint8_t { kMerge, kStrategicMerge, kJson };

// PATCH; preconditions (metadata.uid, metadata.resourceVersion) are part of the body.
struct ObjectPatch {
  ObjectRef object;
  std::string subresource;  // "status", or empty
  PatchType type = PatchType::kMerge;
  std::string body;  // JSON
};

// POST to the collection; object.name is ignored.
struct ObjectCreate {
  ObjectRef object;
  std::string body;  // JSON
};

// DELETE, with the uid as precondition.
struct ObjectDelete {
  ObjectRef object;
  std::string uid;
};

// GET
struct ObjectRead {
  ObjectRef object;
};

using ApiWrite = std::variant<BindWrite, PodStatusWrite, PodRead, ObjectPatch, ObjectCreate, ObjectDelete, ObjectRead>;

// The outcome of one step of an operation: its writes, its work or its delay.
struct StepResult {
  std::optional<Error> error;  // of the write that failed; later writes were not tried
  Status status;               // the result of `work`
  std::string body;  // the API server's response to the last write (JSON); empty for BindWrite and PodStatusWrite
  Time now{};        // for waits: a clock that does not jump
  Time wall_now{};   // the time of day, for values in objects
};

struct Operation {
  // Code that may block, run on a worker thread. It must not access the plugin's members, anything of the core, or the
  // Handle except for Decide().
  using Work = std::function<Status()>;
  // Called within a turn when the step has ended, whatever its outcome. Returns the next step.
  using Next = std::function<Operation(const StepResult&)>;

  static Operation Done(Status status = Status::Success()) { return {std::move(status), {}, {}, {}, {}}; }
  static Operation Write(ApiWrite write) { return Write(std::move(write), {}); }
  static Operation Run(Work work) { return {Status::Success(), {}, std::move(work), {}, {}}; }
  // `next` receives the response and returns the next step.
  static Operation Write(ApiWrite write, Next next) {
    Operation operation{Status::Success(), {}, {}, {}, std::move(next)};
    operation.writes.push_back(std::move(write));  // an initializer list would copy it
    return operation;
  }
  static Operation WriteAll(std::vector<ApiWrite> writes, Next next) {
    return {Status::Success(), std::move(writes), {}, {}, std::move(next)};
  }
  // `next` is called after `delay`.
  static Operation After(Duration delay, Next next) { return {Status::Success(), {}, {}, delay, std::move(next)}; }

  bool is_done() const { return writes.empty() && !work && !next; }

  Status status;  // the outcome of an operation that is done; kSkip: the plugin does not bind this pod (Bind)
  std::vector<ApiWrite> writes;  // carried out in order until one fails
  Work work;
  Duration delay{0};  // without writes and work: how long to wait before `next`
  // The continuation. Without it the operation ends with the outcome of its writes or work.
  Next next;
};

}  // namespace berth::framework
