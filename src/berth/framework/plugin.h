// SPDX-License-Identifier: Apache-2.0
// The Scheduling Framework: the twelve extension points. A plugin derives from any number of them; its order, weight
// and arguments come from the profile. docs/plugins/extension-points.md shows them at work. fast_path.h has optional
// interfaces that make berth's own plugins faster; no plugin needs them.
// - Thread: calls come within turns of the core, one at a time, but not always on the same thread: do not use
// thread_local. No call may block, because nothing else is scheduled meanwhile.
// - State: a plugin changes only its own members and the CycleState. Const functions are also called in what-if trials,
// any number of times, so that they must not count their calls as decisions. References are valid during the call only.
// - Errors: "error" below means that the scheduling cycle ends, the message names the plugin, and the pod is tried
// again after its error back-off. A code that the comment of a function does not list is an error, and so is an
// exception, whose message begins with "panic: ".
//
// The comment of each point says when it is called, which codes it may return, and what each of them causes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/framework/cluster_event.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/node_list.h"
#include "berth/framework/objects.h"
#include "berth/framework/operation.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth::framework {

class NodeTable;          // fast_path.h
struct PreemptionReport;  // preemption_report.h

// One scheduling cycle, as plugins see it.
struct Cycle {
  Cycle(const NodeTable& all_nodes, CycleState& of_pod, std::uint64_t seed_of_cycle = 0, Time time_of_day = {});

  const NodeList& nodes;
  const NodeTable& table;    // the same nodes, for the fast path
  CycleState& state;         // data of this pod that its PreFilter and PreScore plugins have written
  std::uint64_t seed = 0;    // the only source of randomness, so that decisions can be replayed
  Time wall_now{};           // the only clock, for the same reason: the time of day
  bool with_detail = false;  // PostFilter: report all candidates instead of the chosen one
  // PostFilter: a question, such as that of `berth explain`. Report what would be done without doing it.
  bool is_dry_run = false;
};

// What a plugin's answer about a node depends on, in addition to the pod's class (PodInfo::pod_class: all of a pod
// except its name, its status, and annotations that no plugin reads). The runtime keeps the answer and calls the plugin
// again when one of these has changed. kCycle is always correct; with kNode a plugin is called as often for a thousand
// pods of one Deployment as for one.
enum class Dependency : std::uint8_t {
  kNode,     // that node and its pods; in PreFilter and PreScore, the class only
  kCluster,  // the objects of all nodes
  kCycle,    // anything else: pods on other nodes, the seed, the time
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view Name() const = 0;
  // Grows when something other than nodes and pods has changed the plugin's answers: the runtime then drops all kept
  // answers. Called at the start of each cycle. Not needed for changes reported by OnOutsideData (outside_data.h).
  virtual std::uint64_t Epoch() const { return 0; }
};

// PreEnqueue: may the pod be scheduled at all? Called before the pod enters activeQ, and again after events for which
// the plugin has registered.
class PreEnqueuePlugin : public virtual Plugin {
 public:
  // Success admits the pod. Any other code gates it, which is not written to the API.
  virtual Status PreEnqueue(const PodInfo& pod) const = 0;
};

// A pod in the queue, for QueueSort.
struct QueuedPod {
  const PodInfo& pod;
  Time timestamp;  // when it was added, or returned from its last failed attempt
};

// QueueSort: which pod is next? Called whenever the queue moves a pod. All profiles have the same plugin.
class QueueSortPlugin : public virtual Plugin {
 public:
  // Whether `a` goes before `b`: a strict weak order. If it throws, priority and age decide.
  virtual bool Less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

struct PreFilterResult {
  Status status;
  // The names of the nodes to which the search is narrowed; nullopt: all nodes.
  std::optional<std::set<std::string>> node_names;
};

// PreFilter: called at the start of a pod's cycle, to prepare the CycleState for Filter and to narrow the search.
class PreFilterPlugin : public virtual Plugin {
 public:
  // kNode: called once for each class of pods, which share what it writes.
  virtual Dependency PreFilterDependsOn() const { return Dependency::kCycle; }
  // Success. kSkip: this plugin's Filter, AddPod and RemovePod are not called for the pod. kUnschedulable: no node is
  // possible. kUnschedulableAndUnresolvable: the same, and later PreFilter plugins are not called.
  virtual PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const = 0;

