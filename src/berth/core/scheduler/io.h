// SPDX-License-Identifier: Apache-2.0
// What goes into the core and what comes out of it, as values. Inputs can be recorded and replayed.
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
// An object of a kind that the plugins read (Scheduler::ObjectsRead) was added or changed, or is gone.
struct ObjectSet {
  framework::AnyObject object;
};
struct ObjectGone {
  framework::ObjectKind kind;
  std::string key;  // framework::ObjectStore::Key
};
// The outcome of a Write. Error::outcome_unknown: it may have taken effect.
struct WriteDone {
  std::uint64_t operation = 0;
  std::optional<Error> error;
  std::string body{};  // the API server's answer, of writes and reads of objects
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

// A request to a source of data from outside has ended.
struct OutsideDone {
  std::size_t source = 0;  // index into Scheduler::outside_sources()
  Expected<std::shared_ptr<const framework::OutsideData>> data;
};

enum class ExtenderVerb : std::uint8_t { kFilter, kPrioritize, kBind, kPreempt };

// A candidate of a preemption, as extenders see it: the pods that would have to leave a node.
struct VictimsOnNode {
  std::string node_name;
  std::vector<std::string> pod_uids{};  // most important first
  std::int64_t pdb_violations = 0;
};

// What an extender said; of kBind nothing but that it did.
struct ExtenderAnswer {
  // kFilter: the nodes that are left, in its order, and why others are not. They are among those it was asked about.
  std::vector<std::string> node_names{};
  std::vector<std::pair<std::string, std::string>> failed_nodes{};
  std::vector<std::pair<std::string, std::string>> failed_and_unresolvable_nodes{};
  // kPrioritize: its own scores, not weighed.
  std::vector<std::pair<std::string, std::int64_t>> scores{};
  // kPreempt: the candidates that are left, each node once, with the victims that it wants.
  std::vector<VictimsOnNode> victims{};
};

// An AskExtender has ended. The error's message is what the pod is told.
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
  bool is_sequel = false;  // it goes on with what an earlier write began, and should not wait for what begins anew
};
struct Work {
  std::uint64_t operation = 0;
  framework::Operation::Work work;
};
using EmitEvent = framework::PodEvent;

// A question to an extender about a pod and these nodes; of kBind the one that it is to be bound to, of kPreempt none.
struct AskExtender {
  std::uint64_t operation = 0;
  std::size_t extender = 0;  // index into SchedulerOptions::extenders
  ExtenderVerb verb = ExtenderVerb::kFilter;
  framework::PodRef pod;
  std::vector<std::string> node_names{};
  std::vector<VictimsOnNode> victims{};  // of kPreempt
};

using Output = std::variant<Write, Work, EmitEvent, AskExtender>;

}  // namespace berth::scheduler
