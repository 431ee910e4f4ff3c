// SPDX-License-Identifier: Apache-2.0
// DynamicResources: allocates devices for the claims of a pod. It refuses nodes where they cannot be had, prefers those
// where alternatives that come first can, and writes allocation and reservation before the pod is bound.
// Upstream: dynamicresources.go, with structured parameters only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/plugins/names.h"

namespace berth::config {
struct DynamicResourcesArgs;
}

namespace berth::plugins {

struct ClaimReservation;
class DeviceState;

class DynamicResources final : public framework::PreEnqueuePlugin,
                               public framework::PreFilterPlugin,
                               public framework::FastFilter,
                               public framework::PostFilterPlugin,
                               public framework::PodGroupPostFilterPlugin,
                               public framework::FastScore,
                               public framework::ReservePlugin,
                               public framework::PreBindPlugin,
                               public framework::ObjectReader,
                               public framework::EnqueueExtensions {
 public:
  // `handle` must outlive the plugin.
  DynamicResources(const config::DynamicResourcesArgs& args, framework::Handle& handle);
  ~DynamicResources() override;

  std::string_view Name() const override { return names::kDynamicResources; }

  // Waits for the pod's claims.
  framework::Status PreEnqueue(const framework::PodInfo& pod) const override;

  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kCycle; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kCycle; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  // Uses what was found out about pools and selectors before, which the plain form finds out anew.
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;

  // Gives back one claim that is allocated where the pod cannot use it. Upstream reads the state that its PreFilter
  // wrote and fails with "not found" where an earlier plugin's PreFilter refused the pod, so that its own never ran; so
  // do we. Unlike upstream, nobody waits for the API server's answer: a write that fails is tried again in the next
  // cycle.
  framework::PostFilterResult PostFilter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                         const framework::NodeStatuses& statuses,
                                         framework::FilterRunner& filters) const override;
  bool AnswersDryRuns() const override { return true; }

  // The same for each waiting member of a group; then, if none of the group's pods has a node, for one of the group's
  // own claims, which is also reserved for the group no more.
  framework::PodGroupPostFilterResult PodGroupPostFilter(const framework::PodGroupKey& group,
                                                         std::span<const framework::PodGroupMember> members,
                                                         framework::PodGroupDryRun& dry_run) const override;

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kCycle; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kMax; }
  bool ScoresNothing(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;

  framework::Status Reserve(const framework::Cycle& cycle, const framework::PodInfo& pod,
                            std::string_view node_name) override;
  void Unreserve(const framework::PodInfo& pod, std::string_view node_name) override;

  framework::Status PreBindPreFlight(const framework::PodInfo& pod) override;
  framework::Operation PreBind(const framework::PodInfo& pod) override;

  std::vector<framework::ObjectKind> ObjectsRead() const override;
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  struct State;
  struct NodeClaim;

  framework::Status FilterNode(State& state, const framework::PodInfo& pod, const framework::NodeInfo& node,
                               bool is_column) const;
  framework::Status ReleaseOne(const State& state, const framework::PodInfo& pod, std::uint64_t seed,
                               bool is_dry_run) const;
  std::optional<framework::Status> ReleaseOfGroup(const api::PodGroup& group,
                                                  std::span<const framework::PodGroupMember> members) const;
  framework::Status NothingReleased(std::string_view why) const;
  framework::Status CheckClaim(State& state, std::size_t index, std::string_view sharing, Time wall_now) const;
  const api::PodGroup* GroupObjectOf(const framework::PodInfo& pod) const;
  std::string SharingGroupOf(const framework::PodInfo& pod) const;
  void Share(const State& state, const std::string& sharing, ClaimReservation& reservation) const;
  framework::Status CheckDeviceClass(const std::string& class_name, const std::string& request) const;
  framework::Status ExtendedClaimFor(State& state, const framework::PodInfo& pod, const framework::NodeInfo& node,
                                     const NodeClaim*& claim) const;
  framework::QueueingHint AfterClaimChange(const framework::PodInfo& pod, const framework::EventObjects& event) const;

  framework::Handle& handle_;
  const Duration filter_timeout_;
  const Duration binding_timeout_;
  const std::shared_ptr<DeviceState> devices_;
  const std::shared_ptr<State> nothing_;  // the state of a pod without claims
  // By the pod's uid, from Reserve until the claims are written or Unreserve: one for each binding cycle at most.
  std::map<std::string, std::shared_ptr<ClaimReservation>, std::less<>> reservations_;
};

}  // namespace berth::plugins
