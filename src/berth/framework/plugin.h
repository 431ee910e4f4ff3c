// The Scheduling Framework: a plugin implements one or more of the extension points below. Everything here is called on
// the core's thread and must not block, unless it says otherwise. Order, weights and arguments come from the profile.
// A plugin that throws is caught by the runtime and counts as kError with its name.
//
// Filter and Score come in two forms. The plain form answers for one node and is the specification. The column form
// answers for many rows of the node table at once; where a plugin does not override it, it calls the plain form.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/framework/cluster_event.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/node_table.h"
#include "berth/framework/objects.h"
#include "berth/framework/operation.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth::framework {

inline constexpr std::int64_t kNodeScoreMax = 100;

// What one scheduling cycle offers to its plugins.
struct Cycle {
  const NodeTable& nodes;
  CycleState& state;
  std::uint64_t seed = 0;  // of this cycle; the only source of chance
  Time now{};
  bool with_detail = false;  // PostFilter: somebody wants to see what else could have been chosen
};

// What an answer about a node rests on, beside the pod's class: it decides how long the runtime may keep it.
enum class Dependency : std::uint8_t {
  kNode,     // that node alone: evaluated again when its row changes
  kCluster,  // all node objects: evaluated again when one changes
  kPods,     // pods anywhere: never kept
  kCycle,    // this very cycle (chance, turns, data from outside): never kept
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view Name() const = 0;
  // Grows whenever something else than nodes and pods has changed what the plugin said for Dependency::kNode or
  // kCluster: the runtime then keeps none of it. Asked in every cycle.
  virtual std::uint64_t Epoch() const { return 0; }
  // True when what the plugin says for Dependency::kNode or kCluster is the same for all pod classes of one
  // PodClass::placement_id: the runtime then keeps it once for all of them.
  virtual bool ReadsPlacementOnly() const { return false; }
  // Called between scheduling cycles, when minutes have gone by: what the plugin keeps for later pods and was not used
  // since the last call may go.
  virtual void DropIdle() {}
};

// Whether the pod may enter activeQ. Any status but success gates it.
class PreEnqueuePlugin : public virtual Plugin {
 public:
  virtual Status PreEnqueue(const PodInfo& pod) const = 0;
};

// A pod in the queue, as QueueSort compares it.
struct QueuedPod {
  const PodInfo& pod;
  Time timestamp;
};

class QueueSortPlugin : public virtual Plugin {
 public:
  // True when `a` is to be scheduled before `b`. A strict weak order.
  virtual bool Less(const QueuedPod& a, const QueuedPod& b) const = 0;
  // True when Less is: of higher priority or, between equals, of the earlier timestamp. The queue then need not ask.
  virtual bool IsPriorityThenTime() const { return false; }
};

struct PreFilterResult {
  Status status;
  // Nodes to which the search is narrowed, by name; absent: all nodes.
  std::optional<std::set<std::string>> node_names;
};

class PreFilterPlugin : public virtual Plugin {
 public:
  // What PreFilter writes and returns rests on the pod's class alone (kNode: it is then called once a class), or on
  // more.
  virtual Dependency PreFilterDependsOn() const { return Dependency::kCycle; }
  virtual PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const = 0;

  // PreFilterExtensions: called on a cloned state when `other` comes to or leaves `node`.
  virtual bool HasPreFilterExtensions() const { return false; }
  virtual Status AddPod(const Cycle&, const PodInfo& /*pod*/, const PodInfo& /*other*/, const NodeInfo&) const {
    return {};
  }
  virtual Status RemovePod(const Cycle&, const PodInfo& /*pod*/, const PodInfo& /*other*/, const NodeInfo&) const {
    return {};
  }
};

// Verdicts about rows: 0 is success, anything else an entry of the StatusTable.
using VerdictId = std::uint32_t;
inline constexpr VerdictId kVerdictOk = 0;

