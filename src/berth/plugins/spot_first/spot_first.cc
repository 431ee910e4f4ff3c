// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/spot_first/spot_first.h"

#include <utility>

#include "berth/base/utf8.h"
#include "berth/plugins/helper/events.h"

namespace berth::plugins {
namespace {

using framework::Cycle;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::NodeTable;
using framework::PodClass;
using framework::PodInfo;
using framework::PreFilterResult;
using framework::Status;

constexpr OwnerPods::Owners kOwners = OwnerPods::Owners::kControllers;
constexpr std::int64_t kPercent = 100;
// So much of a bad annotation is repeated.
constexpr std::size_t kShownMax = 64;

const std::string* AnnotationOf(const PodClass& pod_class) {
  return pod_class.annotations.Find(SpotFirst::kAnnotation);
}

bool HasBadAnnotation(const PodClass& pod_class) {
  const std::string* text = AnnotationOf(pod_class);
  return text != nullptr && !ParseSpotWish(*text);
}

// Its pods are bound to their nodes: neither a share nor what other pods want may keep them off.
bool IsOfDaemonSet(const PodClass& pod_class) {
  return pod_class.controller && pod_class.controller->kind == "DaemonSet";
}

Status Unresolvable(std::string_view reason) { return Status::UnschedulableAndUnresolvable(std::string(reason)); }

}  // namespace

Expected<std::unique_ptr<framework::Plugin>> SpotFirst::Create(const config::PluginArgs& args,
                                                               framework::Handle& handle) {
  BERTH_ASSIGN_OR_RETURN(const SpotFirstArgs read, ReadSpotFirstArgs(args));
  return std::unique_ptr<framework::Plugin>(std::make_unique<SpotFirst>(read, handle));
}

SpotFirst::SpotFirst(const SpotFirstArgs& args, const framework::Handle& handle)
    : handle_(handle),
      labels_(args.spot_labels),
      on_demand_share_(args.on_demand_share),
      default_wish_(args.default_wish),
      not_spot_(Unresolvable(kReasonNotSpot)),
      spot_(Unresolvable(kReasonSpot)),
      share_(Unresolvable(kReasonShare)),
      pods_([this](const api::Node& node) { return labels_.IsSpot(node) ? kSpot : kOnDemand; },
            args.on_demand_share > 0 ? kOwners : OwnerPods::Owners::kNone) {}

SpotWish SpotFirst::WishOf(const PodClass& pod_class) const {
  const std::string* text = AnnotationOf(pod_class);
  const auto wish = text == nullptr ? std::nullopt : ParseSpotWish(*text);
  if (wish) return *wish;
  return IsOfDaemonSet(pod_class) ? SpotWish::kPreferred : default_wish_;
}

bool SpotFirst::HasShare(const PodClass& pod_class) const {
  return on_demand_share_ > 0 && pod_class.controller && !IsOfDaemonSet(pod_class) &&
         WishOf(pod_class) == SpotWish::kPreferred;
}

SpotFirst::Shares SpotFirst::SharesOf(const NodeTable& nodes, const PodClass& pod_class) const {
  pods_.Sync(nodes);
  Shares shares;
  for (const OwnerPods::Count& count : pods_.CountsOf(pod_class))
    (count.domain == kSpot ? shares.spot : shares.on_demand) += count.pods;
  return shares;
}

bool SpotFirst::NeedsOnDemand(const Shares& shares) const {
  return shares.on_demand * kPercent < on_demand_share_ * (shares.on_demand + shares.spot + 1);
}

bool SpotFirst::IsOnDemandFirst(const Cycle& cycle, const PodInfo& pod) const {
  const PodClass& pod_class = *pod.pod_class;
  if (HasShare(pod_class)) return NeedsOnDemand(SharesOf(cycle.table, pod_class));
  return WishOf(pod_class) == SpotWish::kNever;
}

PreFilterResult SpotFirst::PreFilter(const Cycle&, const PodInfo& pod) const {
  const PodClass& pod_class = *pod.pod_class;
  if (HasBadAnnotation(pod_class)) {
    std::string text = "annotation " + std::string(kAnnotation) + ": \"";
    text += CutUtf8(*AnnotationOf(pod_class), kShownMax);
    return {Unresolvable(text + "\" is none of preferred, required, never"), std::nullopt};
  }
  const bool refuses_some = WishOf(pod_class) != SpotWish::kPreferred || HasShare(pod_class);
  return {refuses_some ? Status() : Status::Skip(), std::nullopt};
}

SpotFirst::Refusals SpotFirst::RefusalsFor(const Cycle& cycle, const PodInfo& pod) const {
  const PodClass& pod_class = *pod.pod_class;
  switch (WishOf(pod_class)) {
    case SpotWish::kRequired: return {nullptr, &not_spot_};
    case SpotWish::kNever: return {&spot_, nullptr};
    case SpotWish::kPreferred: break;
  }
  // No preemption of others helps: they are not of this controller.
  if (HasShare(pod_class) && NeedsOnDemand(SharesOf(cycle.table, pod_class))) return {&share_, nullptr};
  return {};
}

Status SpotFirst::Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const {
  const Refusals refusals = RefusalsFor(cycle, pod);
  const Status* refusal = labels_.IsSpot(node.node()) ? refusals.of_spot : refusals.of_on_demand;
  return refusal == nullptr ? Status() : *refusal;
}

void SpotFirst::FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                           std::span<framework::VerdictId> verdicts, framework::StatusTable& statuses) const {
  const Refusals refusals = RefusalsFor(cycle, pod);
  const bool refuses_spot = refusals.of_spot != nullptr;
  const Status* refusal = refuses_spot ? refusals.of_spot : refusals.of_on_demand;
  if (refusal == nullptr) return;
  pods_.Sync(cycle.table);
  framework::VerdictId refused = framework::kVerdictOk;
  for (const NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk || IsSpotRow(row) != refuses_spot) continue;
    if (refused == framework::kVerdictOk) refused = statuses.Intern(*refusal);
    verdicts[row] = refused;
  }
}

