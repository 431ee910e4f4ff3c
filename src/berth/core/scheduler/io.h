// SPDX-License-Identifier: Apache-2.0
// The core's inputs and outputs, as values. Inputs can be recorded and replayed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/framework/handle.h"
#include "berth/framework/objects.h"
#include "berth/framework/operation.h"
#include "berth/framework/outside_data.h"
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
// Add, update or delete of an object of a kind that the plugins read (Scheduler::ObjectsRead).
struct ObjectSet {
  framework::AnyObject object;
};
struct ObjectGone {
  framework::ObjectKind kind;
  std::string key;  // framework::ObjectStore::Key
};
// The outcome of a Write. With Error::outcome_unknown it may have taken effect.
struct WriteDone {
  std::uint64_t operation = 0;
  std::optional<Error> error;
  std::string body{};  // the API server's response to writes and reads of objects
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

// A request to a source of outside data has ended.
struct OutsideDone {
  std::size_t source = 0;  // index into Scheduler::outside_sources()
  Expected<std::shared_ptr<const framework::OutsideData>> data;
};

enum class ExtenderVerb : std::uint8_t { kFilter, kPrioritize, kBind, kPreempt };

// A candidate of a preemption as extenders see it: a node and the pods that would be evicted from it.
struct VictimsOnNode {
  std::string node_name;
  std::vector<std::string> pod_uids{};  // most important first
  std::int64_t pdb_violations = 0;
};

// An extender's response; for kBind all members are empty.
struct ExtenderAnswer {
  // kFilter: the nodes that are left, in the extender's order, and why others are not. All are nodes of the request.
  std::vector<std::string> node_names{};
  std::vector<std::pair<std::string, std::string>> failed_nodes{};
  std::vector<std::pair<std::string, std::string>> failed_and_unresolvable_nodes{};
  // kPrioritize: the extender's own scores, before its weight.
  std::vector<std::pair<std::string, std::int64_t>> scores{};
  // kPreempt: the candidates that are left, each node once, with the victims that the extender chose.
  std::vector<VictimsOnNode> victims{};
};

// An AskExtender has ended. The pod's condition shows the error's message.
struct ExtenderDone {
  std::uint64_t operation = 0;
  Expected<ExtenderAnswer> answer;
};

using Input = std::variant<PodSet, PodGone, NodeSet, NodeGone, ObjectSet, ObjectGone, WriteDone, PodReadDone, WorkDone,
                           OutsideDone, framework::PermitDecision, ExtenderDone>;

// --- Outputs ---

struct Write {
  std::uint64_t operation = 0;
  framework::ApiWrite write;
  bool is_sequel = false;  // continues what an earlier write began, and goes before writes that begin something new
};
struct Work {
  std::uint64_t operation = 0;
  framework::Operation::Work work;
};
using EmitEvent = framework::PodEvent;

// A request to an extender about a pod and these nodes: for kBind the one node to bind to, for kPreempt none.
struct AskExtender {
  std::uint64_t operation = 0;
  std::size_t extender = 0;  // index into SchedulerOptions::extenders
  ExtenderVerb verb = ExtenderVerb::kFilter;
  framework::PodRef pod;
  std::vector<std::string> node_names{};
  std::vector<VictimsOnNode> victims{};  // kPreempt only
};

using Output = std::variant<Write, Work, EmitEvent, AskExtender>;

}  // namespace berth::scheduler
