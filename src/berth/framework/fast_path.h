// SPDX-License-Identifier: Apache-2.0
// The fast path: optional interfaces of plugins that come with berth. With them the runtime evaluates thousands of rows
// in one call, or only some of the rows, or none. The plain functions of plugin.h are the specification: property tests
// compare both forms, and a plugin without a fast path is correct.
//
// A plugin opts in by deriving from FastFilter instead of FilterPlugin, and so on. The runtime looks for these classes
// when it makes a profile, never in a loop over rows. Within turns only. This header is not installed, so that
// experiments with performance do not affect plugins of authors (docs/adr/0013-two-contracts.md).
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

// Base of the classes below.
class FastPlugin : public virtual Plugin {
 public:
  // True when all answers with Dependency::kNode or kCluster are equal for all pod classes with one
  // PodClass::placement_id. The runtime then keeps them once for all these classes, if every plugin of the profile with
  // kept answers declares this.
  virtual bool ReadsPlacementOnly() const { return false; }
  // Called between scheduling cycles every few minutes: frees data that was kept for later pods and not used since the
  // last call.
  virtual void DropIdle() {}
};

class FastQueueSort : public QueueSortPlugin, public virtual FastPlugin {
 public:
  // True when Less compares priorities and then timestamps. The queue then compares without calling it.
  virtual bool IsPriorityThenTime() const { return false; }
};

class FastFilter : public FilterPlugin, public virtual FastPlugin {
 public:
  // Column form of Filter: replaces verdicts[row] by this plugin's verdict, for each of `rows` where it is kVerdictOk.
  // `rows` are ascending; `verdicts` is indexed by row and has at least row_count() elements.
  virtual void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                          std::span<VerdictId> verdicts, StatusTable& statuses) const;

  // True when the plugin refuses no node and knows that without looking at the rows. Called after PreFilter.
  virtual bool RefusesNone(const Cycle&, const PodInfo&) const { return false; }
};

class FastPreScore : public PreScorePlugin, public virtual FastPlugin {
 public:
  // True when PreScore would return kSkip for this pod, or the pod's normalised score would be 0 on every node,
  // whatever nodes are feasible. Called after PreFilter, before the filters: if no plugin has scores, the runtime need
  // not scan all nodes.
  virtual bool PreScoreSkips(const Cycle&, const PodInfo&) const { return false; }
};

class FastScore : public ScorePlugin, public virtual FastPlugin {
 public:
  // Column form of Score: writes the raw scores of `rows`, which are ascending, to scores[row].
  virtual void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                         std::span<std::int64_t> scores, Status& status) const;

  // True when this pod's normalised score is 0 on every node. For plugins without PreScore; used like PreScoreSkips.
  virtual bool ScoresNothing(const Cycle&, const PodInfo&) const { return false; }
  // The raw score, 0 or more, if it is the same on every node; nullopt: the plugin would have to look at the rows.
  // Called after PreScore, if its result is kept with the class.
  virtual std::optional<std::int64_t> ScoreOfAll(const Cycle&, const PodInfo&) const { return std::nullopt; }
};

// A plugin whose answers depend on the amounts of a node only: on the node table's columns for allocatable, requested
// and nonzero CPU and memory, and for the number of pods. The runtime evaluates many nodes at once with tables that
// have these columns only. In such a table a row may stand for all nodes with equal amounts. A pair of rows may also
// bound a set of nodes: the row in `emptiest` has the largest of their allocatable amounts and the smallest of their
// other amounts, and the row in `fullest` the opposite.
class AmountsPlugin : public virtual Plugin {
 public:
  // Whether this holds for this pod, as long as no amount is unusual (NodeTable::Columns::unusual_count). True promises
  // two things. If `emptiest` and `fullest` get the same verdict, all nodes between them get it. Scores have kNone and
  // are 0 to kNodeScoreMax. Called after PreFilter, and after PreScore if its result is kept with the class.
  virtual bool RestsOnAmounts(const Cycle& cycle, const PodInfo& pod) const = 0;
  // For score plugins: sets bounds[i] to an upper bound of the scores of all nodes between rows i of the two tables.
  // Both have bounds.size() rows.
  virtual void ScoreBounds(const Cycle& /*emptiest*/, const Cycle& /*fullest*/, const PodInfo&,
                           std::span<std::int64_t> bounds) const {
    for (std::int64_t& bound : bounds) bound = kNodeScoreMax;
  }
};

