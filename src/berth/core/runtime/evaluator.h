// Evaluator: finds the best node for one pod: PreFilter, Filter, PreScore, Score and the choice, over every node. Holds
// what it may keep between the pods of a class. Single-threaded: the core's thread; the outcome is valid until the next
// Evaluate().
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "berth/base/hash_map.h"
#include "berth/base/lru_cache.h"
#include "berth/core/runtime/block_choice.h"
#include "berth/core/runtime/extender_say.h"
#include "berth/core/runtime/kept_evaluation.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/framework/nominated_rows.h"
#include "berth/framework/plugin.h"

namespace berth::runtime {

// How plugins are asked. All three give the same answers.
enum class Form : std::uint8_t {
  kPlain,   // node by node: the specification
  kColumn,  // column form, everything anew for each pod
  kReuse,   // column form, keeping what a class evaluated before: what production uses
};

struct EvaluatorOptions {
  Form form = Form::kReuse;
  // Keeps every plugin's scores and the whole set of best nodes in the outcome, for explain and conformance.
  bool with_detail = false;
  // Bounds on what is kept between the pods of a class, all classes together: so much, and so much more for each row of
  // the node table.
  std::size_t class_bytes_max = std::size_t{64} << 20;
  std::size_t class_bytes_per_row_max = std::size_t{24} << 10;
  // Tables with fewer rows are scanned for pods that are the first of their kind, instead of kept in blocks.
  std::size_t block_rows_min = 256;
};

enum class Result : std::uint8_t {
  kFeasible,
  kRefused,  // no node is feasible
  kNoNodes,  // there is no node at all
  kError,
};

struct Outcome {
  Result result = Result::kError;
  std::string error;  // kError

  framework::NodeIndex node = framework::kNoNode;  // kFeasible
  std::int64_t total = 0;                          // of that node; 0 when it was the only one and so not scored
  std::size_t node_count = 0;                      // all nodes
  std::size_t feasible_count = 0;
  bool is_scored = false;

  framework::Status pre_filter_status;  // the refusal of a PreFilter plugin, if one refused the pod
  std::optional<std::set<std::string>> narrowed_to;
  std::vector<std::string> narrowing_plugins;   // sorted
  std::set<std::string> unschedulable_plugins;  // kRefused: who has to change their mind
  bool is_nominated_node = false;               // the pod's nominated node passed, alone
  framework::Status nominated_status;           // what refused the nominated node

  // With detail:
  std::vector<framework::NodeIndex> feasible;
  std::vector<framework::NodeIndex> best;
  std::vector<std::pair<std::string_view, std::vector<std::int64_t>>> scores;  // by plugin, parallel to `feasible`
  std::vector<std::int64_t> totals;                                            // parallel to `feasible`
  std::vector<framework::NodeIndex> evaluated;                                 // rows that were filtered
};

class Evaluator final : public framework::FilterRunner, private framework::NodeStatuses {
 public:
  // `plugins` must outlive the evaluator.
  Evaluator(const ProfilePlugins& plugins, EvaluatorOptions options);

  // `nominated` may be null, and must live as long as the outcome is used; so must `extenders`, which is null for a pod
  // that no extender is asked about.
  const Outcome& Evaluate(const framework::PodInfoPtr& pod, const framework::NodeTable& nodes,
                          const framework::NominatedRows* nominated, std::uint64_t seed, Time now,
                          const ExtenderSay* extenders = nullptr);

  // After an outcome of kRefused: asks the PostFilter plugins. Their reasons become part of Message().
  framework::PostFilterResult RunPostFilter();

  // After kRefused or kNoNodes: upstream's FitError text, with what PostFilter said if it was asked.
  std::string Message() const;

  // After Evaluate: what the filters said about a row; success for a feasible one.
  framework::Status StatusOf(framework::NodeIndex row) const { return Get(row); }
  // How many nodes were refused for each status, for the decision log.
  std::vector<std::pair<framework::Status, std::size_t>> RefusalCounts() const;