// Distinct refusals, each once, so that a verdict is a number. Belongs to one evaluation (one pod class).
class StatusTable {
 public:
  StatusTable();
  // `status` must not be success. The name and position of the plugin that is being asked go with it.
  VerdictId Intern(const Status& status);
  const Status& Get(VerdictId id) const { return entries_[id].status; }
  // Position of the refusing plugin in the profile's Filter order.
  int Position(VerdictId id) const { return entries_[id].position; }
  std::size_t size() const { return entries_.size(); }
  // For the runtime: the plugin whose verdicts come next.
  void SetPlugin(std::string_view name, int position);

 private:
  struct Entry {
    Status status;
    int position = 0;
  };
  std::vector<Entry> entries_;
  std::string plugin_;
  int position_ = 0;
};

class FilterPlugin : public virtual Plugin {
 public:
  virtual Dependency FilterDependsOn() const { return Dependency::kCycle; }

  // Success, kUnschedulable, kUnschedulableAndUnresolvable; anything else ends the cycle with an error.
  virtual Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const = 0;

  // Column form: for each of `rows`, which ascend, where verdicts[row] is kVerdictOk, puts this plugin's verdict there.
  // `verdicts` is indexed by row and at least nodes.row_count() long.
  virtual void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                          std::span<VerdictId> verdicts, StatusTable& statuses) const;

  // True when the plugin refuses no node to this pod, as it can tell without a look at the rows. Asked after PreFilter.
  virtual bool RefusesNone(const Cycle&, const PodInfo&) const { return false; }
};

// How raw scores become 0..100. Upstream: helper.DefaultNormalizeScore.
enum class Normalization : std::uint8_t {
  kNone,        // raw scores are 0..100 already
  kMax,         // score * 100 / max; all 0 when max is 0
  kMaxReverse,  // 100 - score * 100 / max; all 100 when max is 0
  // For policies that decide, and leave it to others to break ties: nodes of the lowest raw score get 100, the others
  // 99 at most and the less the higher theirs is, those of kNoRawScore 0 (100 when there are no others).
  kLowestFirst,
  kCustom,  // NormalizeScore
};

// Raw scores from 0 to this one are normalised without overflow, and to 0..100.
inline constexpr std::int64_t kRawScoreMax = INT64_MAX / kNodeScoreMax;
// With kLowestFirst: the node comes after all that have a raw score.
inline constexpr std::int64_t kNoRawScore = kRawScoreMax;

struct NodeScore {
  NodeIndex row = kNoNode;
  std::int64_t score = 0;
};

class PreScorePlugin : public virtual Plugin {
 public:
  virtual Dependency PreScoreDependsOn() const { return Dependency::kCycle; }
  // True when PreScore would return kSkip for this pod whatever the feasible nodes are. Asked after PreFilter, before
  // filters; a plugin that can tell cheaply spares the runtime the scan of all nodes.
  virtual bool PreScoreSkips(const Cycle&, const PodInfo&) const { return false; }
  // `feasible` are the rows that passed every filter; empty and of no meaning where PreScoreDependsOn() is kNode.
  virtual Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const = 0;
};

class ScorePlugin : public virtual Plugin {
 public:
  virtual Dependency ScoreDependsOn() const { return Dependency::kCycle; }
  virtual Normalization ScoreNormalization() const { return Normalization::kNone; }
  // True when this pod's score, normalised, is 0 on every node. Asked as PreScoreSkips is, and for the same reason; for
  // plugins without PreScore.
  virtual bool ScoresNothing(const Cycle&, const PodInfo&) const { return false; }
  // The raw score, 0 or more, that every node has for this pod; nullopt: the plugin cannot tell without a look at the
  // rows. Asked after PreScore, where that is kept with the class.
  virtual std::optional<std::int64_t> ScoreOfAll(const Cycle&, const PodInfo&) const { return std::nullopt; }

  // The raw score of a feasible node. The status is an out-parameter because it is success but for broken plugins.
  virtual std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex row, const NodeInfo& node,
                             Status& status) const = 0;

  // Column form: raw scores of `rows`, which ascend, into scores[row].
  virtual void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                         std::span<std::int64_t> scores, Status& status) const;

  // Only with kCustom: turns raw scores of all feasible nodes into 0..100.
  virtual Status NormalizeScore(const Cycle&, const PodInfo&, std::span<NodeScore>) const { return {}; }
};

