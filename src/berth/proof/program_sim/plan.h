// SPDX-License-Identifier: Apache-2.0
// Plan: all that will be done to a simulated cluster, from a seed: what outsiders do, what fails and for how long. Its
// items are independent of each other, so that shrinking a failing run may leave any of them out. Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"

namespace berth::program_sim {

enum class ItemKind : std::uint8_t {
  // What outsiders do, at one time.
  kAddNode,
  kDeleteNode,
  kCordon,       // or uncordon
  kTaint,        // or take the taint away
  kRelabel,      // a node's disk=ssd comes or goes
  kShrink,       // a node's allocatable
  kGrow,         // the same
  kAddPods,      // one to some
  kAddCrowd,     // several tens at once, of one namespace: more bindings than are sent at once
  kDeletePod,    // with its grace period, or at once
  kFinishPod,    // a bound one has succeeded or failed
  kUngate,       // a pod
  kTouchPod,     // a label that nobody asks for
  kOutsideBind,  // somebody binds a pod and does not ask whether there is room
  kBudget,       // a PodDisruptionBudget comes or goes
  kClockStep,    // of the wall clock of the scheduler's machine
  kRestart,      // the process dies and another one starts
  kCompact,      // the API server forgets its history
  kAskForRoom,   // a ProvisioningRequest, whose pods come once it is provisioned; in plans with promises alone
  // What fails, for a time.
  kRefused,       // connections are refused
  kRequestLost,   // does not arrive, and nobody says so
  kAnswerLost,    // the request has taken effect
  kLate,          // requests and answers take long
  kDoubled,       // a request arrives twice
  kUnauthorized,  // the token was replaced, and its file a little later
  kForbidden,     // 403 for one kind of request
  kConflict,      // 409
  kTooMany,       // 429, with Retry-After and without
  kServerError,   // 5xx, before the write or after it
  kWatchEnds,
  kWatchBreaks,
  kWatchSilent,  // half-open: nothing arrives any more, and nobody says so
  kWatchBlank,   // the same with a blank line now and then
  kWatchLags,
  kWatchGone,     // 410 for watches that begin
  kStaleReplica,  // lists and watches come from a copy that lags behind
  kSecondInstance,
  kWebhookBindings,  // of one namespace; these refuse, cannot be called, or hang
  kWebhookStatuses,
  kWebhookEvents,
  // Nothing fails, but for those that hang. Only in plans that have nothing else.
  kServerSlow,    // for all: each answer takes 0.3 to 3 s, of some servers 5 s; watches lag
  kSlowBindings,  // of one namespace: a webhook takes 1.5 to 8 s and allows the request; some hang now and then
  kSlowStatuses,
  kSlowEvents,
  // Only in plans with an election.
  kBindingHeld,  // by the network, for up to 25 s; others overtake it
  // What happens to one of the two processes, mostly to the leader.
  kReplicaEnds,  // it gets a signal to end
  kReplicaDies,
  kReplicaStops,   // as by SIGSTOP, and goes on later with its old view
  kReplicaCutOff,  // from the API server: refused, silent, or only answers do not arrive
};
inline constexpr ItemKind kFirstFault = ItemKind::kRefused;
inline constexpr ItemKind kLastStormFault = ItemKind::kWebhookEvents;
inline constexpr ItemKind kLastFault = ItemKind::kBindingHeld;

std::string_view Name(ItemKind kind);

struct Item {
  ItemKind kind{};
  Duration at{0};
  Duration until{0};       // of faults
  std::uint64_t dice = 0;  // decides what is left open: which node, which kind of pod, how often

  std::string Text() const;
};

struct Plan {
  std::uint64_t seed = 0;
  bool takes_protobuf = false;      // the scheduler's client
  bool is_tenant_storm = false;     // nothing fails, or is slow, but one namespace's webhooks
  bool is_server_slow = false;      // nothing fails; the server is slow for all, for a while
  int roomy_cpu = 0;                // of each node, where there is room for all pods; 0: nodes are small
  bool same_name = false;           // a second instance has the same schedulerName
  bool has_election = false;        // two processes, of which the holder of the lease schedules
  bool has_short_lease = false;     // of 6 s, instead of 15
  bool lists_when_leading = false;  // delayCacheUntilActive
  bool has_gatekeeper = false;      // a plugin of the scheduler makes pods wait, and refuses some, until storm_end
  bool has_promises = false;        // the scheduler answers ProvisioningRequests
  Duration storm_end{0};            // from then on nothing fails
  std::vector<Item> items;          // by time
};

// One plan in 16 has a server that is slow for all, another one in 16 slow webhooks of one namespace. Three in 16, less
// those in which only webhooks fail, have an election. Every other one that is not about slowness or webhooks alone has
// a gatekeeper; one in four of these has promises.
Plan MakePlan(std::uint64_t seed);

}  // namespace berth::program_sim