  // The state that the plugins of this cycle wrote.
  framework::Cycle cycle() { return {*nodes_, state_, seed_, now_}; }

  // FilterRunner, for the pod of the last Evaluate().
  framework::Status RunFiltersWithNominatedPods(framework::CycleState& state, const framework::PodInfo& pod,
                                                const framework::NodeInfo& node) override;
  framework::Status RunRemovePod(framework::CycleState& state, const framework::PodInfo& pod,
                                 const framework::PodInfo& other, const framework::NodeInfo& node) override;
  framework::Status RunAddPod(framework::CycleState& state, const framework::PodInfo& pod,
                              const framework::PodInfo& other, const framework::NodeInfo& node) override;
  std::optional<std::uint64_t> NodeEpoch() const override;

  // Between cycles, when some minutes have gone by: drops what no pod has used since the last call, of its own and of
  // the plugins. Nothing may be asked about the last outcome any more.
  void DropIdle();

  // How many placements it keeps verdicts and scores for.
  std::size_t kept_count() const { return evaluations_.size(); }
  // From how many orders of rows it chooses by groups.
  std::size_t order_count() const { return orders_.size(); }
  // How many pods it found a node for by blocks.
  std::uint64_t block_choice_count() const { return block_choice_count_; }

 private:
  using NodeIndex = framework::NodeIndex;
  using VerdictId = framework::VerdictId;

  static constexpr std::size_t kStatusesMax = 4096;
  static constexpr std::size_t kSeenMax = 65536;
  // Rows that all plugins are asked about before the next rows, so that what they read and write stays in the cache.
  static constexpr std::size_t kRowsAtOnce = 4096;
  // Asking about groups must be worth it: beyond these the rows are asked one by one, for a while.
  static constexpr std::size_t kGroupsMin = 64;
  static constexpr std::size_t kRowsPerGroup = 8;
  static constexpr std::uint32_t kCyclesToWait = 256;
  // Rows that the shared marks do not tell all about: so many at most, and so many anyway.
  static constexpr std::size_t kSpecialMax = 4096;
  static constexpr std::size_t kSpecialAnyway = 64;
  static constexpr std::size_t kOrderIdsMax = 16384;

  // What a plugin that the class cannot keep is as a GroupingPlugin; null: it is none.
  using Groupers = std::vector<const framework::GroupingPlugin*>;
  using MarkKind = framework::GroupingPlugin::MarkKind;

  // Rows that plugins cannot tell apart: those of one group of order_ that are not special, or one special row.
  struct Candidate {
    NodeIndex some_row = framework::kNoNode;
    std::size_t size = 0;
    TotalsOrder::GroupId group = TotalsOrder::kNoGroup;
    TotalsOrder::LevelId level = TotalsOrder::kNoLevel;  // the best
    std::size_t best_count = 0;                          // rows there
    bool is_special = false;
    VerdictId verdict = framework::kVerdictOk;
  };

  std::uint64_t KeyOf(const framework::PodInfo& pod);
  bool IsFirstSight(std::uint64_t key);
  std::optional<std::uint64_t> EpochOfAll(std::string* error) const;
  KeptEvaluation& EvaluationFor(const framework::PodInfo& pod, std::uint64_t epoch);
  void BoundKept();

  void FindNode();
  bool RunPreFilter();
  void PlanFilters();
  bool PlanKept();
  void UpdateKept();
  void KeepRows(std::span<const NodeIndex> rows);
  bool KeepScores(std::span<const NodeIndex> rows);
  void FilterRowsInto(std::size_t filter, std::span<const NodeIndex> rows, std::span<VerdictId> verdicts);
  bool EvaluateRows(std::span<const NodeIndex> rows);
  framework::Status RunFilters(framework::CycleState& state, const framework::PodInfo& pod,
                               const framework::NodeInfo& node) const;
  // With those of `nominated` that the pod has to respect, and without.
  framework::Status RunFiltersTwice(framework::CycleState& state, const framework::PodInfo& pod,
                                    const framework::NodeInfo& node, std::span<const framework::PodInfoPtr> nominated);
  static std::string FilterErrorText(const framework::Status& status);
  void PlanScores();
  bool ScoreFeasible();
  bool ScoreCandidates();
  bool HasErrorCount() const;

