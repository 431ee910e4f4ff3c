// SPDX-License-Identifier: Apache-2.0
// Ledger: what the simulated API server has taken, as it happens, from watches of its own; and what must never be,
// looked at with each change. Knows Kubernetes' objects by their JSON alone and shares no code with the scheduler. One
// thread.
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

// Who writes: 0 is everybody but schedulers; each start of a scheduler's process has a number of its own.
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
  Time roomier_at{};  // when it grew, or a pod left it, last
  // Why it may hold more than it has room for, or what repels each other: somebody who did not ask, or could not know,
  // was there. Empty: it may not.
  std::string excuse;
};

struct LedgerBinding {
  Time at{};
  Life by = kOutsider;
  bool was_given_up = false;  // by the scheduler, when it took effect
  bool was_late = false;      // with leader election: it was under way for longer than its author's lease
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
  std::string condition;    // PodScheduled: "False/Unschedulable"
  std::string condition_message;
  Time told_at{};  // when a scheduler changed the condition last
  Time created_at{};
  LedgerBinding binding;
  std::map<std::string, std::string> scheduled_events;  // names, by who reports
};

// A write that is being handled.
struct Author {
  Life life = kOutsider;
  Time sent_at{};
  // Of a scheduler: its process lives, and is the only one. With leader election: its lease has not run out.
  bool is_current = true;
};

// What the leader election lease says of a life that has held it.
struct LedgerTerm {
  Time may_write_until{};  // nine tenths of the lease after its last renewal was sent
  Time ends_at{};          // nobody else may lead before, unless it gave the lease back
  bool was_given_back = false;
};

class Ledger {
 public:
  using Violate = std::function<void(std::string_view check, const std::string& what)>;

  Ledger(const Clock& clock, Violate violate) : clock_(clock), violate_(std::move(violate)) {}

  // Lines of watches in JSON. The author is whose request is being handled.
  void TakeLines(std::string_view bytes);
  void SetAuthor(const Author& author) { author_ = author; }
  // The schedulerName that a life serves.
  void NameLife(Life life, std::string name) { names_[life] = std::move(name); }
  // Schedulers elect a leader.
  void ExpectElection() { has_election_ = true; }
  // With an election, at this moment: whether the life may send writes, and whether what it has sent may take effect.
  bool MayWrite(Life life) const;
  bool IsWithinTerm(Life life) const;
  // Nobody may be told that a binding was not sent, or that a webhook is to blame: the server is slow for all alike.
  void ForbidBlame() { forbids_blame_ = true; }

  const std::map<std::string, LedgerPod>& pods() const { return pods_; }    // by key; those that are there
  const std::map<std::string, LedgerPod>& bound() const { return bound_; }  // by uid; all that ever were
  const std::map<std::string, LedgerNode>& nodes() const { return nodes_; }
  std::int64_t evicted() const { return evicted_; }

  // Whether the pod has room on the node beside the pods of at least its priority: those below can be preempted. With
  // `may_preempt` false beside all pods, those nominated for the node too unless it is more important than they are.
  bool Fits(const LedgerPod& pod, const LedgerNode& node, bool may_preempt) const;
  // The name of a node on which it fits, or empty. With `unchanged_since` only of those that have not become roomier
  // since then.
  std::string FittingNode(const LedgerPod& pod, bool may_preempt, Time unchanged_since = Time::max()) const;
  // "n1: 3000m of 4000m by a/p1 a/p2"
  std::string Describe(const LedgerNode& node) const;

  void Excuse(const std::string& node, std::string_view why);

 private:
  void TakeEvent(std::string_view type, const codec::json::object& object);
  void TakeNode(std::string_view type, const codec::json::object& object);
  void TakePod(std::string_view type, const codec::json::object& object);
  void TakeScheduledEvent(std::string_view type, const codec::json::object& object);
  void TakeLease(std::string_view type, const codec::json::object& object);
  void CheckBinding(const LedgerPod& pod);
  void CheckBlame(const std::string& who, std::string_view message);

  const Clock& clock_;
  const Violate violate_;
  Author author_;
  bool forbids_blame_ = false;
  std::map<std::string, LedgerNode> nodes_;
  std::map<std::string, LedgerPod> pods_;
  std::map<std::string, LedgerPod> bound_;
  std::set<std::string> uids_;  // of pods that ever were
  std::map<Life, std::string> names_;
  bool has_election_ = false;
  std::map<Life, LedgerTerm> terms_;
  std::map<std::string, LedgerNode> gone_nodes_;  // as they were, by name
  std::int64_t evicted_ = 0;
};

}  // namespace berth::program_sim
