// SPDX-License-Identifier: Apache-2.0
// Ledger: the objects that the simulated API server has stored, from watches of its own, and the safety checks, which
// run with each change. It reads objects from their JSON alone and shares no code with the scheduler. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "berth/base/time.h"
#include "berth/codec/json.h"

namespace berth::program_sim {

// Identifies who writes: each start of a scheduler's process has its own number, and 0 stands for everybody else.
using Life = int;
inline constexpr Life kOutsider = 0;

struct LedgerNode {
  std::string name;
  std::string uid;
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;
  std::int64_t pods = 0;
  bool is_unschedulable = false;
  bool is_tainted = false;
  bool is_ssd = false;
  Time created_at{};
  Time roomier_at{};  // when its room last became larger: it grew, or a pod left it
  // Why the node may be overcommitted, or hold pods that repel each other: for example, somebody bound a pod without
  // asking whether it fits. Empty: it may not.
  std::string excuse;
};

struct LedgerBinding {
  Time at{};
  Life by = kOutsider;
  bool was_given_up = false;  // the scheduler had given it up when it took effect
  bool was_late = false;      // with leader election: it was under way for longer than its author's lease
};

// The condition PodScheduled.
struct LedgerCondition {
  std::string state;  // "False/Unschedulable"
  std::string message;
  Time changed_at{};  // when a scheduler last changed it
  Life by = 0;        // and which one
};

struct LedgerPod {
  std::string key;  // namespace/name
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string app;
  std::string node;            // empty: not bound
  std::string nominated_node;  // status.nominatedNodeName
  std::string scheduler_name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory = 0;
  std::int64_t priority = 0;
  int host_port = 0;
  bool repels_app = false;  // required anti-affinity against its own app, by host
  bool wants_ssd = false;
  bool tolerates = false;
  bool is_gated = false;
  bool is_finished = false;
  bool is_terminating = false;
  bool is_evicted = false;  // a scheduler has deleted it
  LedgerCondition told;
  Time created_at{};
  LedgerBinding binding;
  std::map<std::string, std::string> scheduled_events;  // names of the events, by reporter
};

// A ProvisioningRequest.
struct LedgerRequest {
  std::string key;  // namespace/name
  std::string namespace_name;
  std::string name;
  bool is_provisioned = false;
  bool is_over = false;  // failed, expired or revoked
};

// Whose write is being handled.
struct Author {
  Life life = kOutsider;
  Time sent_at{};
  // False for a scheduler whose process has died or is not the only one. With leader election: whose lease has run out.
  bool is_current = true;
};

// What the Lease of leader election has granted to a process that has held it.
struct LedgerTerm {
  Time may_write_until{};  // nine tenths of the lease after its last renewal was sent
  Time ends_at{};          // no other process may lead before that, unless this one gave the lease back
  bool was_given_back = false;
};

class Ledger {
 public:
  using Violate = std::function<void(std::string_view check, const std::string& what)>;

  Ledger(const Clock& clock, Violate violate) : clock_(clock), violate_(std::move(violate)) {}

  // Takes lines of watches in JSON, which the request of the current author has caused.
  void TakeLines(std::string_view bytes);
  void SetAuthor(const Author& author) { author_ = author; }
  // The schedulerName that a life serves.
  void NameLife(Life life, std::string name) { names_[life] = std::move(name); }
  // To be called where schedulers elect a leader.
  void ExpectElection() { has_election_ = true; }
  // With an election: whether the process may send writes now, and whether a write that it has sent may take effect
  // now.
  bool MayWrite(Life life) const;
  bool IsWithinTerm(Life life) const;
  // The server is slow for all alike: it is a violation when a message says that a binding was not sent, or that a
  // webhook is to blame.
  void ForbidBlame() { forbids_blame_ = true; }
  // No write of a pod's status is refused with a conflict: a victim's conditions say why it goes before it is deleted.
  void ExpectReasons() { expects_reasons_ = true; }

  const std::map<std::string, LedgerPod>& pods() const { return pods_; }    // by key; those that are there
  const std::map<std::string, LedgerPod>& bound() const { return bound_; }  // by uid; all that ever were
  const std::map<std::string, LedgerNode>& nodes() const { return nodes_; }
  const std::map<std::string, LedgerRequest>& requests() const { return requests_; }  // by key; those that are there
  std::int64_t evicted() const { return evicted_; }

  // Whether the pod fits on the node. With `may_preempt` only pods of at least its priority take room, since others can
  // be preempted. Without it all pods do, and those that are nominated for the node, unless their priority is lower.
  bool Fits(const LedgerPod& pod, const LedgerNode& node, bool may_preempt) const;
  // The name of a node on which the pod fits, or empty. Nodes whose room has become larger after `unchanged_since` are
  // left out.
  std::string FittingNode(const LedgerPod& pod, bool may_preempt, Time unchanged_since = Time::max()) const;
  // "n1: 3000m of 4000m by a/p1 a/p2"
  std::string Describe(const LedgerNode& node) const;

  void Excuse(const std::string& node, std::string_view why);

 private:
  void TakeEvent(std::string_view type, const codec::json::object& object);
  void TakeNode(std::string_view type, const codec::json::object& object);
  void TakePod(std::string_view type, const codec::json::object& object);
  void TakeScheduledEvent(std::string_view type, const codec::json::object& object);
  void TakeRequest(std::string_view type, const codec::json::object& object);
  void TakeLease(std::string_view type, const codec::json::object& object);
  void CheckBinding(const LedgerPod& pod);
  void CheckBlame(const std::string& who, std::string_view message);

  const Clock& clock_;
  const Violate violate_;
  Author author_;
  bool forbids_blame_ = false;
  bool expects_reasons_ = false;
  std::map<std::string, LedgerNode> nodes_;
  std::map<std::string, LedgerPod> pods_;
  std::map<std::string, LedgerRequest> requests_;
  std::map<std::string, LedgerPod> bound_;
  std::set<std::string> uids_;  // of pods that ever were
  std::map<Life, std::string> names_;
  bool has_election_ = false;
  std::map<Life, LedgerTerm> terms_;
  std::map<std::string, LedgerNode> gone_nodes_;  // deleted nodes as they last were, by name
  std::int64_t evicted_ = 0;
};

}  // namespace berth::program_sim