// A plugin whose answers rest on the amounts of a node: on the columns of the node table for allocatable, requested and
// nonzero cpu and memory, for pods and their number, and nothing else. The runtime then asks about many nodes at once:
// in tables that have these columns alone, with one row for all nodes of equal amounts, or with two rows for any number
// of nodes, `emptiest` and `fullest`. The first has the largest of their allocatable and the smallest of their other
// amounts, the second the opposite.
class AmountsPlugin : public virtual Plugin {
 public:
  // Whether it is so for this pod, as long as no amount is unusual (NodeTable::Columns::unusual_count). A filter's
  // verdict of nodes whose emptiest and fullest have the same one is then that one, and scores are normalised with
  // kNone and 0 to kNodeScoreMax. Asked after PreFilter, and after PreScore where that is kept with the class.
  virtual bool RestsOnAmounts(const Cycle& cycle, const PodInfo& pod) const = 0;
  // For a plugin that scores: bounds[i] becomes a score that none of the nodes between rows i of the two exceeds. Both
  // have bounds.size() rows.
  virtual void ScoreBounds(const Cycle& /*emptiest*/, const Cycle& /*fullest*/, const PodInfo&,
                           std::span<std::int64_t> bounds) const {
    for (std::int64_t& bound : bounds) bound = kNodeScoreMax;
  }
};

// A plugin whose answers rest on pods anywhere, but which for the pods of one class sees of a node a few numbers only
// (marks), such as the values of its topology labels and the number of matching pods on it: within a cycle rows of
// equal marks get the same verdict and score. The runtime then asks about one row of each group instead of all rows,
// and these rows do not ascend.
//
// The marks of a row may change only when the table says that the row has changed, or with Marks::version.
class GroupingPlugin : public virtual Plugin {
 public:
  struct Marks {
    std::size_t width = 0;      // numbers a row; 0: all rows are alike
    std::uint64_t version = 0;  // of the numbers' meaning: equal versions mean equal marks whatever the class
    bool operator==(const Marks&) const = default;
  };
  // Marks of the class, or marks that other classes have as well: those rest on node objects alone.
  enum class MarkKind : std::uint8_t { kOwn, kShared };

  // Asked after PreFilter. nullopt: this pod's nodes cannot be grouped in this cycle.
  virtual std::optional<Marks> MarksOf(const Cycle& cycle, const PodInfo& pod) const = 0;
  // Shared marks: those that rest on node objects alone. Appends to `special` the rows about which they do
  // not tell all, because pods there matter; each of these is a group of its own. nullopt: there are none, or more than
  // `special_max` special rows; `special` is then undefined.
  virtual std::optional<Marks> SharedMarksOf(const Cycle&, const PodInfo&, std::size_t /*special_max*/,
                                             std::vector<NodeIndex>& /*special*/) const {
    return std::nullopt;
  }
  // Puts the marks of rows[i] at marks[i * stride], `width` numbers.
  virtual void MarkRows(const Cycle& cycle, const PodInfo& pod, MarkKind kind, std::span<const NodeIndex> rows,
                        std::span<std::uint32_t> marks, std::size_t stride) const = 0;
  // Appends rows that are a group of their own in this cycle, whatever their marks: those that the plugin would rather
  // have than any other. A few tens at most, for each costs as much as a group. Asked after MarksOf or SharedMarksOf.
  virtual void SingleOut(const Cycle&, const PodInfo&, std::vector<NodeIndex>& /*rows*/) const {}
  // PreScore, for a plugin that has it: `feasible` holds one row of each group, and the group has sizes[i] rows. A
  // failure makes the runtime ask PreScore instead, with all feasible rows.
  virtual Status PreScoreGroups(const Cycle&, const PodInfo&, std::span<const NodeIndex> /*feasible*/,
                                std::span<const std::size_t> /*sizes*/) const {
    return Status::Skip();
  }
};

// What the filters said about every node, for PostFilter.
class NodeStatuses {
 public:
  virtual ~NodeStatuses() = default;
  // Success for a feasible node; for nodes outside a narrowed search what PreFilter implied for them.
  virtual Status Get(NodeIndex row) const = 0;
};

