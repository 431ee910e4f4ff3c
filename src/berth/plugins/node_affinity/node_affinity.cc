// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_affinity/node_affinity.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/node_selector.h"
#include "berth/plugins/helper/required_node_affinity.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

constexpr std::string_view kPreFilterKey = "PreFilterNodeAffinity";

// What the pod requires of a node.
struct Required final : StateData, RequiredNodeAffinity {
  using RequiredNodeAffinity::RequiredNodeAffinity;
};

// The state of this cycle or, where PreFilter is turned off, one made on the spot.
class RequiredRef {
 public:
  RequiredRef(const Cycle& cycle, const PodInfo& pod) : state_(cycle.state.Read<Required>(kPreFilterKey)) {
    if (state_ == nullptr) state_ = &own_.emplace(pod.spec());
  }
  const Required* operator->() const { return state_; }
  const Required& operator*() const { return *state_; }

 private:
  const Required* state_;
  std::optional<Required> own_;
};

bool HasRequiredAffinity(const api::PodSpec& spec) { return spec.node_affinity && spec.node_affinity->required; }

// The nodes that a term names; nullopt when it names none. Several requirements on the name intersect.
std::optional<std::set<std::string>> NamedNodes(const api::NodeSelectorTerm& term) {
  std::optional<std::set<std::string>> names;
  for (const api::Requirement& field : term.match_fields) {
    if (field.key != kNodeNameField || field.op != api::SelectorOperator::kIn) continue;
    std::set<std::string> values(field.values.begin(), field.values.end());
    if (names) std::erase_if(values, [&](const std::string& value) { return !names->contains(value); });
    names = std::move(values);
  }
  return names;
}

bool CanMatch(const api::PreferredSchedulingTerm& term) {
  return term.weight != 0 && !(term.preference.match_expressions.empty() && term.preference.match_fields.empty()) &&
         term.preference.Validate().ok();
}

std::int64_t SumOfWeights(const std::vector<api::PreferredSchedulingTerm>& terms, const api::Node& node) {
  std::int64_t sum = 0;
  for (const api::PreferredSchedulingTerm& term : terms) {
    if (CanMatch(term) && term.preference.Matches(node.metadata.name, node.metadata.labels)) sum += term.weight;
  }
  return sum;
}

const std::vector<api::PreferredSchedulingTerm>& PreferredTerms(const PodInfo& pod) {
  static const std::vector<api::PreferredSchedulingTerm> kNone;
  return pod.spec().node_affinity ? pod.spec().node_affinity->preferred : kNone;
}

