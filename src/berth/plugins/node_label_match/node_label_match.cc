// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_label_match/node_label_match.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using framework::ValueId;

constexpr std::string_view kPreFilterKey = "PreFilterNodeLabelMatch";
constexpr std::string_view kPreScoreKey = "PreScoreNodeLabelMatch";

struct Wishes final : StateData {
  explicit Wishes(std::vector<LabelWish> what) : list(std::move(what)) {}
  const std::vector<LabelWish> list;
};

// The pod's wishes: those that PreFilter or PreScore put into the state under `key` or, where the profile leaves these
// points out, those that are read now.
class WishesRef {
 public:
  WishesRef(const Cycle& cycle, std::string_view key, const std::vector<LabelRule>& rules, const PodInfo& pod,
            Strictness strictness)
      : state_(cycle.state.Read<Wishes>(key)) {
    if (state_ == nullptr) own_ = WishesOf(rules, pod.pod_class->annotations, strictness);
  }
  const std::vector<LabelWish>& list() const { return state_ == nullptr ? own_ : state_->list; }

 private:
  const Wishes* state_;
  std::vector<LabelWish> own_;
};

// A wish and the column of its label. Valid until the table changes.
struct BoundWish {
  BoundWish(const LabelWish& asked, const NodeTable& nodes)
      : wish(&asked), column(nodes.LabelColumn(asked.label)), value(nodes.FindValue(asked.value)) {}
  bool IsMetBy(NodeIndex row) const { return value && column[row] == *value; }

  const LabelWish* wish;
  std::span<const ValueId> column;
  std::optional<ValueId> value;
};

std::vector<BoundWish> Bind(const std::vector<LabelWish>& wishes, const NodeTable& nodes) {
  std::vector<BoundWish> bound;
  bound.reserve(wishes.size());
  for (const LabelWish& wish : wishes) bound.emplace_back(wish, nodes);
  return bound;
}

// A value that no label can have is not repeated in the reason: it may be long and hold anything.
Status Refusal(const LabelWish& wish) {
  std::string reason = "node(s) didn't match the pod's annotation " + wish.annotation;
  reason += api::IsLabelValue(wish.value) ? "=" + wish.value : ", whose value is none that a label can have";
  if (wish.label != wish.annotation) reason += " in label " + wish.label;
  return Status::UnschedulableAndUnresolvable(std::move(reason));
}

bool MeetsAll(const std::vector<LabelWish>& wishes, const api::Node& node) {
  return std::all_of(wishes.begin(), wishes.end(),
                     [&node](const LabelWish& wish) { return wish.IsMetBy(node.metadata.labels); });
}

class NodeLabelMatch final : public PreFilterPlugin,
                             public FastFilter,
                             public PreScorePlugin,
                             public FastScore,
                             public AnnotationReader,
                             public EnqueueExtensions {
 public:
  explicit NodeLabelMatch(std::vector<LabelRule> rules) : rules_(std::move(rules)) {}

  std::string_view Name() const override { return names::kNodeLabelMatch; }
  bool ReadsPlacementOnly() const override { return true; }
  std::vector<std::string> PodAnnotationsRead() const override {
    std::vector<std::string> keys;
    for (const LabelRule& rule : rules_) keys.push_back(rule.key.empty() ? rule.prefix : rule.key);
    return keys;
  }

  // Skips pods that require nothing.
  Dependency PreFilterDependsOn() const override { return Dependency::kNode; }
  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    std::vector<LabelWish> wishes = WishesOf(rules_, pod.pod_class->annotations, Strictness::kRequired);
    if (wishes.empty()) return {Status::Skip(), std::nullopt};
    cycle.state.Write(kPreFilterKey, std::make_shared<Wishes>(std::move(wishes)));
    return {};
  }

  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const override {
    const WishesRef wishes(cycle, kPreFilterKey, rules_, pod, Strictness::kRequired);
    for (const LabelWish& wish : wishes.list()) {
      if (!wish.IsMetBy(node.node().metadata.labels)) return Refusal(wish);
    }
    return {};
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const WishesRef wishes(cycle, kPreFilterKey, rules_, pod, Strictness::kRequired);
    for (const BoundWish& bound : Bind(wishes.list(), cycle.table)) {
      VerdictId refusal = kVerdictOk;
      for (const NodeIndex row : rows) {
        if (verdicts[row] != kVerdictOk || bound.IsMetBy(row)) continue;
        if (refusal == kVerdictOk) refusal = statuses.Intern(Refusal(*bound.wish));
        verdicts[row] = refusal;
      }
    }
  }

  bool RefusesNone(const Cycle& cycle, const PodInfo& pod) const override {
    return WishesRef(cycle, kPreFilterKey, rules_, pod, Strictness::kRequired).list().empty();
  }

  // Skips pods that prefer nothing.
  Dependency PreScoreDependsOn() const override { return Dependency::kNode; }
  Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex>) const override {
    std::vector<LabelWish> wishes = WishesOf(rules_, pod.pod_class->annotations, Strictness::kPreferred);
    if (wishes.empty()) return Status::Skip();
    cycle.state.Write(kPreScoreKey, std::make_shared<Wishes>(std::move(wishes)));
    return {};
  }

  Dependency ScoreDependsOn() const override { return Dependency::kNode; }
  Normalization ScoreNormalization() const override { return Normalization::kLowestFirst; }
  // The sum of the weights of the wishes that the node does not meet.
  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node, Status&) const override {
    const WishesRef wishes(cycle, kPreScoreKey, rules_, pod, Strictness::kPreferred);
    std::int64_t lacking = 0;
    for (const LabelWish& wish : wishes.list()) {
      if (!wish.IsMetBy(node.node().metadata.labels)) lacking += wish.weight;
    }
    return lacking;
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status&) const override {
    const WishesRef wishes(cycle, kPreScoreKey, rules_, pod, Strictness::kPreferred);
    const std::vector<BoundWish> bound = Bind(wishes.list(), cycle.table);
    for (const NodeIndex row : rows) {
      std::int64_t lacking = 0;
      for (const BoundWish& one : bound) lacking += one.IsMetBy(row) ? 0 : one.wish->weight;
      scores[row] = lacking;
    }
  }

  std::optional<std::int64_t> ScoreOfAll(const Cycle& cycle, const PodInfo& pod) const override {
    if (!WishesRef(cycle, kPreScoreKey, rules_, pod, Strictness::kPreferred).list().empty()) return std::nullopt;
    return 0;
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    ClusterEventWithHint own{
        {EventResource::kUnschedulablePod, kUpdate}, [](const PodInfo& pod, const EventObjects& event) {
          return QueueIf(IsOwnUpdate(pod, event) && event.old_pod != nullptr &&
                         event.old_pod->pod_class->annotations != event.new_pod->pod_class->annotations);
        }};
    return {OfClass(OnNode(kAdd | kUpdateNodeLabel,
                           [this](const PodInfo& pod, const EventObjects& event) {
                             if (event.new_node == nullptr) return QueueingHint::kQueue;
                             const auto wishes = WishesOf(rules_, pod.pod_class->annotations, Strictness::kRequired);
                             return QueueIf(MeetsAll(wishes, *event.new_node) &&
                                            (event.old_node == nullptr || !MeetsAll(wishes, *event.old_node)));
                           })),
            OfClass(std::move(own))};
  }

 private:
  const std::vector<LabelRule> rules_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateNodeLabelMatch(const std::vector<LabelRule>& rules, Handle&) {
  return std::make_unique<NodeLabelMatch>(rules);
}

}  // namespace berth::plugins