// A plugin whose answers depend on pods anywhere, but which distinguishes nodes by a few numbers only, called marks:
// values of topology labels, or the number of matching pods. Within a cycle, rows with equal marks form a group and get
// the same verdict and score, so that the runtime evaluates one row of each group. These rows are not ascending.
//
// The marks of a row only change when the node table lists the row as changed, or together with Marks::version.
class GroupingPlugin : public virtual Plugin {
 public:
  struct Marks {
    std::size_t width = 0;      // marks per row; 0: all rows are alike
    std::uint64_t version = 0;  // of the marks' meaning: equal versions mean equal marks, for any class
    bool operator==(const Marks&) const = default;
  };
  // kOwn: marks for pods of this class. kShared: marks that depend on node objects only, so that other classes have the
  // same ones.
  enum class MarkScope : std::uint8_t { kOwn, kShared };

  // Own marks. Called after PreFilter. nullopt: nodes cannot be grouped for this pod in this cycle.
  virtual std::optional<Marks> MarksOf(const Cycle& cycle, const PodInfo& pod) const = 0;
  // Shared marks. Appends to `special` the rows where pods matter as well, so that the marks are not enough: each of
  // them is a candidate by itself. nullopt: there are no shared marks, or more than `special_max` special rows;
  // `special` is then undefined.
  virtual std::optional<Marks> SharedMarksOf(const Cycle&, const PodInfo&, std::size_t /*special_max*/,
                                             std::vector<NodeIndex>& /*special*/) const {
    return std::nullopt;
  }
  // Writes the marks of rows[i], `width` numbers, to marks[i * stride].
  virtual void MarkRows(const Cycle& cycle, const PodInfo& pod, MarkScope scope, std::span<const NodeIndex> rows,
                        std::span<std::uint32_t> marks, std::size_t stride) const = 0;
  // Appends rows that the plugin prefers to all others in this cycle. Each is a candidate by itself, whatever its
  // marks. At most some tens, because each costs as much as a group. Called after MarksOf or SharedMarksOf.
  virtual void SingleOut(const Cycle&, const PodInfo&, std::vector<NodeIndex>& /*rows*/) const {}
  // PreScore by groups, for a plugin with PreScore: `feasible` has one row of each group, and sizes[i] is the group's
  // number of rows. After a failure the runtime calls PreScore with all feasible rows.
  virtual Status PreScoreGroups(const Cycle&, const PodInfo&, std::span<const NodeIndex> /*feasible*/,
                                std::span<const std::size_t> /*sizes*/) const {
    return Status::Skip();
  }
};

// What the runtime's FilterRunner offers to PostFilter plugins that preempt.
class FastFilterRunner : public FilterRunner {
 public:
  // A number, if the filters' answers about a node in this cycle and in dry runs depend only on the pod's class, that
  // node with its pods, and the pods nominated for it. A result may then be kept for later cycles of the class with the
  // same number, until one of these changes. nullopt: keep nothing.
  virtual std::optional<std::uint64_t> NodeEpoch() const = 0;

  // Null, unless extenders are asked about this preemption.
  virtual PreemptionReview* Review() const = 0;
};

// The column forms of a plugin that has plain forms only: one call of Filter or Score per row.
void FilterByNode(const FilterPlugin& plugin, const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses);
void ScoreByNode(const ScorePlugin& plugin, const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status);

}  // namespace berth::framework