  // PreFilterExtensions, for plugins whose CycleState depends on pods: update the state, which is a clone, for `other`,
  // which is added to or removed from the node in a what-if trial (preemption, nominated pods). Success, or an error.
  virtual bool HasPreFilterExtensions() const { return false; }
  virtual Status AddPod(const Cycle&, const PodInfo& /*pod*/, const PodInfo& /*other*/, const NodeInfo&) const {
    return {};
  }
  virtual Status RemovePod(const Cycle&, const PodInfo& /*pod*/, const PodInfo& /*other*/, const NodeInfo&) const {
    return {};
  }
};

// Filter: may the pod run on this node? Called for each node that the previous plugins did not refuse, in any order.
class FilterPlugin : public virtual Plugin {
 public:
  virtual Dependency FilterDependsOn() const { return Dependency::kCycle; }
  // Success. kUnschedulable: not now, but evicting pods may help, so that preemption tries it. kPending: not now, and
  // preemption does not try. kUnschedulableAndUnresolvable: not even if the node were empty. `node` may be a copy with
  // other pods than in cycle.nodes.
  virtual Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const = 0;
};

// The filters' verdicts on all nodes of a cycle.
class NodeStatuses {
 public:
  virtual ~NodeStatuses() = default;
  // Success for a feasible node. A node outside of a narrowed search has the status implied by PreFilter.
  virtual Status Get(NodeIndex row) const = 0;
};

// Runs all filters on one node with other pods on it, as a preemption's dry run needs. Nominated pods are included.
class FilterRunner {
 public:
  virtual ~FilterRunner() = default;
  // `state` is a clone of Cycle::state that RunAddPod and RunRemovePod have updated to the pods of `node`.
  virtual Status RunFiltersWithNominatedPods(CycleState& state, const PodInfo& pod, const NodeInfo& node) = 0;
  virtual Status RunRemovePod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) = 0;
  virtual Status RunAddPod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) = 0;
};

struct PostFilterResult {
  Status status;
  // Whether the pod's nomination is replaced (an empty name clears it) or left alone.
  bool has_nomination = false;
  std::string nominated_node_name;
  // For explanations, which show the chosen node and its victims, and for what the pod waits for. May be null.
  std::shared_ptr<const PreemptionReport> preemption;
  std::string success_message;  // with success: the end of the pod's message
  std::string preempted_by;     // set by the runtime: the preemption plugin
};

// PostFilter: can room be made for the pod? Called when no node is feasible, also after a refusal by PreFilter; twice
// in a cycle if extenders review what a later one chose (`preemptVerb`). Not called for pods of pod groups.
class PostFilterPlugin : public virtual Plugin {
 public:
  // Success: the pod was helped. kUnschedulable and kPending: the next PostFilter plugin is called. Any other code ends
  // PostFilter. The pod stays unschedulable in each case; its message ends with the status's reasons, or with
  // success_message.
  virtual PostFilterResult PostFilter(const Cycle& cycle, const PodInfo& pod, const NodeStatuses& statuses,
                                      FilterRunner& filters) const = 0;
  // True when it makes room by evicting pods: its calls are counted and timed as preemptions, and a pod waits for its
  // events where `preemption` has a chosen node or waits for victims, or, without `preemption`, a node is nominated.
  virtual bool IsPreemption() const { return false; }
  // True when it does nothing if Cycle::is_dry_run is set. Other plugins are not called for questions.
  virtual bool AnswersDryRuns() const { return false; }
};

// How raw scores are normalised to 0 to 100. Upstream: helper.DefaultNormalizeScore.
inline constexpr std::int64_t kNodeScoreMax = 100;
enum class Normalization : std::uint8_t {
  kNone,        // raw scores are already 0 to 100
  kMax,         // score * 100 / max; all 0 when max is 0
  kMaxReverse,  // 100 - score * 100 / max; all 100 when max is 0
  // For a policy that dominates other plugins, which only break ties. Nodes with the lowest raw score get 100, the
  // others at most 99 and less the higher their raw score is. Nodes with kNoRawScore get 0, or 100 when all nodes have
  // it.
  kLowestFirst,
  kCustom,  // by NormalizeScore; such scores are never kept
};

// Raw scores from 0 to this value are normalised without overflow.
inline constexpr std::int64_t kRawScoreMax = INT64_MAX / kNodeScoreMax;
// With kLowestFirst: the node has no raw score and comes last.
inline constexpr std::int64_t kNoRawScore = kRawScoreMax;

struct NodeScore {
  NodeIndex row = kNoNode;
  std::int64_t score = 0;
};

