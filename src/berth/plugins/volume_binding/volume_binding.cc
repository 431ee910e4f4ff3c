// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/volume_binding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/core/config/args.h"
#include "berth/core/instruments/plugin_metrics.h"
#include "berth/framework/row_runs.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"
#include "berth/plugins/volume_binding/bind_operation.h"
#include "berth/plugins/volume_binding/capacity_index.h"
#include "berth/plugins/volume_binding/capacity_score.h"
#include "berth/plugins/volume_binding/pod_volumes.h"
#include "berth/plugins/volume_binding/reservation.h"
#include "berth/plugins/volume_binding/row_matcher.h"

namespace berth::plugins {
namespace {

constexpr std::int64_t kBindTimeoutSecondsMax = std::int64_t{100} * 366 * 24 * 3600;
constexpr std::string_view kStateKey = "VolumeBinding";
// What upstream's CycleState says where a profile turns this plugin's PreFilter off.
constexpr std::string_view kNoState = "not found";

// Upstream, too, counts the errors of Filter once a node.
void CountErrors(framework::Metrics& metrics, std::string_view stage, int count) {
  instruments::CounterOf(metrics, "scheduler_volume_scheduling_stage_error_total", {stage}).Add(count);
}

constexpr std::string_view kMigratedPluginsAnnotation = "storage.alpha.kubernetes.io/migrated-plugins";

std::string AnnotationOf(const api::ObjectMeta& metadata, std::string_view key) {
  const std::string* value = metadata.annotations.Find(key);
  return value == nullptr ? std::string() : *value;
}

QueueingHint AfterClaimChange(const PodInfo& pod, const EventObjects& event) {
  const auto* claim = event.New<api::PersistentVolumeClaim>();
  if (claim == nullptr) return QueueingHint::kQueue;
  if (claim->metadata.namespace_name != pod.namespace_name()) return QueueingHint::kSkip;
  for (const api::Volume& volume : pod.spec().volumes) {
    if (volumes::ClaimNameOf(pod, volume) == claim->metadata.name) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

// The binding mode of a class cannot change.
QueueingHint AfterClassChange(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::StorageClass>();
  const auto* after = event.New<api::StorageClass>();
  return QueueIf(before == nullptr || after == nullptr || before->allowed_topologies != after->allowed_topologies);
}

QueueingHint AfterCsiNodeChange(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::CsiNode>();
  const auto* after = event.New<api::CsiNode>();
  return QueueIf(before == nullptr || after == nullptr ||
                 AnnotationOf(before->metadata, kMigratedPluginsAnnotation) !=
                     AnnotationOf(after->metadata, kMigratedPluginsAnnotation));
}

// A pod may run when the capacity of a driver is checked no longer. Upstream asks whether the pod has inline CSI
// volumes of that driver, although the capacity check is about claims, and does not register for deletions.
QueueingHint AfterCsiDriverChange(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::CsiDriver>();
  const auto* after = event.New<api::CsiDriver>();
  const auto limits = [](const api::CsiDriver* driver) {
    return driver != nullptr && driver->storage_capacity.value_or(false);
  };
  return QueueIf((before == nullptr && after == nullptr) || (limits(before) && !limits(after)));
}

QueueingHint AfterCapacityChange(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::CsiStorageCapacity>();
  const auto* after = event.New<api::CsiStorageCapacity>();
  if (before == nullptr || after == nullptr) return QueueingHint::kQueue;
  const auto now = volumes::VolumeLimitOf(*after);
  const auto then = volumes::VolumeLimitOf(*before);
  return QueueIf(now && (!then || *now > *then));
}

std::vector<ClusterEventWithHint> VolumeBindingEvents() {
  using namespace framework::action;
  return {
      {{EventResource::kStorageClass, kAdd | kUpdate}, AfterClassChange},
      {{EventResource::kPersistentVolumeClaim, kAdd | kUpdate}, AfterClaimChange},
      {{EventResource::kPersistentVolume, kAdd | kUpdate}, {}},
      OnNode(kAdd | kUpdateNodeLabel),
      {{EventResource::kCsiNode, kAdd | kUpdate}, AfterCsiNodeChange},
      {{EventResource::kCsiDriver, kUpdate | kDelete}, AfterCsiDriverChange},
      {{EventResource::kCsiStorageCapacity, kAdd | kUpdate}, AfterCapacityChange},
  };
}

class VolumeBinding final : public PreFilterPlugin,
                            public FastFilter,
                            public FastPreScore,
                            public FastScore,
                            public ReservePlugin,
                            public PreBindPlugin,
                            public ObjectReader,
                            public EnqueueExtensions,
                            public VolumeBindingState {
 public:
  VolumeBinding(const config::VolumeBindingArgs& args, const Handle& handle)
      : handle_(handle),
        // More than a century would not fit into the clock.
        bind_timeout_(std::chrono::seconds(std::min(args.bind_timeout_seconds, kBindTimeoutSecondsMax))),
        sources_{handle.objects(),
                 volumes::VolumeCache::Make(handle.objects().Of<api::PersistentVolume>(), "persistentvolumes"),
                 volumes::ClaimCache::Make(handle.objects().Of<api::PersistentVolumeClaim>(), "persistentvolumeclaims"),
                 volumes::VolumeIndex::Make(handle.objects().Of<api::PersistentVolume>()),
                 volumes::CapacityIndex::Make(handle.objects().Of<api::CsiStorageCapacity>())},
        score_(handle.release().scores_storage_capacity ? std::optional<volumes::CapacityScore>(args.shape)
                                                        : std::nullopt) {}

  std::string_view Name() const override { return names::kVolumeBinding; }
  bool ReadsPlacementOnly() const override { return true; }
  std::vector<ObjectKind> ObjectsRead() const override {
    using enum ObjectKind;
    return {kPersistentVolume, kPersistentVolumeClaim, kStorageClass, kCsiNode, kCsiDriver, kCsiStorageCapacity};
  }

  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    if (!volumes::HasClaims(pod)) return {Status::Skip(), std::nullopt};
    volumes::PreparedVolumes prepared = volumes::Prepare(sources_, pod);
    if (prepared.volumes) cycle.state.Write(kStateKey, std::move(prepared.volumes));
    return {std::move(prepared.status), std::nullopt};
  }

  Status Filter(const Cycle& cycle, const PodInfo&, const NodeInfo& node) const override {
    const auto* pod = cycle.state.Read<volumes::PodVolumes>(kStateKey);
    if (pod == nullptr) return Status::Error(std::string(kNoState));
    volumes::NodeDecision decision = volumes::DecideNode(sources_, *pod, node.node());
    if (!decision.error.empty()) {
      CountErrors(handle_.metrics(), "predicate", 1);
      return Status::Error(std::move(decision.error));
    }
    return decision.reasons == 0 ? Status::Success() : volumes::RefusalFor(decision.reasons);
  }

  void FilterRows(const Cycle& cycle, const PodInfo&, std::span<const NodeIndex> rows, std::span<VerdictId> verdicts,
                  StatusTable& statuses) const override {
    const auto* pod = cycle.state.Read<volumes::PodVolumes>(kStateKey);
    if (pod == nullptr) {
      const VerdictId id = statuses.Intern(Status::Error(std::string(kNoState)));
      for (const NodeIndex row : rows) {
        if (verdicts[row] == kVerdictOk) verdicts[row] = id;
      }
      return;
    }
    volumes::RowMatcher matcher(sources_, *pod, cycle.table);
    std::array<VerdictId, volumes::kReasonSetCount> refusals{};
    volumes::NodeDecision decision;
    int errors = 0;
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
      matcher.SetRow(row);
      volumes::Decide(*pod, matcher, decision);
      if (!decision.error.empty()) {
        ++errors;
        verdicts[row] = statuses.Intern(Status::Error(decision.error));
      } else if (decision.reasons != 0) {
        VerdictId& id = refusals[decision.reasons];
        if (id == kVerdictOk) id = statuses.Intern(volumes::RefusalFor(decision.reasons));
        verdicts[row] = id;
      }
    }
    if (errors > 0) CountErrors(handle_.metrics(), "predicate", errors);
  }

  // Nodes are scored by their storage with Release::scores_storage_capacity, and not at all without it. A pod without a
  // claim that is to be bound has 0 on every node.
  Dependency PreScoreDependsOn() const override { return Dependency::kNode; }
  bool PreScoreSkips(const Cycle& cycle, const PodInfo& pod) const override {
    if (!score_ || !volumes::HasClaims(pod)) return true;
    const auto* state = cycle.state.Read<volumes::PodVolumes>(kStateKey);
    return state != nullptr && state->delayed.empty();
  }

  Status PreScore(const Cycle&, const PodInfo&, std::span<const NodeIndex>) const override {
    return score_ ? Status::Success() : Status::Skip();
  }
  Dependency ScoreDependsOn() const override { return Dependency::kCycle; }
  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node,
                     Status& status) const override {
    if (PreScoreSkips(cycle, pod)) return 0;
    const auto* state = cycle.state.Read<volumes::PodVolumes>(kStateKey);
    if (state == nullptr) {
      status = Status::Error(std::string(kNoState));
      return 0;
    }
    volumes::PlainNode view(sources_, *state, node.node());
    volumes::NodeDecision decision;
    volumes::Decide(*state, view, decision);
    return score_->Of(*state, view, decision);
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status) const override {
    if (PreScoreSkips(cycle, pod)) return framework::FillRows(rows, scores, std::int64_t{0});
    const auto* state = cycle.state.Read<volumes::PodVolumes>(kStateKey);
    if (state == nullptr) {
      status = Status::Error(std::string(kNoState));
      return;
    }
    volumes::RowMatcher matcher(sources_, *state, cycle.table);
    volumes::NodeDecision decision;
    for (const NodeIndex row : rows) {
      matcher.SetRow(row);
      volumes::Decide(*state, matcher, decision);
      scores[row] = score_->Of(*state, matcher, decision);
    }
  }

