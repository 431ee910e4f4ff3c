// What goes into the core and what comes out of it, as values. Inputs can be recorded and replayed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/framework/handle.h"
#include "berth/framework/operation.h"
#include "berth/framework/status.h"

namespace berth::scheduler {

// --- Inputs ---

struct PodSet {  // added or changed
  std::shared_ptr<const api::Pod> pod;
};
struct PodGone {
  std::string namespace_name;
  std::string name;
  std::string uid;
};
struct NodeSet {
  std::shared_ptr<const api::Node> node;
};
struct NodeGone {
  std::string name;
};
// The outcome of a Write. Error::outcome_unknown: it may have taken effect.
struct WriteDone {
  std::uint64_t operation = 0;
  std::optional<Error> error;
};
// The outcome of a Write that holds a PodRead: null when the pod is gone.
struct PodReadDone {
  std::uint64_t operation = 0;
  std::shared_ptr<const api::Pod> pod;
  std::optional<Error> error;
};
struct WorkDone {
  std::uint64_t operation = 0;
  framework::Status status;
};

using Input =
    std::variant<PodSet, PodGone, NodeSet, NodeGone, WriteDone, PodReadDone, WorkDone, framework::PermitDecision>;

// --- Outputs ---

struct Write {
  std::uint64_t operation = 0;
  framework::ApiWrite write;
};
struct Work {
  std::uint64_t operation = 0;
  framework::Operation::Work work;
};
// An events.k8s.io/v1 Event about a pod.
struct EmitEvent {
  framework::PodRef regarding;
  std::string reporting_controller;  // the profile's schedulerName
  bool is_warning = false;
  std::string reason;
  std::string action;
  std::string note;
};

using Output = std::variant<Write, Work, EmitEvent>;

}  // namespace berth::scheduler
