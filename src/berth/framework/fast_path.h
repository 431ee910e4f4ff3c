// SPDX-License-Identifier: Apache-2.0
// The fast path: what a plugin that comes with berth may add to the extension points of plugin.h, so that the runtime
// asks it about thousands of rows with one call, about a few rows instead of all, or not at all. The plain functions of
// plugin.h are the specification: property tests hold both forms together, and a plugin without any of this is right.
//
// A plugin opts in by deriving from FastFilter instead of FilterPlugin, and so on. The runtime looks for these classes
// when it makes a profile, never in a loop over rows. Within turns only. Not installed: plugins of one's own see none
// of it, so that an experiment with performance changes this header alone (docs/adr/0013-two-contracts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/framework/node_table.h"
#include "berth/framework/plugin.h"
#include "berth/framework/status_table.h"

namespace berth::framework {

struct PreemptionReview;

// What each of the classes below brings with it.
class FastPlugin : public virtual Plugin {
 public:
  // True when all answers with Dependency::kNode or kCluster are the same for all pod classes of one
  // PodClass::placement_id. The runtime then keeps them once for all of these classes, if all plugins of the profile
  // whose answers are kept say so.
  virtual bool ReadsPlacementOnly() const { return false; }
  // Called between scheduling cycles, some minutes apart: frees what was kept for later pods and not used since the
  // last call.
  virtual void DropIdle() {}
};

class FastQueueSort : public QueueSortPlugin, public virtual FastPlugin {
 public:
  // True when Less compares priorities and, between equals, timestamps. The queue then compares by itself.
  virtual bool IsPriorityThenTime() const { return false; }
};

class FastFilter : public FilterPlugin, public virtual FastPlugin {
 public:
  // Column form of Filter: for each of `rows` where verdicts[row] is kVerdictOk, puts this plugin's verdict there.
  // `rows` ascend; `verdicts` is indexed by row and at least row_count() long.
  virtual void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                          std::span<VerdictId> verdicts, StatusTable& statuses) const;

  // True when the plugin refuses no node to this pod and can tell without a look at the rows. Asked after PreFilter.
  virtual bool RefusesNone(const Cycle&, const PodInfo&) const { return false; }
};

class FastPreScore : public PreScorePlugin, public virtual FastPlugin {
 public:
  // True when, whatever nodes are feasible, PreScore would return kSkip for this pod, or the pod's normalised score is
  // 0 on every node. Asked after PreFilter, before filters: when no plugin has a score of its own to give, the runtime
  // need not scan all nodes.
  virtual bool PreScoreSkips(const Cycle&, const PodInfo&) const { return false; }
};

class FastScore : public ScorePlugin, public virtual FastPlugin {
 public:
  // Column form of Score: puts the raw scores of `rows`, which ascend, into scores[row].
  virtual void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                         std::span<std::int64_t> scores, Status& status) const;

  // True when this pod's normalised score is 0 on every node. For a plugin without PreScore; asked when PreScoreSkips
  // is, and for the same reason.
  virtual bool ScoresNothing(const Cycle&, const PodInfo&) const { return false; }
  // The raw score, 0 or more, that every node has for this pod; nullopt: the plugin cannot tell without a look at the
  // rows. Asked after PreScore, if the result of that is kept with the class.
  virtual std::optional<std::int64_t> ScoreOfAll(const Cycle&, const PodInfo&) const { return std::nullopt; }
};

