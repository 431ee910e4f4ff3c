// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_affinity/node_affinity.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/required_node_affinity.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::Status;

constexpr std::string_view kPreFilterKey = "PreFilterNodeAffinity";

// What the pod requires of a node.
struct Required final : framework::StateData, RequiredNodeAffinity {
  using RequiredNodeAffinity::RequiredNodeAffinity;
};

// The state of this cycle or, where PreFilter is turned off, one made on the spot.
class RequiredRef {
 public:
  RequiredRef(const framework::Cycle& cycle, const framework::PodInfo& pod)
      : state_(cycle.state.Read<Required>(kPreFilterKey)) {
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

const std::vector<api::PreferredSchedulingTerm>& PreferredTerms(const framework::PodInfo& pod) {
  static const std::vector<api::PreferredSchedulingTerm> kNone;
  return pod.spec().node_affinity ? pod.spec().node_affinity->preferred : kNone;
}

}  // namespace

NodeAffinity::NodeAffinity(std::optional<api::NodeAffinity> added) {
  if (!added) return;
  if (added->required) added_required_.emplace(*added->required);
  added_preferred_ = std::move(added->preferred);
}

framework::PreFilterResult NodeAffinity::PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const {
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

Status NodeAffinity::Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                            const framework::NodeInfo& node) const {
  const api::Node& object = node.node();
  if (added_required_ && !added_required_->Matches(object.metadata.name, object.metadata.labels)) {
    return Status::UnschedulableAndUnresolvable(std::string(kReasonEnforced));
  }
  if (!RequiredRef(cycle, pod)->Matches(object)) return Status::UnschedulableAndUnresolvable(std::string(kReasonPod));
  return Status::Success();
}

void NodeAffinity::FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                              std::span<const NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                              framework::StatusTable& statuses) const {
  const RequiredRef required(cycle, pod);
  std::vector<BoundTerm> added;
  if (added_required_) added = BindTerms(added_required_->terms(), cycle.table);
  const BoundNodeAffinity bound(*required, cycle.table);
  CachedRefusal enforced(statuses, framework::Code::kUnschedulableAndUnresolvable, kReasonEnforced);
  CachedRefusal refusal(statuses, framework::Code::kUnschedulableAndUnresolvable, kReasonPod);
  for (const NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk) continue;
    if (added_required_ && !AnyMatches(added, row)) {
      verdicts[row] = enforced.Get();
    } else if (!bound.Matches(row)) {
      verdicts[row] = refusal.Get();
    }
  }
}

Status NodeAffinity::PreScore(const framework::Cycle&, const framework::PodInfo& pod,
                              std::span<const NodeIndex>) const {
  // Unlike in required terms, a preferred term that does not validate fails the cycle.
  std::string errors = PreferredTermErrors(PreferredTerms(pod));
  if (!errors.empty()) return Status::Error(std::move(errors));
  return PreferredTerms(pod).empty() && added_preferred_.empty() ? Status::Skip() : Status::Success();
}

std::int64_t NodeAffinity::Score(const framework::Cycle&, const framework::PodInfo& pod, NodeIndex,
                                 const framework::NodeInfo& node, Status&) const {
  return SumOfWeights(added_preferred_, node.node()) + SumOfWeights(PreferredTerms(pod), node.node());
}

void NodeAffinity::ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const NodeIndex> rows, std::span<std::int64_t> scores, Status&) const {
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

std::vector<framework::ClusterEventWithHint> NodeAffinity::EventsToRegister() const {
  using namespace framework::action;
  return {OfClass(
      OnNode(kAdd | kUpdateNodeLabel, [this](const framework::PodInfo& pod, const framework::EventObjects& event) {
        if (event.new_node == nullptr) return framework::QueueingHint::kQueue;
        const api::Node& node = *event.new_node;
        if (added_required_ && !added_required_->Matches(node.metadata.name, node.metadata.labels)) {
          return framework::QueueingHint::kSkip;
        }
        const Required required(pod.spec());
        return QueueIf(required.Matches(node) && (event.old_node == nullptr || !required.Matches(*event.old_node)));
      }))};
}

}  // namespace berth::plugins
