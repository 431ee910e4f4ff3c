// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_label_match/node_label_match.h"

#include <algorithm>

#include "berth/plugins/helper/events.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::Status;
using framework::ValueId;

constexpr std::string_view kPreFilterKey = "PreFilterNodeLabelMatch";
constexpr std::string_view kPreScoreKey = "PreScoreNodeLabelMatch";

struct Wishes final : framework::StateData {
  explicit Wishes(std::vector<LabelWish> what) : list(std::move(what)) {}
  const std::vector<LabelWish> list;
};

// What was found in this cycle under `key` or, where the profile asks the plugin at one point only, what is found now.
class WishesRef {
 public:
  WishesRef(const framework::Cycle& cycle, std::string_view key, const std::vector<LabelRule>& rules,
            const framework::PodInfo& pod, Strictness strictness)
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
  BoundWish(const LabelWish& asked, const framework::NodeTable& nodes)
      : wish(&asked), column(nodes.LabelColumn(asked.label)), value(nodes.FindValue(asked.value)) {}
  bool IsMetBy(NodeIndex row) const { return value && column[row] == *value; }

  const LabelWish* wish;
  std::span<const ValueId> column;
  std::optional<ValueId> value;
};

std::vector<BoundWish> Bind(const std::vector<LabelWish>& wishes, const framework::NodeTable& nodes) {
  std::vector<BoundWish> bound;
  bound.reserve(wishes.size());
  for (const LabelWish& wish : wishes) bound.emplace_back(wish, nodes);
  return bound;
}

// Values that are no label's are not repeated: they may be long and hold anything.
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

}  // namespace

Expected<std::unique_ptr<framework::Plugin>> NodeLabelMatch::Create(const config::PluginArgs& args,
                                                                    framework::Handle&) {
  auto rules = ReadLabelRules(args);
  if (!rules.ok()) return rules.error();
  return std::unique_ptr<framework::Plugin>(std::make_unique<NodeLabelMatch>(std::move(*rules)));
}

std::vector<std::string> NodeLabelMatch::PodAnnotationsRead() const {
  std::vector<std::string> keys;
  for (const LabelRule& rule : rules_) keys.push_back(rule.key.empty() ? rule.prefix : rule.key);
  return keys;
}

framework::PreFilterResult NodeLabelMatch::PreFilter(const framework::Cycle& cycle,
                                                     const framework::PodInfo& pod) const {
  std::vector<LabelWish> wishes = WishesOf(rules_, pod.pod_class->annotations, Strictness::kRequired);
  if (wishes.empty()) return {Status::Skip(), std::nullopt};
  cycle.state.Write(kPreFilterKey, std::make_shared<Wishes>(std::move(wishes)));
  return {};
}

Status NodeLabelMatch::Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                              const framework::NodeInfo& node) const {
  const WishesRef wishes(cycle, kPreFilterKey, rules_, pod, Strictness::kRequired);
  for (const LabelWish& wish : wishes.list()) {
    if (!wish.IsMetBy(node.node().metadata.labels)) return Refusal(wish);
  }
  return {};
}

void NodeLabelMatch::FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                std::span<const NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                                framework::StatusTable& statuses) const {
  const WishesRef wishes(cycle, kPreFilterKey, rules_, pod, Strictness::kRequired);
  for (const BoundWish& bound : Bind(wishes.list(), cycle.table)) {
    framework::VerdictId refusal = framework::kVerdictOk;
    for (const NodeIndex row : rows) {
      if (verdicts[row] != framework::kVerdictOk || bound.IsMetBy(row)) continue;
      if (refusal == framework::kVerdictOk) refusal = statuses.Intern(Refusal(*bound.wish));
      verdicts[row] = refusal;
    }
  }
}

bool NodeLabelMatch::RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const {
  return WishesRef(cycle, kPreFilterKey, rules_, pod, Strictness::kRequired).list().empty();
}

Status NodeLabelMatch::PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                std::span<const NodeIndex>) const {
  std::vector<LabelWish> wishes = WishesOf(rules_, pod.pod_class->annotations, Strictness::kPreferred);
  if (wishes.empty()) return Status::Skip();
  cycle.state.Write(kPreScoreKey, std::make_shared<Wishes>(std::move(wishes)));
  return {};
}

std::int64_t NodeLabelMatch::Score(const framework::Cycle& cycle, const framework::PodInfo& pod, NodeIndex,
                                   const framework::NodeInfo& node, Status&) const {
  const WishesRef wishes(cycle, kPreScoreKey, rules_, pod, Strictness::kPreferred);
  std::int64_t lacking = 0;
  for (const LabelWish& wish : wishes.list()) {
    if (!wish.IsMetBy(node.node().metadata.labels)) lacking += wish.weight;
  }
  return lacking;
}

void NodeLabelMatch::ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                               std::span<const NodeIndex> rows, std::span<std::int64_t> scores, Status&) const {
  const WishesRef wishes(cycle, kPreScoreKey, rules_, pod, Strictness::kPreferred);
  const std::vector<BoundWish> bound = Bind(wishes.list(), cycle.table);
  for (const NodeIndex row : rows) {
    std::int64_t lacking = 0;
    for (const BoundWish& one : bound) lacking += one.IsMetBy(row) ? 0 : one.wish->weight;
    scores[row] = lacking;
  }
}

std::optional<std::int64_t> NodeLabelMatch::ScoreOfAll(const framework::Cycle& cycle,
                                                       const framework::PodInfo& pod) const {
  if (!WishesRef(cycle, kPreScoreKey, rules_, pod, Strictness::kPreferred).list().empty()) return std::nullopt;
  return 0;
}

std::vector<framework::ClusterEventWithHint> NodeLabelMatch::EventsToRegister() const {
  using namespace framework::action;
  framework::ClusterEventWithHint own{
      {framework::EventResource::kUnschedulablePod, kUpdate},
      [](const framework::PodInfo& pod, const framework::EventObjects& event) {
        return QueueIf(IsOwnUpdate(pod, event) && event.old_pod != nullptr &&
                       event.old_pod->pod_class->annotations != event.new_pod->pod_class->annotations);
      }};
  return {OfClass(OnNode(kAdd | kUpdateNodeLabel,
                         [this](const framework::PodInfo& pod, const framework::EventObjects& event) {
                           if (event.new_node == nullptr) return framework::QueueingHint::kQueue;
                           const auto wishes = WishesOf(rules_, pod.pod_class->annotations, Strictness::kRequired);
                           return QueueIf(MeetsAll(wishes, *event.new_node) &&
                                          (event.old_node == nullptr || !MeetsAll(wishes, *event.old_node)));
                         })),
          OfClass(std::move(own))};
}

}  // namespace berth::plugins
