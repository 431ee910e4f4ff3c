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

// Room that is promised (bookings.h). From now on the core notes which pods come for such room; promises may keep room
// for this many pods at once.
struct BookingsKept {
  std::uint64_t pods_max = 0;
};
// Equal pods for which room is asked, and where they were before a restart: those nodes are tried first, in this order.
struct BookingSet {
  std::string name;  // of the pod set, for messages
  std::uint64_t count = 0;
  std::vector<std::shared_ptr<const api::Pod>> pods{};  // one for all of them, or, if they have claims, one for each
  std::vector<std::pair<std::string, std::uint64_t>> nodes{};
};
// Asks for room for all pods of all sets, or none. A BookingReport answers.
struct BookingAsked {
  std::string request;  // the ProvisioningRequest, as "namespace/name"
  std::string uid;      // the request's
  std::vector<BookingSet> sets{};
  std::vector<framework::AnyObject> objects{};  // claims that the pods alone have
  bool is_restored = false;                     // promised before: pods that came for it have used up their part
};
// The promise is over, or the request is gone. Without effect on a promise of another uid.
struct BookingEnded {
  std::string request;
  std::string uid;
};

using Input =
    std::variant<PodSet, PodGone, NodeSet, NodeGone, ObjectSet, ObjectGone, WriteDone, PodReadDone, WorkDone,
                 OutsideDone, framework::PermitDecision, ExtenderDone, BookingsKept, BookingAsked, BookingEnded>;

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

enum class BookingState : std::uint8_t {
  kBooked,   // the answer to BookingAsked: the room is kept
  kRefused,  // the answer to BookingAsked: some pods have no room
  kMoved,    // the room is kept, on other nodes than before
  kLost,     // there is no room any more, and the promise has ended
};
// What became of a pod set.
struct BookedSet {
  std::string name;
  std::uint64_t count = 0;                                     // pods that were asked for
  std::uint64_t fitting = 0;                                   // that have room, or came for it before a restart
  std::string why{};                                           // the first pod without room has none
  std::vector<std::pair<std::string, std::uint64_t>> nodes{};  // where room is kept, and for how many
};
struct BookingReport {
  std::string request;
  std::string uid;
  BookingState state = BookingState::kBooked;
  std::string why{};  // one line, unless it is kBooked
  std::vector<BookedSet> sets{};
};

using Output = std::variant<Write, Work, EmitEvent, AskExtender, BookingReport>;

}  // namespace berth::scheduler
