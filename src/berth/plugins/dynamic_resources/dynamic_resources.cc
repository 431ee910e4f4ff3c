// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/dynamic_resources.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/random.h"
#include "berth/core/config/args.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/plugins/dynamic_resources/allocator.h"
#include "berth/plugins/dynamic_resources/bind_claims.h"
#include "berth/plugins/dynamic_resources/binding_conditions.h"
#include "berth/plugins/dynamic_resources/claim_json.h"
#include "berth/plugins/dynamic_resources/claim_writes.h"
#include "berth/plugins/dynamic_resources/extended_resources.h"
#include "berth/plugins/dynamic_resources/pod_claims.h"
#include "berth/plugins/helper/device_state.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/node_selector.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

constexpr std::string_view kStateKey = "DynamicResources";

// Upstream gives up a node after filterTimeout. The core has no clock: it gives up after as many devices as that time
// is microseconds long, so that the same cluster gives the same answer on any machine. They are those of a cycle, not
// of a node, lest one pod keep the others waiting for all nodes. Without a timeout there still is an end.
constexpr std::int64_t kStepsMax = 100'000'000;

std::int64_t StepsOf(Duration filter_timeout) {
  const std::int64_t steps = filter_timeout / std::chrono::microseconds(1);
  return steps <= 0 ? kStepsMax : std::min(steps, kStepsMax);
}

Status Refusal(std::string reason) { return Status::UnschedulableAndUnresolvable(std::move(reason)); }

// The score of a claim that is allocated already.
std::int64_t PriorityScoreOf(const api::ResourceClaim& claim, const api::AllocationResult& allocation) {
  std::int64_t score = 0;
  for (const api::DeviceRequest& request : claim.spec.requests) {
    for (std::size_t i = 0; i < request.first_available.size() && !request.exactly; ++i) {
      const std::string name = request.name + "/" + request.first_available[i].name;
      const auto& results = allocation.results;
      if (std::any_of(results.begin(), results.end(), [&](const auto& result) { return result.request == name; })) {
        score += kAlternativesMax - static_cast<std::int64_t>(i);
      }
    }
  }
  return score;
}

bool HasPriorities(const api::ResourceClaim& claim) {
  return std::any_of(claim.spec.requests.begin(), claim.spec.requests.end(),
                     [](const api::DeviceRequest& request) { return !request.first_available.empty(); });
}

// The claim for extended resources as some nodes need it: they provide the same resources through their devices.
struct NodeClaim {
  DeviceClaims::Ptr claim;
  std::vector<api::ContainerExtendedResourceRequest> mappings;
  ResolvedClaim resolved;
};

struct State final : StateData {
  struct Claim {
    DeviceClaims::Ptr claim;
    std::optional<NodeSelector> available_on;  // where its allocation can be used; absent: everywhere
    bool is_unusable = false;                  // its devices could not be prepared
    // The allocation that another pod of the group got for this claim in this cycle.
    std::optional<api::AllocationResult> shared{};
    api::ClaimConsumer consumer{};  // see ClaimReservation
  };
  struct OnNode {
    std::int64_t score = 0;
    const NodeClaim* extended = nullptr;
  };

  // The pod's own claims, then the claim for its extended resources.
  std::vector<Claim> claims;
  bool has_extended = false;
  std::vector<std::pair<std::string, std::int64_t>> extended_resources;
  bool has_priorities = false;
  bool retries_slow_allocations = true;  // Release
  std::int64_t allocated_score = 0;      // of claims that are allocated already

  // The allocator is null when every claim is allocated.
  std::unique_ptr<DeviceAllocator> allocator;
  std::vector<ResolvedClaim> resolved;  // of the pod's own claims, those to be allocated
  std::map<std::vector<std::string>, std::unique_ptr<NodeClaim>> node_claims;  // by the resources in the claim

  // Written by Filter.
  std::set<std::size_t> unavailable;  // allocated claims that some node cannot use
  StringHashMap<OnNode> on_node;      // where the allocator succeeded, by node

  const DeviceClaims::Ptr& extended_claim() const { return claims.back().claim; }
  std::size_t user_count() const { return claims.size() - (has_extended ? 1 : 0); }