// PreScore: called before Score, if at least two nodes are feasible, to prepare the CycleState for it.
class PreScorePlugin : public virtual Plugin {
 public:
  // kNode: called once for each class of pods, before any node is evaluated; the pods share what it writes.
  virtual Dependency PreScoreDependsOn() const { return Dependency::kCycle; }
  // Success. kSkip: this plugin's Score is not called for the pod. `feasible` is empty if PreScoreDependsOn() is kNode.
  virtual Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const = 0;
};

// Score: how good is this node for the pod? Called for each feasible node, if there are at least two. A score that is
// kept may be requested earlier, also for nodes that other filters refuse later. The node with the largest sum of
// weighted normalised scores wins; the seed breaks ties.
class ScorePlugin : public virtual Plugin {
 public:
  virtual Dependency ScoreDependsOn() const { return Dependency::kCycle; }
  virtual Normalization ScoreNormalization() const { return Normalization::kNone; }
  // The raw score, 0 to kRawScoreMax. `status` is success at the call; a plugin that fails sets it.
  virtual std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex row, const NodeInfo& node,
                             Status& status) const = 0;
  // Only with kCustom: normalises the raw scores of all feasible nodes to 0 to 100. Success, or an error.
  virtual Status NormalizeScore(const Cycle&, const PodInfo&, std::span<NodeScore>) const { return {}; }
};

// Reserve: the pod is assumed on its node. For plugins that keep counts of their own.
class ReservePlugin : public virtual Plugin {
 public:
  // Success. A refusal (kUnschedulable, kUnschedulableAndUnresolvable, kPending) gives the node up: Unreserve is called
  // for all plugins, and the pod waits for an event that helps it.
  virtual Status Reserve(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) = 0;
  // Undoes Reserve when the pod is not bound. Called for all plugins in reverse order, also for those that Reserve did
  // not reach, and possibly twice.
  virtual void Unreserve(const PodInfo& pod, std::string_view node_name) = 0;
};

struct PermitResult {
  Status status;
  Duration timeout{0};  // for kWait; at most 15 minutes
};

// Permit: may the binding begin? Called after Reserve.
class PermitPlugin : public virtual Plugin {
 public:
  // Success. kWait: the pod keeps its room until every plugin that returned kWait has allowed it (Handle::Decide), one
  // of them rejects it, or a time-out has passed. A refusal has the effect of one in Reserve.
  virtual PermitResult Permit(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) = 0;
};

// The three points of the binding cycle are called while other pods are scheduled; `pod.node_name` is the chosen node.
// There is no Cycle, because its nodes may have changed. The call must not wait: it returns an Operation, which is
// carried out elsewhere. If it ends with a status other than success, Unreserve is called for all plugins.

// PreBind: prepares the binding. Called in order, each when the operation of the previous one has ended.
class PreBindPlugin : public virtual Plugin {
 public:
  // Called once the Permit plugins have been called, even if one of them makes the pod wait. Success: PreBind will be
  // called, and the node is announced in status.nominatedNodeName. kSkip: PreBind is not needed for this pod.
  virtual Status PreBindPreFlight(const PodInfo&) { return Status::Success(); }
  virtual Operation PreBind(const PodInfo& pod) = 0;
};

// Bind: binds the pod to its node.
class BindPlugin : public virtual Plugin {
 public:
  // Operation::Done with kSkip: this plugin does not bind this pod, and the next one is called.
  virtual Operation Bind(const PodInfo& pod) = 0;
};

// PostBind: the pod is bound. Nothing waits for the operation; a failure is logged.
class PostBindPlugin : public virtual Plugin {
 public:
  virtual Operation PostBind(const PodInfo& pod) = 0;
};

// Declarations that a plugin makes once, when the scheduler starts.

// Which pod annotations the plugin reads. Other annotations are not kept, and do not make pods different classes.
class AnnotationReader : public virtual Plugin {
 public:
  // Keys; a key that ends with a slash is a prefix.
  virtual std::vector<std::string> PodAnnotationsRead() const = 0;
};

// Which kinds of objects other than nodes and pods the plugin reads through its Handle. Other kinds are not watched.
class ObjectReader : public virtual Plugin {
 public:
  virtual std::vector<ObjectKind> ObjectsRead() const = 0;
};

// Which events may help a pod that this plugin refused. If a plugin that refuses does not derive from this class, its
// pods are tried again at every event.
class EnqueueExtensions : public virtual Plugin {
 public:
  virtual std::vector<ClusterEventWithHint> EventsToRegister() const = 0;
};

}  // namespace berth::framework