bool SpotFirst::RefusesNone(const Cycle&, const PodInfo& pod) const {
  return WishOf(*pod.pod_class) == SpotWish::kPreferred && !HasShare(*pod.pod_class);
}

// All nodes of one kind: asked where answers rest on the class and the node, with a table that has no labels.
std::optional<std::int64_t> SpotFirst::ScoreOfAll(const Cycle&, const PodInfo& pod) const {
  const NodeTable* nodes = handle_.node_table();
  if (on_demand_share_ > 0 || nodes == nullptr) return std::nullopt;
  pods_.Sync(*nodes);
  const std::size_t spot_count = pods_.RowsOf(kSpot);
  if (spot_count != 0 && spot_count != pods_.row_count()) return std::nullopt;
  const bool is_spot_first = WishOf(*pod.pod_class) != SpotWish::kNever;
  return (spot_count > 0) == is_spot_first ? 0 : 1;
}

std::int64_t SpotFirst::Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node, Status&) const {
  return labels_.IsSpot(node.node()) == IsOnDemandFirst(cycle, pod) ? 1 : 0;
}

void SpotFirst::ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                          std::span<std::int64_t> scores, Status&) const {
  const bool is_on_demand_first = IsOnDemandFirst(cycle, pod);
  pods_.Sync(cycle.table);
  for (const NodeIndex row : rows) scores[row] = IsSpotRow(row) == is_on_demand_first ? 1 : 0;
}

std::optional<framework::GroupingPlugin::Marks> SpotFirst::MarksOf(const Cycle&, const PodInfo&) const {
  return Marks{1, 1};
}

std::optional<framework::GroupingPlugin::Marks> SpotFirst::SharedMarksOf(const Cycle& cycle, const PodInfo& pod,
                                                                         std::size_t, std::vector<NodeIndex>&) const {
  return MarksOf(cycle, pod);
}

void SpotFirst::MarkRows(const Cycle& cycle, const PodInfo&, MarkScope, std::span<const NodeIndex> rows,
                         std::span<std::uint32_t> marks, std::size_t stride) const {
  pods_.Sync(cycle.table);
  for (std::size_t i = 0; i < rows.size(); ++i) marks[i * stride] = IsSpotRow(rows[i]) ? 1 : 0;
}

framework::QueueingHint SpotFirst::AfterPodChange(const PodInfo& pod, const framework::EventObjects& event) const {
  if (IsOwnUpdate(pod, event)) {
    const auto* before = event.old_pod == nullptr ? nullptr : AnnotationOf(*event.old_pod->pod_class);
    const auto* after = AnnotationOf(*event.new_pod->pod_class);
    return QueueIf(event.old_pod == nullptr || (before == nullptr) != (after == nullptr) ||
                   (before != nullptr && *before != *after));
  }
  const PodInfo* other = event.new_pod != nullptr ? event.new_pod : event.old_pod;
  if (other == nullptr) return framework::QueueingHint::kQueue;
  return QueueIf(HasShare(*pod.pod_class) && !other->node_name.empty() &&
                 OwnerPods::HaveSameOwner(*pod.pod_class, *other->pod_class, kOwners));
}

framework::QueueingHint SpotFirst::AfterNodeChange(const PodInfo& pod, const framework::EventObjects& event) const {
  const auto is_spot = [this](const api::Node* node) {
    return node == nullptr ? std::nullopt : std::optional<bool>(labels_.IsSpot(*node));
  };
  const auto before = is_spot(event.old_node);
  const auto after = is_spot(event.new_node);
  if (before == after) return QueueIf(!before);
  switch (WishOf(*pod.pod_class)) {
    case SpotWish::kRequired: return QueueIf(after == true);
    case SpotWish::kNever: return QueueIf(after == false);
    case SpotWish::kPreferred: break;
  }
  return QueueIf(HasShare(*pod.pod_class));
}

std::vector<framework::ClusterEventWithHint> SpotFirst::EventsToRegister() const {
  using namespace framework::action;
  return {OfClass(OnPod(
              kAdd | kDelete | kUpdate,
              [this](const PodInfo& pod, const framework::EventObjects& event) { return AfterPodChange(pod, event); })),
          // Taints make no spot node, but who does not name them is told of every change of theirs.
          OfClass(OnNode(kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint,
                         [this](const PodInfo& pod, const framework::EventObjects& event) {
                           return AfterNodeChange(pod, event);
                         }))};
}

}  // namespace berth::plugins