  std::vector<const ResolvedClaim*> ToAllocate(const NodeClaim* extended) const {
    std::vector<const ResolvedClaim*> wanted;
    for (const ResolvedClaim& claim : resolved) wanted.push_back(&claim);
    if (extended != nullptr) wanted.push_back(&extended->resolved);
    return wanted;
  }
};

const api::PodGroup* GroupObjectOf(const Handle& handle, const PodInfo& pod) {
  const framework::PodGroups* const groups = handle.pod_groups();
  return groups == nullptr || pod.pod_group_name.empty() ? nullptr : groups->FindPodGroup(framework::GroupOf(pod));
}

// The name under which pods share what one of them gets in a cycle. It is that of their PodGroup, also where a
// composite group is tried in that cycle; empty for a pod that shares with nobody.
std::string SharingGroupOf(const Handle& handle, const PodInfo& pod) {
  const framework::PodGroups* const groups = handle.pod_groups();
  if (groups == nullptr || pod.pod_group_name.empty()) return {};
  const framework::PodGroupKey group = framework::GroupOf(pod);
  return groups->RootOf(group) ? group.EntityText() : std::string();
}

// Why it cannot be said which devices are in use, in upstream's words; empty: it can.
std::string UsageErrorOf(const DeviceClaims& claims) {
  const auto& all = claims.negative_usages();
  if (all.empty()) return {};
  const auto& [uid, first] =
      *std::ranges::min_element(all, {}, [](const auto& entry) -> const std::string& { return entry.second.claim; });
  std::string error = "claim " + first.claim + ", device " + first.device + ": consumed capacity \"" + first.capacity +
                      "\" must not be negative, got " + QuantityText(first.amount);
  if (all.size() > 1)
    error += " (and " + std::to_string(all.size() - 1) + " more claims with invalid consumed capacity)";
  return error;
}

Status CheckDeviceClass(const DeviceState& devices, const std::string& class_name, const std::string& request) {
  if (class_name.empty()) return Status::Error("request " + request + ": unsupported request type");
  if (devices.class_store().Find(class_name) != nullptr) return {};
  return Refusal("request " + request + ": device class " + class_name + " does not exist");
}

// What PreFilter says of a claim, without a look at nodes.
Status CheckClaim(DeviceState& devices, State& state, std::size_t index, std::string_view sharing,
                  bool has_binding_conditions, Duration binding_timeout, Time wall_now) {
  State::Claim& entry = state.claims[index];
  const api::ResourceClaim& claim = *entry.claim;
  if (claim.allocation) {
    if (claim.allocation->node_selector) {
      const std::string errors = NodeSelectorErrors(*claim.allocation->node_selector);
      if (!errors.empty()) return Status::Error(errors);
      entry.available_on.emplace(*claim.allocation->node_selector);
    }
    if (!has_binding_conditions) return {};
    using Readiness = BindingReadiness::State;
    const Readiness readiness = ReadinessOf(claim).state;
    entry.is_unusable = readiness == Readiness::kFailed ||
                        (readiness == Readiness::kWaiting && IsBindingOverdue(claim, binding_timeout, wall_now));
    return {};
  }
  if (const auto* const open = devices.claims.OpenAllocation(claim.metadata.uid, sharing); open != nullptr) {
    entry.shared = *open;
    if (!open->node_selector) return {};
    const std::string errors = NodeSelectorErrors(*open->node_selector);
    if (!errors.empty()) return Status::Error(errors);
    entry.available_on.emplace(*open->node_selector);
    return {};
  }
  const std::string key = claim.metadata.namespace_name + "/" + claim.metadata.name;
  if (devices.claims.PendingAllocation(claim.metadata.uid) != nullptr) {
    return Refusal("resource claim " + key + " is in the process of being allocated");
  }
  // The claim for extended resources has no requests yet, or is from an earlier cycle, which Filter finds out.
  if (state.has_extended && index + 1 == state.claims.size()) return {};
  for (const api::DeviceRequest& request : claim.spec.requests) {
    if (request.exactly) {
      Status status = CheckDeviceClass(devices, request.exactly->device_class_name, request.name);
      if (!status.IsSuccess()) return status;
    } else if (request.first_available.empty()) {
      return Refusal("resource claim " + key + ", request " + request.name + ": unknown request type");
    } else {
      for (const api::ExactDeviceRequest& alternative : request.first_available) {
        Status status = CheckDeviceClass(devices, alternative.device_class_name, request.name + "/" + alternative.name);
        if (!status.IsSuccess()) return status;
      }
    }
  }
  return {};
}