  // The choice by blocks of similar rows, for pods that are the first of their kind: false when that cannot be.
  bool ChooseByBlocks();
  bool PlanBlocks();
  bool FilterOddRows();
  bool ScoreOddRows();

  // The choice by groups of rows (grouped_choice.cc). Each is false when it cannot tell, and has then changed nothing.
  bool CanChooseFromKept() const;
  bool ChooseFromKept();
  bool ChooseByScan();
  bool ChooseByGroups();
  bool PlanGroups();
  bool PlanMarks();
  bool CollectMarks(MarkKind kind, std::size_t special_max);
  std::uint64_t OrderId();
  std::size_t SpecialMax(std::uint64_t own_id);
  bool UpdateOrder();
  void PutRows(std::span<const NodeIndex> rows);
  void CollectCandidates();
  void AddSpecialCandidates();
  bool FilterCandidates();
  bool PreScoreCandidates();
  void ChooseAmongCandidates();
  NodeIndex NthBest(const Candidate& candidate, std::size_t n) const;
  bool IsSpecial(NodeIndex row) const { return row < special_in_.size() && special_in_[row] == special_cycle_; }
  bool AddDetail(std::span<const NodeIndex> rows);

  void ApplyExtenderFilters();
  void AddExtenderScores();

  bool AddScores(std::size_t score);
  void Normalize(framework::Normalization normalization);
  void ChooseFromTotals();
  framework::Status ScoreRowsInto(std::size_t score, std::span<const NodeIndex> rows, std::span<std::int64_t> scores);
  bool RunPreScore();
  bool Fail(std::string error);
  bool FindErrorVerdict(std::span<const NodeIndex> rows);
  std::span<const framework::PodInfoPtr> PodsNominatedFor(NodeIndex row) const;
  bool TryNominatedNode(NodeIndex row);
  void PlanNominations();
  std::optional<std::span<const NodeIndex>> ChangedSince(std::uint64_t version, std::uint64_t nominated_version);
  void FoldNominations(std::span<const NodeIndex> rows);
  VerdictId VerdictOf(const framework::Status& status);
  void CollectRefusals(std::span<const NodeIndex> rows);

  framework::Status Get(NodeIndex row) const override;

  const ProfilePlugins& plugins_;
  const EvaluatorOptions options_;
  // By plugin: its answers are kept with the class, instead of being asked for in each cycle.
  std::vector<bool> is_pre_filter_kept_;
  std::vector<bool> is_filter_kept_;
  std::vector<bool> is_pre_score_kept_;
  std::vector<bool> is_score_kept_;
  // By plugin: what it said when the evaluator was made.
  std::vector<bool> has_extensions_;
  std::vector<framework::Dependency> filter_depends_on_;
  std::vector<framework::Dependency> score_depends_on_;
  std::vector<framework::Normalization> normalization_;
  std::vector<std::size_t> pre_filter_of_;                      // by filter: index of its PreFilter; past the end: none
  std::vector<const framework::PreScorePlugin*> pre_score_of_;  // by score plugin; null: it has none
  Groupers filter_grouper_;                                     // by filter
  Groupers score_grouper_;                                      // by score plugin
  bool shares_placements_ = true;                               // what is kept holds for all classes of a placement

  std::vector<const framework::AmountsPlugin*> filter_amounts_;  // by filter; null: it is none
  std::vector<const framework::AmountsPlugin*> score_amounts_;   // by score plugin