  Status Reserve(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) override {
    if (!volumes::HasClaims(pod)) return {};
    Unreserve(pod, node_name);
    const auto* state = cycle.state.Read<volumes::PodVolumes>(kStateKey);
    if (state == nullptr) return Status::Error(std::string(kNoState));
    const NodeIndex row = cycle.nodes.Find(node_name);
    if (row == kNoNode || volumes::AreAllBound(sources_, pod)) return {};
    // Nothing has changed since Filter, so that this is what it found for the node.
    const NodeInfo& node = cycle.nodes.Info(row);
    const volumes::NodeDecision decision = volumes::DecideNode(sources_, *state, node.node());
    if (!decision.error.empty() || decision.reasons != 0) return {};
    auto reservation = std::make_shared<volumes::Reservation>();
    reservation->node = node.node_ptr();
    Status status = volumes::Assume(sources_, *state, decision, *reservation);
    if (status.IsSuccess()) {
      reservations_.insert_or_assign(pod.uid, std::move(reservation));
    } else {
      CountErrors(handle_.metrics(), "assume", 1);
    }
    return status;
  }

  void Unreserve(const PodInfo& pod, std::string_view) override {
    const auto it = reservations_.find(pod.uid);
    if (it == reservations_.end()) return;
    volumes::Revert(sources_, *it->second);
    reservations_.erase(it);
  }