// Sets `extended` to the claim for the extended resources that the node provides through its devices; null when there
// is nothing to allocate for them.
Status ExtendedClaimFor(DeviceState& devices, State& state, const PodInfo& pod, const NodeInfo& node,
                        const NodeClaim*& extended) {
  extended = nullptr;
  if (!state.has_extended) return {};
  const api::ResourceClaim& claim = *state.extended_claim();
  // A claim with requests is from an earlier cycle: PostFilter deletes it.
  if (!claim.spec.requests.empty()) {
    static const Status kStale = Refusal("cannot schedule extended resource claim");
    return kStale;
  }
  std::vector<std::string> resources;
  const auto& scalars = node.allocatable().scalars;
  for (const auto& [name, amount] : state.extended_resources) {
    const auto provided = std::find_if(scalars.begin(), scalars.end(), [&](const auto& s) { return s.first == name; });
    const bool is_provided = provided != scalars.end();
    if ((!is_provided || provided->second == 0) && devices.classes.Find(name) != nullptr) {
      resources.push_back(name);
    } else if (!is_provided) {
      static const Status kNoResource = Refusal("cannot fit resource");
      return kNoResource;
    }
  }
  if ((resources.empty() && state.user_count() == 0) || claim.allocation) return {};
  std::unique_ptr<NodeClaim>& made = state.node_claims[resources];
  if (made == nullptr) {
    made = std::make_unique<NodeClaim>();
    ExtendedResourceRequests requests = MakeExtendedResourceRequests(pod.spec(), resources, devices.classes);
    auto copy = std::make_shared<api::ResourceClaim>(claim);
    copy->spec.requests = std::move(requests.requests);
    made->claim = copy;
    made->mappings = std::move(requests.mappings);
    made->resolved = ResolveClaim(made->claim, devices.class_store(), devices.selectors);
  }
  extended = made.get();
  return {};
}

Status FilterNode(DeviceState& devices, State& state, const PodInfo& pod, const NodeInfo& node, bool is_column) {
  const NodeClaim* extended = nullptr;
  if (Status status = ExtendedClaimFor(devices, state, pod, node, extended); !status.IsSuccess()) return status;
  if (extended == nullptr && state.user_count() == 0) return {};
  const auto is_available_here = [&](const State::Claim& claim) {
    const bool is_here = !claim.available_on || claim.available_on->Matches(node.name(), node.node().metadata.labels);
    return is_here && !claim.is_unusable;
  };
  const bool is_available = std::ranges::all_of(state.claims, is_available_here);
  if (state.allocator != nullptr) {
    using Result = DeviceAllocator::Result;
    const std::vector<const ResolvedClaim*> wanted = state.ToAllocate(extended);
    NodePools gathered;
    if (!is_column) gathered = devices.slices.GatherPools(node.node());
    const NodePools& pools = is_column ? devices.slices.PoolsOf(node.node_ptr()) : gathered;
    const DeviceAllocator::Answer answer = state.allocator->Allocate(pools, wanted, is_column);
    switch (answer.result) {
      case Result::kAllocated: break;
      case Result::kNotAllocated: {
        static const Status kNotAllocated = Refusal("cannot allocate all claims");
        return kNotAllocated;
      }
      case Result::kFailedOnNode: return Refusal(answer.message);
      case Result::kError: return Status::Error(answer.message);
      case Result::kOutOfSteps:
        if (!state.retries_slow_allocations) return Refusal("timed out trying to allocate devices");
        return Status::Error("node " + node.name() + ": timed out trying to allocate devices");
    }
    if (is_available) {
      State::OnNode& found = state.on_node[node.name()];
      found = {state.allocated_score, extended};
      for (std::size_t i = 0; state.has_priorities && i < state.resolved.size(); ++i) {
        found.score += state.allocator->PriorityScore(i);
      }
    }
  }
  if (is_available) return {};
  // As upstream, a claim counts as unavailable only where all other claims could be allocated: giving it up would not
  // help elsewhere.
  for (std::size_t i = 0; i < state.claims.size(); ++i)
    if (!is_available_here(state.claims[i])) state.unavailable.insert(i);
  static const Status kNotAvailable = Refusal("resourceclaim not available on the node");
  return kNotAvailable;
}

