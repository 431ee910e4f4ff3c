// SPDX-License-Identifier: Apache-2.0
// The Scheduling Framework: the twelve extension points. A plugin derives from any number of them; its order, weight
// and arguments come from the profile. docs/plugins/extension-points.md shows them at work. What makes the plugins that
// come with berth fast is in fast_path.h; no plugin needs it.
// - Thread: calls come within turns of the core, one at a time, but not always on the same thread: keep nothing in
//   thread_local. No call may block, because nothing else is scheduled meanwhile.
// - Must not touch: anything but the plugin's own members and the CycleState. Const functions are asked any number of
//   times, also in what-if trials, and must not count these as done. What a call gets by reference is gone after it.
// - Errors: "error" below means: the scheduling cycle ends, the message names the plugin, and the pod is tried again
//   after its error back-off. A code that a comment does not list is an error, and so is an exception, whose message
//   begins with "panic: ".
//
// In each point's comment: when it is asked, which codes it may return, and what each of them causes.
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

// One scheduling cycle, as its plugins see it.
struct Cycle {
  Cycle(const NodeTable& all_nodes, CycleState& of_pod, std::uint64_t seed_of_cycle = 0, Time time_of_day = {});

  const NodeList& nodes;
  const NodeTable& table;    // the same nodes, for the fast path
  CycleState& state;         // of this pod: what its PreFilter and PreScore plugins found out
  std::uint64_t seed = 0;    // the only source of chance, so that a decision can be replayed
  Time wall_now{};           // the only clock, for the same reason: the time of day, as objects name it
  bool with_detail = false;  // PostFilter: report all candidates, not only the chosen one
  // PostFilter: a question, such as `berth explain` asks. Say what would be done, and do nothing.
  bool is_dry_run = false;
};

// What a plugin's answer about a node rests on, beside the pod's class (PodInfo::pod_class: all of a pod but its name,
// its status and annotations that no plugin reads). The runtime keeps the answer and asks again when that has changed.
// kCycle is always right; with kNode a plugin is asked about a thousand pods of one Deployment as often as about one.
enum class Dependency : std::uint8_t {
  kNode,     // that node and the pods on it; in PreFilter and PreScore, the class alone
  kCluster,  // the objects of all nodes
  kCycle,    // anything else: pods on other nodes, the seed, the time
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view Name() const = 0;
  // A number that grows when something other than nodes and pods has changed the plugin's answers: the runtime then
  // drops all kept ones. Asked at the start of each cycle. Not needed for what comes by OnOutsideData (outside_data.h).
  virtual std::uint64_t Epoch() const { return 0; }
};

// PreEnqueue: may the pod be scheduled at all? Asked before the pod enters activeQ, and again at events that the plugin
// registered for.
class PreEnqueuePlugin : public virtual Plugin {
 public:
  // Success lets the pod in. Any other code holds it back, and nothing is written about that in the API.
  virtual Status PreEnqueue(const PodInfo& pod) const = 0;
};

// A pod in the queue, as QueueSort compares it.
struct QueuedPod {
  const PodInfo& pod;
  Time timestamp;  // when it was added, or came back from its last failed attempt
};

// QueueSort: which pod is next. Asked whenever the queue moves a pod; one plugin for all profiles.
class QueueSortPlugin : public virtual Plugin {
 public:
  // True when `a` goes before `b`: a strict weak order. Where it throws, priority and age decide.
  virtual bool Less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

struct PreFilterResult {
  Status status;
  // The names of the nodes to which the search is narrowed; absent: all nodes.
  std::optional<std::set<std::string>> node_names;
};

// PreFilter: asked at the start of the pod's cycle, to prepare the CycleState for Filter and to narrow the search.
class PreFilterPlugin : public virtual Plugin {
 public:
  // kNode: asked once for each class of pods, and what it wrote is shared by them.
  virtual Dependency PreFilterDependsOn() const { return Dependency::kCycle; }
  // Success. kSkip: this plugin's Filter, AddPod and RemovePod are not asked about the pod. kUnschedulable: no node is
  // possible. kUnschedulableAndUnresolvable: the same, and the PreFilter plugins after this one are not asked.
  virtual PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const = 0;

