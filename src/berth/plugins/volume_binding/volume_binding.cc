// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/volume_binding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "berth/core/config/args.h"
#include "berth/core/instruments/plugin_metrics.h"
#include "berth/framework/row_runs.h"
#include "berth/plugins/volume_binding/bind_operation.h"
#include "berth/plugins/volume_binding/hints.h"
#include "berth/plugins/volume_binding/row_matcher.h"

namespace berth::plugins {

using framework::NodeIndex;
using framework::Operation;
using framework::PodInfo;
using framework::Status;

namespace {

constexpr std::int64_t kBindTimeoutSecondsMax = std::int64_t{100} * 366 * 24 * 3600;
constexpr std::string_view kStateKey = "VolumeBinding";
// What upstream's CycleState says where a profile turns this plugin's PreFilter off.
constexpr std::string_view kNoState = "not found";

// Upstream counts those of Filter once a node, too.
void CountErrors(framework::Metrics& metrics, std::string_view stage, int count) {
  instruments::CounterOf(metrics, "scheduler_volume_scheduling_stage_error_total", {stage}).Add(count);
}

}  // namespace

VolumeBinding::VolumeBinding(const config::VolumeBindingArgs& args, const framework::Handle& handle)
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

std::vector<framework::ObjectKind> VolumeBinding::ObjectsRead() const {
  using enum framework::ObjectKind;
  return {kPersistentVolume, kPersistentVolumeClaim, kStorageClass, kCsiNode, kCsiDriver, kCsiStorageCapacity};
}

framework::PreFilterResult VolumeBinding::PreFilter(const framework::Cycle& cycle, const PodInfo& pod) const {
  if (!volumes::HasClaims(pod)) return {Status::Skip(), std::nullopt};
  volumes::PreparedVolumes prepared = volumes::Prepare(sources_, pod);
  if (prepared.volumes) cycle.state.Write(kStateKey, std::move(prepared.volumes));
  return {std::move(prepared.status), std::nullopt};
}

Status VolumeBinding::Filter(const framework::Cycle& cycle, const PodInfo&, const framework::NodeInfo& node) const {
  const auto* pod = cycle.state.Read<volumes::PodVolumes>(kStateKey);
  if (pod == nullptr) return Status::Error(std::string(kNoState));
  volumes::NodeDecision decision = volumes::DecideNode(sources_, *pod, node.node());
  if (!decision.error.empty()) {
    CountErrors(handle_.metrics(), "predicate", 1);
    return Status::Error(std::move(decision.error));
  }
  return decision.reasons == 0 ? Status::Success() : volumes::RefusalFor(decision.reasons);
}

void VolumeBinding::FilterRows(const framework::Cycle& cycle, const PodInfo&, std::span<const NodeIndex> rows,
                               std::span<framework::VerdictId> verdicts, framework::StatusTable& statuses) const {
  const auto* pod = cycle.state.Read<volumes::PodVolumes>(kStateKey);
  if (pod == nullptr) {
    const framework::VerdictId id = statuses.Intern(Status::Error(std::string(kNoState)));
    for (const NodeIndex row : rows) {
      if (verdicts[row] == framework::kVerdictOk) verdicts[row] = id;
    }
    return;
  }
  volumes::RowMatcher matcher(sources_, *pod, cycle.table);
  std::array<framework::VerdictId, volumes::kReasonSetCount> refusals{};
  volumes::NodeDecision decision;
  int errors = 0;
  for (const NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk) continue;
    matcher.SetRow(row);
    volumes::Decide(*pod, matcher, decision);
    if (!decision.error.empty()) {
      ++errors;
      verdicts[row] = statuses.Intern(Status::Error(decision.error));
    } else if (decision.reasons != 0) {
      framework::VerdictId& id = refusals[decision.reasons];
      if (id == framework::kVerdictOk) id = statuses.Intern(volumes::RefusalFor(decision.reasons));
      verdicts[row] = id;
    }
  }
  if (errors > 0) CountErrors(handle_.metrics(), "predicate", errors);
}

bool VolumeBinding::PreScoreSkips(const framework::Cycle& cycle, const PodInfo& pod) const {
  if (!score_ || !volumes::HasClaims(pod)) return true;
  const auto* state = cycle.state.Read<volumes::PodVolumes>(kStateKey);
  return state != nullptr && state->delayed.empty();
}

std::int64_t VolumeBinding::Score(const framework::Cycle& cycle, const PodInfo& pod, NodeIndex,
                                  const framework::NodeInfo& node, Status& status) const {
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

void VolumeBinding::ScoreRows(const framework::Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                              std::span<std::int64_t> scores, Status& status) const {
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

Status VolumeBinding::Reserve(const framework::Cycle& cycle, const PodInfo& pod, std::string_view node_name) {
  if (!volumes::HasClaims(pod)) return {};
  Unreserve(pod, node_name);
  const auto* state = cycle.state.Read<volumes::PodVolumes>(kStateKey);
  if (state == nullptr) return Status::Error(std::string(kNoState));
  const NodeIndex row = cycle.nodes.Find(node_name);
  if (row == framework::kNoNode || volumes::AreAllBound(sources_, pod)) return {};
  // Nothing has changed since Filter, so that this is what it found for the node.
  const framework::NodeInfo& node = cycle.nodes.Info(row);
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

void VolumeBinding::Unreserve(const PodInfo& pod, std::string_view) {
  const auto it = reservations_.find(pod.uid);
  if (it == reservations_.end()) return;
  volumes::Revert(sources_, *it->second);
  reservations_.erase(it);
}

Status VolumeBinding::PreBindPreFlight(const PodInfo& pod) {
  return reservations_.contains(pod.uid) ? Status::Success() : Status::Skip();
}

Operation VolumeBinding::PreBind(const PodInfo& pod) {
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

std::vector<framework::ClusterEventWithHint> VolumeBinding::EventsToRegister() const { return VolumeBindingEvents(); }

}  // namespace berth::plugins