Status NothingReleased(const Handle& handle, std::string_view why) {
  if (handle.release().is_claim_release_silent) return Status(Code::kUnschedulable, {});
  return Status::Unschedulable(std::string(why));
}

Status ReleaseOne(Handle& handle, const State& state, const PodInfo& pod, std::uint64_t seed, bool is_dry_run) {
  if (state.claims.empty()) return NothingReleased(handle, "no new claims to deallocate");
  // There is no telling which of them helps most: the cycle's seed picks one, as upstream picks any.
  std::vector<DeviceClaims::Ptr> candidates;
  for (const std::size_t index : state.unavailable) {
    const DeviceClaims::Ptr& claim = state.claims[index].claim;
    const bool is_last = state.has_extended && index + 1 == state.claims.size();
    const auto& consumers = claim->reserved_for;
    const bool is_only_ours = consumers.empty() || (consumers.size() == 1 && consumers.front().uid == pod.uid);
    if (!is_last && is_only_ours) candidates.push_back(claim);
  }
  if (!candidates.empty()) {
    if (!is_dry_run) handle.Start(DeallocateClaim(*candidates[Random(seed).Below(candidates.size())]));
    return Status::Unschedulable("deallocation of ResourceClaim completed");
  }
  if (state.has_extended && !IsInMemoryClaim(*state.extended_claim())) {
    if (!is_dry_run) handle.Start(DeleteClaim(state.extended_claim()));
    return Status::Unschedulable("deletion of ResourceClaim completed");
  }
  return NothingReleased(handle, "still not schedulable");
}

// The allocation of an earlier cycle may be what keeps the group from its nodes. Upstream: deallocatePodGroupClaims.
std::optional<Status> ReleaseOfGroup(Handle& handle, const DeviceState& devices, const api::PodGroup& group,
                                     std::span<const framework::PodGroupMember> members) {
  std::vector<DeviceClaims::Ptr> candidates;
  for (const framework::PodGroupMember& member : members) {
    const State* const state = member.state == nullptr ? nullptr : member.state->Read<State>(kStateKey);
    if (state == nullptr) continue;
    for (const std::size_t index : state->unavailable) {
      const DeviceClaims::Ptr& claim = state->claims[index].claim;
      const auto& consumers = claim->reserved_for;
      if (consumers.empty() || (consumers.size() == 1 && consumers.front().uid == group.metadata.uid))
        candidates.push_back(claim);
    }
  }
  const framework::PodGroupMember& first = members.front();
  if (!candidates.empty()) {
    handle.Start(DeallocateClaim(*candidates[Random(first.seed).Below(candidates.size())]));
    return Status::Unschedulable("deallocation of PodGroup ResourceClaim completed");
  }
  for (const api::PodGroupResourceClaim& wanted : group.resource_claims) {
    std::string error;
    const std::string* const name = ClaimNameOf(group, wanted, error);
    if (!error.empty()) return Status::Error(error);
    if (name == nullptr) continue;
    const DeviceClaims::Ptr claim = devices.claims.Find(group.metadata.namespace_name, *name);
    if (claim == nullptr)
      return Status::Error("could not find ResourceClaim \"" + group.metadata.namespace_name + "/" + *name + "\"");
    const auto& owner = claim->metadata.controller;
    if (!wanted.claim_name && (!owner || owner->uid != group.metadata.uid)) continue;
    if (!claim->allocation || !IsReservedFor(*claim, *first.pod, true)) continue;
    handle.Start(UnreserveClaim(*claim, group.metadata.uid));
    return Refusal("ResourceClaim unreserved for PodGroup");
  }
  return std::nullopt;
}

// Gives the pod what another pod of its group got in this cycle. If that pod has given it up, this one takes it over.
void Share(DeviceClaims& claims, const State& state, const std::string& sharing, ClaimReservation& reservation) {
  for (std::size_t i = 0; i < state.claims.size(); ++i) {
    if (!state.claims[i].shared) continue;
    ClaimReservation::Claim& claim = reservation.claims[i];
    claim.allocation = state.claims[i].shared;
    claim.pending_uid = claim.claim->metadata.uid;
    if (claims.SharePending(claim.pending_uid)) continue;
    auto pending = std::make_shared<api::ResourceClaim>(*claim.claim);
    pending->allocation = claim.allocation;
    claims.AddPending(claim.pending_uid, std::move(pending), sharing);
  }
}