  // PreFilterExtensions, for a plugin whose CycleState rests on pods: keep a clone of the state up with `other`, which
  // comes to or leaves the node in a what-if trial (preemption, nominated pods). Success, or an error.
  virtual bool HasPreFilterExtensions() const { return false; }
  virtual Status AddPod(const Cycle&, const PodInfo& /*pod*/, const PodInfo& /*other*/, const NodeInfo&) const {
    return {};
  }
  virtual Status RemovePod(const Cycle&, const PodInfo& /*pod*/, const PodInfo& /*other*/, const NodeInfo&) const {
    return {};
  }
};

// Filter: may the pod run on this node? Asked about each node that the plugins before it let pass, in any order.
class FilterPlugin : public virtual Plugin {
 public:
  virtual Dependency FilterDependsOn() const { return Dependency::kCycle; }
  // Success. kUnschedulable: not now; evicting pods may help, so preemption tries it. kPending: not now, and preemption
  // does not try. kUnschedulableAndUnresolvable: not even if the node were empty. `node` may be a copy with other pods
  // on it than cycle.nodes shows.
  virtual Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const = 0;
};

// What the filters said about every node of a cycle.
class NodeStatuses {
 public:
  virtual ~NodeStatuses() = default;
  // Success for a feasible node. A node outside of a narrowed search has the status that PreFilter implied for it.
  virtual Status Get(NodeIndex row) const = 0;
};

// Asks all filters about one node with other pods on it, as preemption's dry run does; nominated pods count.
class FilterRunner {
 public:
  virtual ~FilterRunner() = default;
  // `state` is a clone of Cycle::state that RunAddPod and RunRemovePod have kept up with the pods of `node`.
  virtual Status RunFiltersWithNominatedPods(CycleState& state, const PodInfo& pod, const NodeInfo& node) = 0;
  virtual Status RunRemovePod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) = 0;
  virtual Status RunAddPod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) = 0;
};

struct PostFilterResult {
  Status status;
  // Whether the pod's nomination is set anew (an empty name clears it) or left alone.
  bool has_nomination = false;
  std::string nominated_node_name;
  std::shared_ptr<const PreemptionReport> preemption;  // for people to read; null: none was tried
  std::string success_message;                         // with success: what the pod's message ends with
  std::string preempted_by;                            // set by the runtime: the plugin that `preemption` is from
};

// PostFilter: can room be made for the pod? Asked when no node is feasible, also after PreFilter refused.
class PostFilterPlugin : public virtual Plugin {
 public:
  // Success: the pod was helped. kUnschedulable and kPending: the next PostFilter plugin is asked. Any other code ends
  // PostFilter. The pod stays unschedulable in each case; its message ends with the reasons of a status but success, or
  // with success_message.
  virtual PostFilterResult PostFilter(const Cycle& cycle, const PodInfo& pod, const NodeStatuses& statuses,
                                      FilterRunner& filters) const = 0;
  // It makes room by evicting pods: its calls are counted and timed as preemptions, and a pod that it has nominated a
  // node waits for the events of this plugin.
  virtual bool IsPreemption() const { return false; }
  // It does nothing where Cycle::is_dry_run is set. One that cannot promise this is left out of questions.
  virtual bool AnswersDryRuns() const { return false; }
};

// How raw scores become 0 to 100. Upstream: helper.DefaultNormalizeScore.
inline constexpr std::int64_t kNodeScoreMax = 100;
enum class Normalization : std::uint8_t {
  kNone,        // raw scores are 0..100 already
  kMax,         // score * 100 / max; all 0 when max is 0
  kMaxReverse,  // 100 - score * 100 / max; all 100 when max is 0
  // For a policy that decides and leaves it to others to break ties. Nodes with the lowest raw score get 100, the
  // others at most 99, and less the higher their raw score; those with kNoRawScore get 0, or 100 when all nodes have
  // kNoRawScore.
  kLowestFirst,
  kCustom,  // NormalizeScore; such scores are never kept
};

// Raw scores from 0 to this one are normalised without overflow.
inline constexpr std::int64_t kRawScoreMax = INT64_MAX / kNodeScoreMax;
// With kLowestFirst: the node has no raw score and comes last.
inline constexpr std::int64_t kNoRawScore = kRawScoreMax;

struct NodeScore {
  NodeIndex row = kNoNode;
  std::int64_t score = 0;
};