class NodeAffinity final : public PreFilterPlugin,
                           public FastFilter,
                           public PreScorePlugin,
                           public FastScore,
                           public EnqueueExtensions {
 public:
  static constexpr std::string_view kReasonPod = "node(s) didn't match Pod's node affinity/selector";
  static constexpr std::string_view kReasonEnforced = "node(s) didn't match scheduler-enforced node affinity";
  static constexpr std::string_view kReasonConflict = "pod affinity terms conflict";

  explicit NodeAffinity(const std::optional<api::NodeAffinity>& added) {
    if (!added) return;
    if (added->required) added_required_.emplace(*added->required);
    added_preferred_ = added->preferred;
  }

  std::string_view Name() const override { return names::kNodeAffinity; }
  bool ReadsPlacementOnly() const override { return true; }

  // Narrows the search to the named nodes where every required term names nodes by metadata.name.
  Dependency PreFilterDependsOn() const override { return Dependency::kNode; }
  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    const api::PodSpec& spec = pod.spec();
    if (!HasRequiredAffinity(spec) && !added_required_ && spec.node_selector.empty())
      return {Status::Skip(), std::nullopt};
    cycle.state.Write(kPreFilterKey, std::make_shared<Required>(spec));
    if (!HasRequiredAffinity(spec) || spec.node_affinity->required->empty()) return {};

    std::set<std::string> all;
    for (const api::NodeSelectorTerm& term : *spec.node_affinity->required) {
      const auto names = NamedNodes(term);
      if (!names) return {};  // terms are alternatives: one without names allows any node
      all.insert(names->begin(), names->end());
    }
    if (all.empty()) return {Status::UnschedulableAndUnresolvable(std::string(kReasonConflict)), std::nullopt};
    return {Status::Success(), std::move(all)};
  }

  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const override {
    const api::Node& object = node.node();
    if (added_required_ && !added_required_->Matches(object.metadata.name, object.metadata.labels)) {
      return Status::UnschedulableAndUnresolvable(std::string(kReasonEnforced));
    }
    if (!RequiredRef(cycle, pod)->Matches(object)) return Status::UnschedulableAndUnresolvable(std::string(kReasonPod));
    return Status::Success();
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const RequiredRef required(cycle, pod);
    std::vector<BoundTerm> added;
    if (added_required_) added = BindTerms(added_required_->terms(), cycle.table);
    const BoundNodeAffinity bound(*required, cycle.table);
    CachedRefusal enforced(statuses, Code::kUnschedulableAndUnresolvable, kReasonEnforced);
    CachedRefusal refusal(statuses, Code::kUnschedulableAndUnresolvable, kReasonPod);
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
      if (added_required_ && !AnyMatches(added, row)) {
        verdicts[row] = enforced.Get();
      } else if (!bound.Matches(row)) {
        verdicts[row] = refusal.Get();
      }
    }
  }

  Dependency PreScoreDependsOn() const override { return Dependency::kNode; }
  Status PreScore(const Cycle&, const PodInfo& pod, std::span<const NodeIndex>) const override {
    // Unlike in required terms, a preferred term that does not validate fails the cycle.
    std::string errors = PreferredTermErrors(PreferredTerms(pod));
    if (!errors.empty()) return Status::Error(std::move(errors));
    return PreferredTerms(pod).empty() && added_preferred_.empty() ? Status::Skip() : Status::Success();
  }

  Dependency ScoreDependsOn() const override { return Dependency::kNode; }
  Normalization ScoreNormalization() const override { return Normalization::kMax; }
  std::int64_t Score(const Cycle&, const PodInfo& pod, NodeIndex, const NodeInfo& node, Status&) const override {
    return SumOfWeights(added_preferred_, node.node()) + SumOfWeights(PreferredTerms(pod), node.node());
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status&) const override {
    std::vector<std::pair<std::int64_t, BoundTerm>> terms;
    for (const auto* list : {&added_preferred_, &PreferredTerms(pod)}) {
      for (const api::PreferredSchedulingTerm& term : *list) {
        if (!CanMatch(term)) continue;
        terms.emplace_back(term.weight, BoundTerm(term.preference, cycle.table));
        if (terms.back().second.IsVoid()) terms.pop_back();
      }
    }
    for (const NodeIndex row : rows) {
      std::int64_t sum = 0;
      for (const auto& [weight, term] : terms) {
        if (term.Matches(row)) sum += weight;
      }
      scores[row] = sum;
    }
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    return {OfClass(OnNode(kAdd | kUpdateNodeLabel, [this](const PodInfo& pod, const EventObjects& event) {
      if (event.new_node == nullptr) return QueueingHint::kQueue;
      const api::Node& node = *event.new_node;
      if (added_required_ && !added_required_->Matches(node.metadata.name, node.metadata.labels)) {
        return QueueingHint::kSkip;
      }
      const Required required(pod.spec());
      return QueueIf(required.Matches(node) && (event.old_node == nullptr || !required.Matches(*event.old_node)));
    }))};
  }

 private:
  std::optional<NodeSelector> added_required_;
  std::vector<api::PreferredSchedulingTerm> added_preferred_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateNodeAffinity(const config::NodeAffinityArgs& args, Handle&) {
  return std::make_unique<NodeAffinity>(args.added_affinity);
}

}  // namespace berth::plugins