QueueingHint AfterClaimChange(const Handle& handle, const DeviceClaims& claims, const PodInfo& pod,
                              const EventObjects& event) {
  const auto* before = event.Old<api::ResourceClaim>();
  const auto* after = event.New<api::ResourceClaim>();
  if (after == nullptr) {
    // A claim that was made for the pod's extended resources is in the pod's way until it has gone.
    return QueueIf(before == nullptr || before->allocation.has_value() ||
                   (before->metadata.controller && before->metadata.controller->uid == pod.uid));
  }
  const PodClaims found = FindPodClaims(pod, claims, handle.release());
  if (!found.error.empty()) return QueueingHint::kSkip;
  // Devices became free.
  if (before != nullptr && before->allocation && before->allocation != after->allocation) return QueueingHint::kQueue;
  const bool is_used = std::any_of(found.claims.begin(), found.claims.end(), [&](const DeviceClaims::Ptr& claim) {
    return claim->metadata.uid == after->metadata.uid;
  });
  if (!is_used) return QueueingHint::kSkip;
  return QueueIf(before == nullptr || before->allocation != after->allocation ||
                 before->reserved_for != after->reserved_for || before->devices != after->devices);
}

class DynamicResources : public PreEnqueuePlugin,
                         public PreFilterPlugin,
                         public FastFilter,
                         public PostFilterPlugin,
                         public framework::PodGroupPostFilterPlugin,
                         public ReservePlugin,
                         public PreBindPlugin,
                         public ObjectReader,
                         public EnqueueExtensions {
 public:
  DynamicResources(const config::DynamicResourcesArgs& args, Handle& handle)
      : handle_(handle),
        filter_timeout_(args.filter_timeout),
        binding_timeout_(args.binding_timeout),
        devices_(DeviceState::Of(handle)),
        nothing_(std::make_shared<State>()) {}

  std::string_view Name() const override { return names::kDynamicResources; }

  // Holds the pod back until its claims are there.
  Status PreEnqueue(const PodInfo& pod) const override {
    if (pod.spec().resource_claims.empty()) return {};
    const std::string error = FindPodClaims(pod, devices_->claims, handle_.release()).error;
    return error.empty() ? Status() : Refusal(error);
  }

  Dependency PreFilterDependsOn() const override { return Dependency::kCycle; }
  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    cycle.state.Write(kStateKey, nothing_);
    PodClaims found;
    const bool accepts_groups = handle_.release().has_pod_group_claims;
    if (!pod.spec().resource_claims.empty()) found = FindPodClaims(pod, devices_->claims, handle_.release());
    if (!found.error.empty()) return {Refusal(found.error), std::nullopt};
    auto extended_resources = DeviceBackedRequests(pod, devices_->classes);
    if (found.claims.empty() && extended_resources.empty()) return {Status::Skip(), std::nullopt};

    auto state = std::make_shared<State>();
    state->retries_slow_allocations = handle_.release().retries_slow_allocations;
    state->extended_resources = std::move(extended_resources);
    const api::PodGroup* const group = accepts_groups ? GroupObjectOf(handle_, pod) : nullptr;
    for (std::size_t i = 0; i < found.claims.size(); ++i) {
      State::Claim& claim = state->claims.emplace_back();
      claim.claim = std::move(found.claims[i]);
      claim.consumer = ConsumerOf(pod, found.positions[i], group);
    }
    if (!state->extended_resources.empty()) {
      DeviceClaims::Ptr claim = devices_->claims.FindExtendedResourceClaim(pod);
      if (claim == nullptr) claim = MakeInMemoryClaim(pod);
      state->claims.emplace_back().claim = std::move(claim);
      state->has_extended = true;
    }
    bool needs_allocator = false;
    const std::string sharing = SharingGroupOf(handle_, pod);
    const bool has_binding_conditions = handle_.release().devices.has_binding_conditions;
    for (std::size_t i = 0; i < state->claims.size(); ++i) {
      if (Status status =
              CheckClaim(*devices_, *state, i, sharing, has_binding_conditions, binding_timeout_, cycle.wall_now);
          !status.IsSuccess())
        return {std::move(status), std::nullopt};
      const api::ResourceClaim& claim = *state->claims[i].claim;
      const auto& allocation = claim.allocation ? claim.allocation : state->claims[i].shared;
      needs_allocator |= !allocation;
      state->has_priorities |= HasPriorities(claim);
      if (allocation) state->allocated_score += PriorityScoreOf(claim, *allocation);
    }
    if (const std::string error = UsageErrorOf(devices_->claims); needs_allocator && !error.empty())
      return {Status::Error("gather allocation state: " + error), std::nullopt};
    if (needs_allocator) {
      state->allocator =
          std::make_unique<DeviceAllocator>(devices_->claims, StepsOf(filter_timeout_), handle_.release().devices);
      for (std::size_t i = 0; i < state->user_count(); ++i) {
        if (state->claims[i].claim->allocation || state->claims[i].shared) continue;
        state->resolved.push_back(ResolveClaim(state->claims[i].claim, devices_->class_store(), devices_->selectors));
      }
    }
    cycle.state.Write(kStateKey, std::move(state));
    return {};
  }

  Dependency FilterDependsOn() const override { return Dependency::kCycle; }
  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const override {
    State* state = cycle.state.Mutable<State>(kStateKey);
    if (state == nullptr) return Status::Error("not found");
    if (state->claims.empty()) return {};
    return FilterNode(*devices_, *state, pod, node, false);
  }

  // Uses what is cached of pools and selectors; the plain form computes it each time.
  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    State* state = cycle.state.Mutable<State>(kStateKey);
    if (state != nullptr && state->claims.empty()) return;
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
      const Status status = state == nullptr ? Status::Error("not found")
                                             : FilterNode(*devices_, *state, pod, cycle.nodes.Info(row), true);
      if (!status.IsSuccess()) verdicts[row] = statuses.Intern(status);
      // An error ends the cycle, whatever the other nodes would have said.
      if (status.code() == Code::kError) return;
    }
  }

  // Gives back one claim that is allocated where the pod cannot use it. Upstream reads the state that its PreFilter
  // wrote and fails with "not found" where an earlier plugin's PreFilter refused the pod, so that its own never ran; so
  // do we. Unlike upstream, nobody waits for the API server's answer: a write that fails is tried again in the next
  // cycle.
  PostFilterResult PostFilter(const Cycle& cycle, const PodInfo& pod, const NodeStatuses&,
                              FilterRunner&) const override {
    PostFilterResult result;
    const auto* state = cycle.state.Read<State>(kStateKey);
    result.status =
        state == nullptr ? Status::Error("not found") : ReleaseOne(handle_, *state, pod, cycle.seed, cycle.is_dry_run);
    return result;
  }
  bool AnswersDryRuns() const override { return true; }

  // Gives back a claim for each waiting member of a group. Then, if none of the group's pods has a node, it gives back
  // one of the group's own claims and ends that claim's reservation for the group.
  framework::PodGroupPostFilterResult PodGroupPostFilter(const framework::PodGroupKey& group,
                                                         std::span<const framework::PodGroupMember> members,
                                                         framework::PodGroupDryRun&) const override {
    const Status nothing(Code::kUnschedulable, {});
    if (group.is_composite) return {nothing, {}, {}};
    const api::PodGroup* const pod_group = handle_.pod_groups()->FindPodGroup(group);
    const bool has_constraints = pod_group != nullptr && !pod_group->topology_keys.empty();
    if (has_constraints && handle_.release().places_pod_groups_by_topology) return {nothing, {}, {}};
    bool is_one_left = false;  // a member for which no claim was given up
    bool is_one_tried = false;
    for (const framework::PodGroupMember& member : members) {
      const State* const state = member.state == nullptr ? nullptr : member.state->Read<State>(kStateKey);
      if (state == nullptr) continue;
      is_one_tried = true;
      is_one_left |= ReleaseOne(handle_, *state, *member.pod, member.seed, false).reasons().empty();
    }
    // Upstream keeps what PreFilter finds with the group, and does not find it then.
    if (!is_one_tried) return {.status = Status::Error("not found")};
    const bool is_whole_waiting = handle_.pod_groups()->CountsOf(group).scheduled == 0;
    if (is_one_left && is_whole_waiting && pod_group != nullptr && handle_.release().has_pod_group_claims) {
      if (std::optional<Status> released = ReleaseOfGroup(handle_, *devices_, *pod_group, members))
        return {.status = *std::move(released)};
    }
    return {.status = Status::Unschedulable("deallocation and deletion of ResourceClaims completed")};
  }

  Status Reserve(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) override {
    State* state = cycle.state.Mutable<State>(kStateKey);
    if (state == nullptr) return Status::Error("not found");
    if (state->claims.empty()) return {};
    auto reservation = std::make_shared<ClaimReservation>();
    const std::string sharing = SharingGroupOf(handle_, pod);
    reservation->is_of_group = !sharing.empty();
    for (std::size_t i = 0; i < state->claims.size(); ++i) {
      reservation->claims.push_back(
          {state->claims[i].claim, std::nullopt, {}, i >= state->user_count(), state->claims[i].consumer});
    }
    if (state->allocator != nullptr) {
      const auto on_node = state->on_node.find(node_name);
      const NodeIndex row = cycle.nodes.Find(node_name);
      if (on_node == state->on_node.end() || row == kNoNode) {
        if (!state->resolved.empty()) return Status::Error("claim allocation not found for node");
        // The node's device plugin provides the extended resources, which are all that the pod wants.
        Share(devices_->claims, *state, sharing, *reservation);
        reservations_[pod.uid] = std::move(reservation);
        return {};
      }
      // Filter's result was not kept for every node: the search is made again and finds the same.
      const NodeClaim* extended = on_node->second.extended;
      const auto& node = cycle.nodes.Info(row).node_ptr();
      const DeviceAllocator::Answer answer =
          state->allocator->Allocate(devices_->slices.PoolsOf(node), state->ToAllocate(extended));
      if (answer.result != DeviceAllocator::Result::kAllocated) {
        return Status::Error("claim allocation not found for node");
      }
      std::vector<api::AllocationResult> results = state->allocator->Results(node_name, cycle.seed);
      std::size_t next = 0;
      for (std::size_t i = 0; i < reservation->claims.size(); ++i) {
        ClaimReservation::Claim& claim = reservation->claims[i];
        if (claim.claim->allocation || state->claims[i].shared || next == results.size()) continue;
        auto pending = std::make_shared<api::ResourceClaim>(claim.is_extended ? *extended->claim : *claim.claim);
        claim.allocation = std::move(results[next++]);
        pending->allocation = claim.allocation;
        claim.pending_uid = pending->metadata.uid;
        devices_->claims.AddPending(claim.pending_uid, std::move(pending), claim.is_extended ? std::string() : sharing);
      }
      if (extended != nullptr) {
        reservation->extended_claim = extended->claim;
        reservation->mappings = extended->mappings;
      }
    }
    Share(devices_->claims, *state, sharing, *reservation);
    reservations_[pod.uid] = std::move(reservation);
    return {};
  }

  void Unreserve(const PodInfo& pod, std::string_view) override {
    const auto it = reservations_.find(pod.uid);
    if (it == reservations_.end()) {
      // Reserve was not reached, or PreBind has ended and the pod was not bound.
      for (const DeviceClaims::Ptr& claim : FindReservedClaims(pod, devices_->claims)) {
        handle_.Start(UnreserveClaim(*claim, pod.uid));
      }
      if (pod.pod_class->requests.scalars.empty()) return;
      if (DeviceClaims::Ptr claim = devices_->claims.FindExtendedResourceClaim(pod)) handle_.Start(DeleteClaim(claim));
      return;
    }
    const std::shared_ptr<ClaimReservation> reservation = std::move(it->second);
    reservations_.erase(it);
    for (std::size_t i = 0; i < reservation->claims.size(); ++i) {
      const ClaimReservation::Claim& claim = reservation->claims[i];
      if (reservation->being_written == i && claim.allocation && !claim.is_extended) {
        handle_.Start(SettleClaim(handle_, devices_, claim, pod));
        continue;
      }
      if (devices_->claims.ReleasePending(claim.pending_uid))
        devices_->claims.Restore(claim.claim->metadata.namespace_name, claim.claim->metadata.name);
      if (claim.is_extended) {
        if (!IsInMemoryClaim(*claim.claim)) handle_.Start(DeleteClaim(claim.claim));
      } else if (claim.claim->allocation && IsReservedFor(*claim.claim, pod)) {
        handle_.Start(UnreserveClaim(*claim.claim, pod.uid));
      }
    }
  }

  Status PreBindPreFlight(const PodInfo& pod) override {
    return reservations_.contains(pod.uid) ? Status() : Status::Skip();
  }

  Operation PreBind(const PodInfo& pod) override {
    const auto it = reservations_.find(pod.uid);
    if (it == reservations_.end()) return Operation::Done();
    for (const ClaimReservation::Claim& claim : it->second->claims) devices_->claims.ClosePending(claim.pending_uid);
    return BindClaims(handle_, devices_, it->second, pod, binding_timeout_,
                      [this, uid = pod.uid] { reservations_.erase(uid); });
  }

  std::vector<ObjectKind> ObjectsRead() const override {
    using enum ObjectKind;
    if (!handle_.release().reads_device_taint_rules) return {kResourceSlice, kDeviceClass, kResourceClaim};
    return {kResourceSlice, kDeviceClass, kResourceClaim, kDeviceTaintRule};
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    using enum EventResource;
    return {
        OnNode(kAdd | kUpdateNodeLabel | kUpdateNodeAllocatable),
        {{kResourceClaim, kAdd | kUpdate | kDelete},
         [this](const PodInfo& pod, const EventObjects& event) {
           return AfterClaimChange(handle_, devices_->claims, pod, event);
         }},
        // The pod's status now names a claim that was made for it.
        OnPod(kUpdatePodGeneratedResourceClaim,
              [this](const PodInfo& pod, const EventObjects& event) {
                return QueueIf(IsOwnUpdate(pod, event) &&
                               FindPodClaims(*event.new_pod, devices_->claims, handle_.release()).error.empty());
              }),
        {{kDeviceClass, kAdd | kUpdate}, {}},
        // A deleted slice helps a request for all of a pool's devices, which are fewer then.
        {{kResourceSlice, kAdd | kUpdate | kDelete}, {}},
    };
  }

 private:
  Handle& handle_;
  const Duration filter_timeout_;
  const Duration binding_timeout_;
  const std::shared_ptr<DeviceState> devices_;
  const std::shared_ptr<State> nothing_;  // the state of a pod without claims
  // By the pod's uid, from Reserve until the claims are written or Unreserve is called. There is at most one for each
  // binding cycle.
  std::map<std::string, std::shared_ptr<ClaimReservation>, std::less<>> reservations_;
};