  // kSkip: every claim was bound at Reserve, or there are none.
  Status PreBindPreFlight(const PodInfo& pod) override {
    return reservations_.contains(pod.uid) ? Status::Success() : Status::Skip();
  }

  Operation PreBind(const PodInfo& pod) override {
    const auto it = reservations_.find(pod.uid);
    if (it == reservations_.end()) return Operation::Done();
    // When all is bound the store has other objects than those that were assumed: nothing is left for Unreserve to do.
    auto on_bound = [this, uid = pod.uid, bound = it->second.get()] {
      const auto entry = reservations_.find(uid);
      if (entry != reservations_.end() && entry->second.get() == bound) reservations_.erase(entry);
    };
    return std::make_shared<volumes::BindOperation>(handle_, sources_, it->second, bind_timeout_, std::move(on_bound))
        ->Start();
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override { return VolumeBindingEvents(); }

  const volumes::Sources& sources() const override { return sources_; }
  std::size_t reservation_count() const override { return reservations_.size(); }

 private:
  const Handle& handle_;
  const Duration bind_timeout_;
  const volumes::Sources sources_;
  const std::optional<volumes::CapacityScore> score_;
  // The pods between Reserve and the end of PreBind, by uid.
  StringHashMap<std::shared_ptr<volumes::Reservation>> reservations_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateVolumeBinding(const config::VolumeBindingArgs& args, Handle& handle) {
  return std::make_unique<VolumeBinding>(args, handle);
}

}  // namespace berth::plugins