// Asks all filters again about one node with other pods on it (preemption's dry run), nominated pods included.
class FilterRunner {
 public:
  virtual ~FilterRunner() = default;
  // `state` must be a clone that AddPod and RemovePod have kept up with `node`.
  virtual Status RunFiltersWithNominatedPods(CycleState& state, const PodInfo& pod, const NodeInfo& node) = 0;
  virtual Status RunRemovePod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) = 0;
  virtual Status RunAddPod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) = 0;
  // A number if what the filters say of a node, in this cycle and in dry runs, rests on nothing but the pod's class,
  // that node with its pods and the pods nominated for it: then it holds for later cycles of the class that give the
  // same number, until one of these changes.
  virtual std::optional<std::uint64_t> NodeEpoch() const { return std::nullopt; }
};

// What preemption found, for explain and for tests against kube-scheduler.
struct PreemptionReport {
  struct Candidate {
    NodeIndex row = kNoNode;
    std::vector<PodInfoPtr> victims;  // most important first
    std::int64_t pdb_violations = 0;
  };
  NodeIndex chosen = kNoNode;
  // With Cycle::with_detail all of them, else the chosen one at least.
  std::vector<Candidate> candidates;
  std::vector<NodeIndex> acceptable;  // those that no criterion tells apart from the chosen one, ascending
  std::vector<PodInfoPtr> cleared_nominations;
};

struct PostFilterResult {
  Status status;  // success: the pod was helped. kUnschedulable: the next PostFilter plugin is asked
  // Whether the pod's nomination is set anew (an empty name clears it) or left alone.
  bool has_nomination = false;
  std::string nominated_node_name;
  std::shared_ptr<const PreemptionReport> preemption;  // null: none was tried
};

class PostFilterPlugin : public virtual Plugin {
 public:
  // Called only when no node was feasible, also after a PreFilter refusal.
  virtual PostFilterResult PostFilter(const Cycle& cycle, const PodInfo& pod, const NodeStatuses& statuses,
                                      FilterRunner& filters) const = 0;
};

class ReservePlugin : public virtual Plugin {
 public:
  virtual Status Reserve(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) = 0;
  // Idempotent; also called when Reserve of this plugin was never reached.
  virtual void Unreserve(const PodInfo& pod, std::string_view node_name) = 0;
};

struct PermitResult {
  Status status;        // success, kWait, or a refusal
  Duration timeout{0};  // of kWait; capped at 15 minutes
};

class PermitPlugin : public virtual Plugin {
 public:
  virtual PermitResult Permit(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) = 0;
};

// The binding cycle. `pod.node_name` is the chosen node. These plugins have no Cycle: its tables may have changed
// since.
class PreBindPlugin : public virtual Plugin {
 public:
  // kSkip: PreBind has nothing to do for this pod.
  virtual Status PreBindPreFlight(const PodInfo&) { return Status::Skip(); }
  virtual Operation PreBind(const PodInfo& pod) = 0;
};

class BindPlugin : public virtual Plugin {
 public:
  virtual Operation Bind(const PodInfo& pod) = 0;
};

class PostBindPlugin : public virtual Plugin {
 public:
  virtual Operation PostBind(const PodInfo& pod) = 0;
};

// Which of a pod's annotations the plugin reads (PodClass::annotations): the others tell no classes apart, and are not
// kept.
class AnnotationReader : public virtual Plugin {
 public:
  // Keys, and prefixes of keys: these end with a slash, as no key does.
  virtual std::vector<std::string> PodAnnotationsRead() const = 0;
};

// Which kinds of objects, beside nodes and pods, the plugin reads through its Handle.
class ObjectReader : public virtual Plugin {
 public:
  virtual std::vector<ObjectKind> ObjectsRead() const = 0;
};

// Which events may make a pod schedulable that this plugin refused. A plugin that refuses and has none of this is asked
// again at every event.
class EnqueueExtensions : public virtual Plugin {
 public:
  virtual std::vector<ClusterEventWithHint> EventsToRegister() const = 0;
};

}  // namespace berth::framework