// Since Release::scores_devices.
class ScoringDynamicResources final : public DynamicResources, public FastScore {
 public:
  using DynamicResources::DynamicResources;

  Dependency ScoreDependsOn() const override { return Dependency::kCycle; }
  Normalization ScoreNormalization() const override { return Normalization::kMax; }
  bool ScoresNothing(const Cycle& cycle, const PodInfo&) const override {
    const auto* state = cycle.state.Read<State>(kStateKey);
    return state != nullptr && (!state->has_priorities || state->allocator == nullptr);
  }

  std::int64_t Score(const Cycle& cycle, const PodInfo&, NodeIndex, const NodeInfo& node,
                     Status& status) const override {
    const auto* state = cycle.state.Read<State>(kStateKey);
    if (state == nullptr) {
      status = Status::Error("not found");
      return 0;
    }
    const auto it = state->on_node.find(node.name());
    return it == state->on_node.end() ? 0 : it->second.score;
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status) const override {
    if (!ScoresNothing(cycle, pod)) {
      FastScore::ScoreRows(cycle, pod, rows, scores, status);
      return;
    }
    for (const NodeIndex row : rows) scores[row] = 0;
  }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateDynamicResources(const config::DynamicResourcesArgs& args, Handle& handle) {
  if (!handle.release().scores_devices) return std::make_unique<DynamicResources>(args, handle);
  return std::make_unique<ScoringDynamicResources>(args, handle);
}

}  // namespace berth::plugins