// A plugin whose answers rest on the amounts of a node alone: on the node table's columns for allocatable, requested
// and nonzero cpu and memory, and for pods and their number. The runtime then asks about many nodes at once, with
// tables that hold these columns only. Such a table has one row for all nodes of equal amounts, or stands for any
// number of nodes with one row of a pair: `emptiest`, with the largest of their allocatable and the smallest of their
// other amounts, and `fullest`, with the opposite.
class AmountsPlugin : public virtual Plugin {
 public:
  // Whether it is so for this pod, as long as no amount is unusual (NodeTable::Columns::unusual_count). True promises:
  // when `emptiest` and `fullest` get the same verdict, all nodes between them get it; and scores have kNone and are 0
  // to kNodeScoreMax. Asked after PreFilter, and after PreScore if the result of that is kept with the class.
  virtual bool RestsOnAmounts(const Cycle& cycle, const PodInfo& pod) const = 0;
  // For a plugin that scores: bounds[i] becomes a score that none of the nodes between rows i of the two tables
  // exceeds. Both have bounds.size() rows.
  virtual void ScoreBounds(const Cycle& /*emptiest*/, const Cycle& /*fullest*/, const PodInfo&,
                           std::span<std::int64_t> bounds) const {
    for (std::int64_t& bound : bounds) bound = kNodeScoreMax;
  }
};

// A plugin whose answers rest on pods anywhere, but which tells nodes apart by a few numbers only (marks), such as the
// values of topology labels and the number of matching pods. Within a cycle, rows with equal marks form a group and get
// the same verdict and score: the runtime asks about one row of each group. These rows do not ascend.
//
// The marks of a row change only when the table says that the row has changed, or with Marks::version.
class GroupingPlugin : public virtual Plugin {
 public:
  struct Marks {
    std::size_t width = 0;      // numbers a row; 0: all rows are alike
    std::uint64_t version = 0;  // of the numbers' meaning: equal versions mean equal marks, whatever the class
    bool operator==(const Marks&) const = default;
  };
  // Marks for pods of this class, or marks that other classes have as well and that rest on node objects alone.
  enum class MarkScope : std::uint8_t { kOwn, kShared };

  // Own marks. Asked after PreFilter. nullopt: this pod's nodes cannot be grouped in this cycle.
  virtual std::optional<Marks> MarksOf(const Cycle& cycle, const PodInfo& pod) const = 0;
  // Shared marks. Appends to `special` the rows where pods matter as well, so that the marks do not tell all: each of
  // these is a candidate of its own. nullopt: there are no shared marks, or more than `special_max` special rows;
  // `special` is then undefined.
  virtual std::optional<Marks> SharedMarksOf(const Cycle&, const PodInfo&, std::size_t /*special_max*/,
                                             std::vector<NodeIndex>& /*special*/) const {
    return std::nullopt;
  }
  // Puts the marks of rows[i] at marks[i * stride], `width` numbers.
  virtual void MarkRows(const Cycle& cycle, const PodInfo& pod, MarkScope scope, std::span<const NodeIndex> rows,
                        std::span<std::uint32_t> marks, std::size_t stride) const = 0;
  // Appends rows that the plugin prefers to all others in this cycle: each is a candidate of its own, whatever its
  // marks. A few tens at most, for each costs as much as a group. Asked after MarksOf or SharedMarksOf.
  virtual void SingleOut(const Cycle&, const PodInfo&, std::vector<NodeIndex>& /*rows*/) const {}
  // PreScore by groups, for a plugin that has PreScore: `feasible` holds one row of each group, and the group has
  // sizes[i] rows. After a failure the runtime asks PreScore, with all feasible rows.
  virtual Status PreScoreGroups(const Cycle&, const PodInfo&, std::span<const NodeIndex> /*feasible*/,
                                std::span<const std::size_t> /*sizes*/) const {
    return Status::Skip();
  }
};

// What the runtime's FilterRunner adds for a PostFilter plugin that preempts.
class FastFilterRunner : public FilterRunner {
 public:
  // A number when the filters' answers about a node, in this cycle and in dry runs, rest only on the pod's class, that
  // node with its pods, and the pods nominated for it. A result may then be kept for later cycles of the class that
  // give the same number, until one of these changes. nullopt: keep nothing.
  virtual std::optional<std::uint64_t> NodeEpoch() const = 0;

  // Not null: extenders have a say about this preemption.
  virtual PreemptionReview* Review() const = 0;
};

// The column forms of a plugin that has plain ones only: one call of Filter or Score a row.
void FilterByNode(const FilterPlugin& plugin, const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses);
void ScoreByNode(const ScorePlugin& plugin, const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status);

}  // namespace berth::framework