  // Kept between pods.
  BlockChoice block_choice_;
  std::uint64_t block_choice_count_ = 0;
  LruCache<KeptEvaluation> evaluations_;  // by KeyOf()
  LruCache<KeptOrder> orders_;            // by OrderId()
  // Of the last pod that was the first of its kind, and in forms that keep nothing. What is never met again takes no
  // room of its own.
  KeptEvaluation fresh_;
  std::uint64_t fresh_key_ = 0;
  std::uint64_t key_ = 0;                    // of this cycle's kept_
  absl::flat_hash_set<std::uint64_t> seen_;  // kinds that were met once, some of them
  std::uint64_t rebuild_count_ = 0;
  absl::flat_hash_map<std::pair<std::uint64_t, std::int32_t>, std::uint64_t> nominated_keys_;
  std::uint64_t nominated_key_count_ = 0;
  StringHashMap<std::uint64_t> order_ids_;  // ids in orders_, by what the order rests on; some
  std::uint64_t order_id_count_ = 0;
  // Of the table, when an order of own marks could last have been used; some.
  absl::flat_hash_map<std::uint64_t, std::uint64_t> order_versions_;

  // This cycle.
  framework::PodInfoPtr pod_;
  const framework::NodeTable* nodes_ = nullptr;
  const framework::NominatedRows* nominated_ = nullptr;
  const ExtenderSay* extenders_ = nullptr;
  bool do_nominations_matter_ = false;  // other pods' nominations, to this pod
  std::uint64_t seed_ = 0;
  Time now_{};
  framework::CycleState state_;
  KeptEvaluation* kept_ = nullptr;
  bool is_kept_fresh_ = false;          // kept_ is fresh_
  const TotalsOrder* order_ = nullptr;  // null: this cycle's choice was not made by groups
  bool is_chosen_by_blocks_ = false;
  BlockChoice::Question block_question_;
  // What all nodes have the same of: the raw scores of columns, parallel to kept_->columns, and their sum with others.
  std::vector<std::int64_t> block_raw_scores_;
  std::int64_t block_constant_ = 0;
  std::vector<bool> is_filter_active_;
  std::vector<bool> is_pre_filter_skipped_;
  std::vector<const framework::PreFilterPlugin*> extensions_;  // those to tell of pods that come and go
  std::vector<bool> is_score_active_;
  std::vector<bool> is_score_idle_;  // says nothing about this pod
  bool has_cycle_scores_ = false;    // one that is neither kept nor idle
  bool has_cycle_filters_ = false;
  bool are_scores_kept_ = false;  // the kept scores are there and up to date
  Outcome outcome_;
  framework::Status absent_status_;  // of nodes outside the narrowed search, or of all when PreFilter refused
  std::string post_filter_message_;
  // Verdicts of this cycle where they differ from the kept ones (is_cycle_verdict_), by row.
  bool uses_cycle_verdicts_ = false;
  std::vector<VerdictId> cycle_verdicts_;
  std::vector<VerdictId> scratch_verdicts_;
  std::vector<std::int64_t> scratch_scores_;
  std::vector<NodeIndex> scratch_rows_;
  std::vector<NodeIndex> scratch_live_;
  std::vector<NodeIndex> scratch_changed_;
  Groupers groupers_;
  MarkKind mark_kind_ = MarkKind::kShared;
  std::vector<framework::GroupingPlugin::Marks> group_marks_;  // parallel to groupers_
  std::size_t marks_width_ = 0;
  std::vector<NodeIndex> special_rows_;    // some may be there twice
  std::vector<std::uint32_t> special_in_;  // by row: the cycle in which it was special last
  std::uint32_t special_cycle_ = 0;
  std::vector<std::uint32_t> specials_of_level_, specials_of_group_;  // of order_; all 0 between cycles
  std::string scratch_key_;
  std::vector<std::uint32_t> scratch_marks_;
  KeptOrder* kept_order_ = nullptr;
  std::vector<Candidate> candidates_;
  std::vector<VerdictId> group_verdicts_;         // by group of order_
  std::vector<std::size_t> feasible_candidates_;  // parallel to feasible_
  std::vector<std::size_t> feasible_sizes_;       // the same
  std::vector<NodeIndex> feasible_;
  std::vector<std::int64_t> totals_;      // parallel to feasible_, as the next two are
  std::vector<std::int64_t> normalized_;  // of one score plugin
  std::vector<framework::NodeScore> custom_scores_;
};

}  // namespace berth::runtime