// PreScore: asked before Score, when two nodes or more are feasible, to prepare the CycleState for it.
class PreScorePlugin : public virtual Plugin {
 public:
  // kNode: asked once for each class of pods, before any node is, and what it wrote is shared by them.
  virtual Dependency PreScoreDependsOn() const { return Dependency::kCycle; }
  // Success. kSkip: this plugin's Score is not asked about the pod. `feasible` is empty where PreScoreDependsOn() is
  // kNode.
  virtual Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const = 0;
};

// Score: how good is this node for the pod? Asked about each feasible node when there are two or more; a score that is
// kept is asked for earlier, also about nodes that a filter whose answers are not kept refuses then. The node with the
// largest sum of weight times normalised score wins; the seed breaks ties.
class ScorePlugin : public virtual Plugin {
 public:
  virtual Dependency ScoreDependsOn() const { return Dependency::kCycle; }
  virtual Normalization ScoreNormalization() const { return Normalization::kNone; }
  // The raw score, 0 to kRawScoreMax. `status` is success when this is called, and set by a plugin that fails.
  virtual std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex row, const NodeInfo& node,
                             Status& status) const = 0;
  // With kCustom alone: turns the raw scores of all feasible nodes into 0 to 100. Success, or an error.
  virtual Status NormalizeScore(const Cycle&, const PodInfo&, std::span<NodeScore>) const { return {}; }
};

// Reserve: the pod has its node, and its room there is taken. For a plugin that counts something itself.
class ReservePlugin : public virtual Plugin {
 public:
  // Success. A refusal (kUnschedulable, kUnschedulableAndUnresolvable, kPending) gives the node up: all plugins
  // Unreserve, and the pod waits for an event that helps it.
  virtual Status Reserve(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) = 0;
  // Gives back what Reserve took, whenever the binding comes to nothing. Called for all plugins in reverse order, also
  // where Reserve was not reached, and possibly twice.
  virtual void Unreserve(const PodInfo& pod, std::string_view node_name) = 0;
};

struct PermitResult {
  Status status;
  Duration timeout{0};  // of kWait; capped at 15 minutes
};

// Permit: may the binding begin? Asked after Reserve.
class PermitPlugin : public virtual Plugin {
 public:
  // Success. kWait: the pod keeps its room until every plugin that said so has allowed it (Handle::Decide), one of them
  // rejects it, or its time is over. A refusal is as in Reserve.
  virtual PermitResult Permit(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) = 0;
};

// The three points of the binding cycle are asked while other pods are scheduled; `pod.node_name` is the chosen node.
// There is no Cycle: its nodes may have changed. Nothing waits in the call: an Operation says what is to be done, and
// is carried out elsewhere. One that ends with a status other than success makes all plugins Unreserve.

// PreBind: what has to be done before the binding. Asked in order, each when the one before has ended.
class PreBindPlugin : public virtual Plugin {
 public:
  // Asked once the Permit plugins have been asked, also while one of them lets the pod wait. Success: PreBind will be
  // asked, and others are told of the node meanwhile (status.nominatedNodeName). kSkip: nothing is to be done for this
  // pod.
  virtual Status PreBindPreFlight(const PodInfo&) { return Status::Success(); }
  virtual Operation PreBind(const PodInfo& pod) = 0;
};

// Bind: writes the binding.
class BindPlugin : public virtual Plugin {
 public:
  // Operation::Done with kSkip: not a pod of this plugin, the next one is asked.
  virtual Operation Bind(const PodInfo& pod) = 0;
};

// PostBind: the pod is bound. Nothing waits for the operation, and its failure is a line in the log.
class PostBindPlugin : public virtual Plugin {
 public:
  virtual Operation PostBind(const PodInfo& pod) = 0;
};

// What a plugin says about itself once, when the scheduler starts.

// Which of a pod's annotations the plugin reads. Others are not kept, and do not tell classes of pods apart.
class AnnotationReader : public virtual Plugin {
 public:
  // Keys; one that ends with a slash stands for all keys that begin so.
  virtual std::vector<std::string> PodAnnotationsRead() const = 0;
};

// Which kinds of objects, beside nodes and pods, the plugin reads through its Handle. Others are not watched.
class ObjectReader : public virtual Plugin {
 public:
  virtual std::vector<ObjectKind> ObjectsRead() const = 0;
};

// Which events may help a pod that this plugin refused. A plugin that refuses and does not derive from this has its
// pods tried again at every event.
class EnqueueExtensions : public virtual Plugin {
 public:
  virtual std::vector<ClusterEventWithHint> EventsToRegister() const = 0;
};

}  // namespace berth::framework
