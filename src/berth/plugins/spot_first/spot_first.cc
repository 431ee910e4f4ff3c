// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/spot_first/spot_first.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/utf8.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/owner_pods.h"
#include "berth/plugins/names.h"
#include "berth/plugins/spot_first/spot_labels.h"

namespace berth::plugins {
namespace {

using framework::PodClass;

constexpr OwnerPods::Owners kOwners = OwnerPods::Owners::kControllers;
constexpr std::int64_t kPercent = 100;
// At most this much of a bad annotation is repeated in a reason.
constexpr std::size_t kShownMax = 64;

const std::string* AnnotationOf(const PodClass& pod_class) { return pod_class.annotations.Find(kSpotAnnotation); }

bool HasBadAnnotation(const PodClass& pod_class) {
  const std::string* text = AnnotationOf(pod_class);
  return text != nullptr && !ParseSpotWish(*text);
}

// A DaemonSet's pods are for given nodes: neither a share nor the profile's default may keep them off.
bool IsOfDaemonSet(const PodClass& pod_class) {
  return pod_class.controller && pod_class.controller->kind == "DaemonSet";
}

Status Unresolvable(std::string_view reason) { return Status::UnschedulableAndUnresolvable(std::string(reason)); }

class SpotFirst final : public PreFilterPlugin,
                        public FastFilter,
                        public FastScore,
                        public GroupingPlugin,
                        public AnnotationReader,
                        public EnqueueExtensions {
 public:
  static constexpr std::string_view kReasonNotSpot = "node(s) weren't spot nodes, which the pod requires";
  static constexpr std::string_view kReasonSpot = "node(s) were spot nodes, which the pod stays off";
  static constexpr std::string_view kReasonShare =
      "node(s) were spot nodes, of which the pod's controller may use no more yet";

  SpotFirst(const SpotFirstArgs& args, const Handle& handle)
      : handle_(handle),
        labels_(args.spot_labels),
        on_demand_share_(args.on_demand_share),
        default_wish_(args.default_wish),
        not_spot_(Unresolvable(kReasonNotSpot)),
        spot_(Unresolvable(kReasonSpot)),
        share_(Unresolvable(kReasonShare)),
        pods_([this](const api::Node& node) { return labels_.IsSpot(node) ? kSpot : kOnDemand; },
              args.on_demand_share > 0 ? kOwners : OwnerPods::Owners::kNone) {}

  std::string_view Name() const override { return names::kSpotFirst; }
  // With another default the kind of the pod's controller counts, too, and that is not part of its placement.
  bool ReadsPlacementOnly() const override { return default_wish_ == SpotWish::kPreferred; }
  std::vector<std::string> PodAnnotationsRead() const override { return {std::string(kSpotAnnotation)}; }

  Dependency PreFilterDependsOn() const override { return DependsOn(); }
  PreFilterResult PreFilter(const Cycle&, const PodInfo& pod) const override {
    const PodClass& pod_class = *pod.pod_class;
    if (HasBadAnnotation(pod_class)) {
      std::string text = "annotation " + std::string(kSpotAnnotation) + ": \"";
      text += CutUtf8(*AnnotationOf(pod_class), kShownMax);
      return {Unresolvable(text + "\" is none of preferred, required, never"), std::nullopt};
    }
    const bool refuses_some = WishOf(pod_class) != SpotWish::kPreferred || HasShare(pod_class);
    return {refuses_some ? Status() : Status::Skip(), std::nullopt};
  }

  Dependency FilterDependsOn() const override { return DependsOn(); }
  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const override {
    const Refusals refusals = RefusalsFor(cycle, pod);
    const Status* refusal = labels_.IsSpot(node.node()) ? refusals.of_spot : refusals.of_on_demand;
    return refusal == nullptr ? Status() : *refusal;
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const Refusals refusals = RefusalsFor(cycle, pod);
    const bool refuses_spot = refusals.of_spot != nullptr;
    const Status* refusal = refuses_spot ? refusals.of_spot : refusals.of_on_demand;
    if (refusal == nullptr) return;
    pods_.Sync(cycle.table);
    VerdictId refused = kVerdictOk;
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk || IsSpotRow(row) != refuses_spot) continue;
      if (refused == kVerdictOk) refused = statuses.Intern(*refusal);
      verdicts[row] = refused;
    }
  }

  bool RefusesNone(const Cycle&, const PodInfo& pod) const override {
    return WishOf(*pod.pod_class) == SpotWish::kPreferred && !HasShare(*pod.pod_class);
  }

  // 0 for the nodes that come first, and 1 for the others.
  Dependency ScoreDependsOn() const override { return DependsOn(); }
  Normalization ScoreNormalization() const override { return Normalization::kLowestFirst; }
  // Answers where all nodes are of one kind. Reads the scheduler's table, because the cycle's may have no labels.
  std::optional<std::int64_t> ScoreOfAll(const Cycle&, const PodInfo& pod) const override {
    const NodeTable* nodes = handle_.node_table();
    if (on_demand_share_ > 0 || nodes == nullptr) return std::nullopt;
    pods_.Sync(*nodes);
    const std::size_t spot_count = pods_.RowsOf(kSpot);
    if (spot_count != 0 && spot_count != pods_.row_count()) return std::nullopt;
    const bool is_spot_first = WishOf(*pod.pod_class) != SpotWish::kNever;
    return (spot_count > 0) == is_spot_first ? 0 : 1;
  }

  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node, Status&) const override {
    return labels_.IsSpot(node.node()) == IsOnDemandFirst(cycle, pod) ? 1 : 0;
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status&) const override {
    const bool is_on_demand_first = IsOnDemandFirst(cycle, pod);
    pods_.Sync(cycle.table);
    for (const NodeIndex row : rows) scores[row] = IsSpotRow(row) == is_on_demand_first ? 1 : 0;
  }

  // A row's mark is whether it is a spot node: the same for all classes.
  std::optional<Marks> MarksOf(const Cycle&, const PodInfo&) const override { return Marks{1, 1}; }

  std::optional<Marks> SharedMarksOf(const Cycle& cycle, const PodInfo& pod, std::size_t,
                                     std::vector<NodeIndex>&) const override {
    return MarksOf(cycle, pod);
  }

  void MarkRows(const Cycle& cycle, const PodInfo&, MarkScope, std::span<const NodeIndex> rows,
                std::span<std::uint32_t> marks, std::size_t stride) const override {
    pods_.Sync(cycle.table);
    for (std::size_t i = 0; i < rows.size(); ++i) marks[i * stride] = IsSpotRow(rows[i]) ? 1 : 0;
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    return {
        OfClass(OnPod(kAdd | kDelete | kUpdate,
                      [this](const PodInfo& pod, const EventObjects& event) { return AfterPodChange(pod, event); })),
        // Taints make no spot node, but who does not name them gets every change of theirs.
        OfClass(OnNode(kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint,
                       [this](const PodInfo& pod, const EventObjects& event) { return AfterNodeChange(pod, event); }))};
  }

 private:
  // The domains that pods_ counts by.
  static constexpr OwnerPods::DomainId kOnDemand = 0;
  static constexpr OwnerPods::DomainId kSpot = 1;
  // How many of a controller's pods run on each kind of node.
  struct Shares {
    std::int64_t on_demand = 0;
    std::int64_t spot = 0;
  };

  Dependency DependsOn() const { return on_demand_share_ > 0 ? Dependency::kCycle : Dependency::kNode; }

  // What the pod's annotation says or, without one, the profile's arguments.
  SpotWish WishOf(const PodClass& pod_class) const {
    const std::string* text = AnnotationOf(pod_class);
    const auto wish = text == nullptr ? std::nullopt : ParseSpotWish(*text);
    if (wish) return *wish;
    return IsOfDaemonSet(pod_class) ? SpotWish::kPreferred : default_wish_;
  }

  bool HasShare(const PodClass& pod_class) const {
    return on_demand_share_ > 0 && pod_class.controller && !IsOfDaemonSet(pod_class) &&
           WishOf(pod_class) == SpotWish::kPreferred;
  }

  Shares SharesOf(const NodeTable& nodes, const PodClass& pod_class) const {
    pods_.Sync(nodes);
    Shares shares;
    for (const OwnerPods::Count& count : pods_.CountsOf(pod_class))
      (count.domain == kSpot ? shares.spot : shares.on_demand) += count.pods;
    return shares;
  }

  // True when one more pod on a spot node would leave too few on demand.
  bool NeedsOnDemand(const Shares& shares) const {
    return shares.on_demand * kPercent < on_demand_share_ * (shares.on_demand + shares.spot + 1);
  }

  bool IsOnDemandFirst(const Cycle& cycle, const PodInfo& pod) const {
    const PodClass& pod_class = *pod.pod_class;
    if (HasShare(pod_class)) return NeedsOnDemand(SharesOf(cycle.table, pod_class));
    return WishOf(pod_class) == SpotWish::kNever;
  }

  // Why nodes of each kind are refused; null where they are not.
  struct Refusals {
    const Status* of_spot = nullptr;
    const Status* of_on_demand = nullptr;
  };
  Refusals RefusalsFor(const Cycle& cycle, const PodInfo& pod) const {
    const PodClass& pod_class = *pod.pod_class;
    switch (WishOf(pod_class)) {
      case SpotWish::kRequired: return {nullptr, &not_spot_};
      case SpotWish::kNever: return {&spot_, nullptr};
      case SpotWish::kPreferred: break;
    }
    // Preemption does not help: the pods that it evicts are not this controller's.
    if (HasShare(pod_class) && NeedsOnDemand(SharesOf(cycle.table, pod_class))) return {&share_, nullptr};
    return {};
  }
  bool IsSpotRow(NodeIndex row) const { return pods_.domain(row) == kSpot; }
  QueueingHint AfterPodChange(const PodInfo& pod, const EventObjects& event) const {
    if (IsOwnUpdate(pod, event)) {
      const auto* before = event.old_pod == nullptr ? nullptr : AnnotationOf(*event.old_pod->pod_class);
      const auto* after = AnnotationOf(*event.new_pod->pod_class);
      return QueueIf(event.old_pod == nullptr || (before == nullptr) != (after == nullptr) ||
                     (before != nullptr && *before != *after));
    }
    const PodInfo* other = event.new_pod != nullptr ? event.new_pod : event.old_pod;
    if (other == nullptr) return QueueingHint::kQueue;
    return QueueIf(HasShare(*pod.pod_class) && !other->node_name.empty() &&
                   OwnerPods::HaveSameOwner(*pod.pod_class, *other->pod_class, kOwners));
  }

  QueueingHint AfterNodeChange(const PodInfo& pod, const EventObjects& event) const {
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

  const Handle& handle_;
  const SpotLabels labels_;
  const std::int32_t on_demand_share_;
  const SpotWish default_wish_;
  const Status not_spot_, spot_, share_;
  mutable OwnerPods pods_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateSpotFirst(const SpotFirstArgs& args, Handle& handle) {
  return std::make_unique<SpotFirst>(args, handle);
}

}  // namespace berth::plugins
