// SPDX-License-Identifier: Apache-2.0
// PreBind's writes, claim by claim:
//
//   in-memory claim --create--> claim --finalizer--> claim --allocation, reservation--> pod's status (extended only)
//                                 ^  |                        |
//                                 |  +------- conflict -------+---- no answer: read, and go on from what is there
//                                 +--- read ---+
//
// then the wait for binding conditions.
#include "berth/plugins/dynamic_resources/bind_claims.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "berth/core/instruments/plugin_metrics.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/plugins/dynamic_resources/binding_conditions.h"
#include "berth/plugins/dynamic_resources/claim_json.h"
#include "berth/plugins/dynamic_resources/claim_requests.h"
#include "berth/plugins/dynamic_resources/extended_resources.h"
#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {
namespace {

using framework::ObjectPatch;
using framework::StepResult;

constexpr Duration kPollInterval = std::chrono::seconds(5);
// How long a claim that was created may take to be seen (upstream: AssumeExtendedResourceTimeoutDefaultSeconds).
constexpr Duration kCreatedClaimTimeout = std::chrono::seconds(120);

// Called when it is known whether there is a claim.
void CountCreation(Handle& handle, std::string_view status) {
  framework::Counter& counter =
      handle.release().counts_entities
          ? instruments::CounterOf(handle.metrics(), "dynamic_resource_allocation_resourceclaim_creates_total",
                                   {status, "false", "", "Pod"})
          : instruments::CounterOf(handle.metrics(), "scheduler_resourceclaim_creates_total", {status});
  counter.Add();
}

// As upstream, the duration is observed for all devices of the pod, those without conditions included, and allocations
// are counted for the devices with conditions alone.
void CountWait(framework::Metrics& metrics, const PodInfo& pod, const ClaimReservation& reservation,
               std::string_view status, Duration waited) {
  const std::string& profile = pod.spec().scheduler_name;
  for (const ClaimReservation::Claim& claim : reservation.claims) {
    if (!claim.claim->allocation) continue;
    for (const api::DeviceAllocationResult& device : claim.claim->allocation->results) {
      instruments::HistogramOf(metrics, "scheduler_dra_bindingconditions_wait_duration_seconds",
                               {profile, device.driver, status})
          .Observe(instruments::Seconds(waited));
      if (device.binding_conditions.empty()) continue;
      instruments::CounterOf(metrics, "scheduler_dra_bindingconditions_allocations_total",
                             {profile, device.driver, status})
          .Add();
    }
  }
}

// The status of `claim`, as the API server has it, with what was decided for it, and when if `is_timed`.
codec::json::object NewStatus(const api::ResourceClaim& claim, const ClaimReservation::Claim& decided,
                              const PodInfo& pod, bool is_timed, Time wall_now) {
  codec::json::object status;
  if (decided.allocation && !claim.allocation) {
    api::AllocationResult written = *decided.allocation;
    if (is_timed && !written.allocation_timestamp) written.allocation_timestamp = wall_now;
    status["allocation"] = ToJson(written);
  }
  // Upstream also puts a timestamp into an allocation that has none, from before there were any. The API server
  // refuses that, because allocations are immutable, and the pod is never bound: we leave such an allocation alone.
  std::vector<api::ClaimConsumer> consumers = claim.reserved_for;
  const bool is_for_pod = decided.consumer.uid.empty();
  consumers.push_back(is_for_pod ? api::ClaimConsumer{{}, "pods", pod.name, pod.uid} : decided.consumer);
  status["reservedFor"] = ToJson(consumers);
  return status;
}

// Tells in the pod's status which claim has its extended resources.
ObjectPatch PodStatusPatch(const PodInfo& pod, const ClaimReservation& reservation, const std::string& claim_name) {
  codec::json::array mappings;
  for (const api::ContainerExtendedResourceRequest& mapping : reservation.mappings) {
    mappings.push_back(codec::json::object{{"containerName", mapping.container_name},
                                           {"resourceName", mapping.resource_name},
                                           {"requestName", mapping.request_name}});
  }
  codec::json::object status;
  status["requestMappings"] = std::move(mappings);
  status["resourceClaimName"] = claim_name;
  codec::json::object body;
  body["metadata"] = codec::json::object{{"uid", pod.uid}};
  body["status"] = codec::json::object{{"extendedResourceClaimStatus", std::move(status)}};
  return {
      {"v1", "pods", pod.namespace_name(), pod.name}, "status", framework::PatchType::kMerge, codec::WriteJson(body)};
}

framework::PodEvent PendingEvent(const PodInfo& pod) {
  framework::PodEvent event;
  event.regarding = {pod.namespace_name(), pod.name, pod.uid, pod.resource_version};
  event.reporting_controller = pod.spec().scheduler_name;
  event.reason = "BindingConditionsPending";
  event.action = "Scheduling";
  event.note = "waiting for binding conditions for device on node " + pod.node_name;
  return event;
}

class ClaimBinder final : public std::enable_shared_from_this<ClaimBinder> {
 public:
  ClaimBinder(Handle& handle, std::shared_ptr<DeviceState> state, std::shared_ptr<ClaimReservation> reservation,
              const PodInfo& pod, Duration timeout, std::function<void()> on_success)
      : handle_(handle),
        state_(std::move(state)),
        reservation_(std::move(reservation)),
        pod_(pod),
        timeout_(timeout),
        accepts_groups_(handle.release().has_pod_group_claims),
        on_success_(std::move(on_success)) {}

  // Begins with an empty step, which brings the time.
  Operation Start() { return Operation::After(Duration{0}, Then(&ClaimBinder::NextClaim)); }

 private:
  using Claim = ClaimReservation::Claim;

  // The next step: a method that takes the StepResult or nothing.
  template <typename... Result>
  Operation::Next Then(Operation (ClaimBinder::*method)(Result...)) {
    return [self = shared_from_this(), method](const StepResult& result) {
      self->now_ = result.now;
      self->wall_now_ = result.wall_now;
      if constexpr (sizeof...(Result) == 0) {
        return ((*self).*method)();
      } else {
        return ((*self).*method)(result);
      }
    };
  }

  // Whether the claim is reserved for the consumer of the current one: the pod, or its group.
  bool HasConsumer(const api::ResourceClaim& claim) {
    const std::string& wanted = current().consumer.uid;
    return std::ranges::any_of(claim.reserved_for, [&](const api::ClaimConsumer& consumer) {
      return consumer.uid == (wanted.empty() ? pod_.uid : wanted);
    });
  }
  Claim& current() { return reservation_->claims[index_]; }
  std::string Key() const { return claim_->metadata.namespace_name + "/" + claim_->metadata.name; }

  Operation NextClaim() {
    for (; index_ < reservation_->claims.size(); ++index_) {
      Claim& claim = current();
      const bool was_reserved = IsReservedFor(*claim.claim, pod_, accepts_groups_);
      // Another pod of the group may have written meanwhile.
      if (reservation_->is_of_group && !claim.is_extended) {
        if (turn_ == nullptr || *turn_ != claim.claim->metadata.uid)
          turn_ = state_->claims.TakeWriteTurn(claim.claim->metadata.uid);
        if (turn_ == nullptr) return Operation::After(kConflictDelay, Then(&ClaimBinder::NextClaim));
        if (const DeviceClaims::Ptr now =
                state_->claims.Find(claim.claim->metadata.namespace_name, claim.claim->metadata.name);
            now != nullptr && now->metadata.uid == claim.claim->metadata.uid)
          claim.claim = now;
      }
      // What others have reserved since the decision does not matter, or it would be chance who is among the consumers.
      if (was_reserved || HasConsumer(*claim.claim)) continue;
      // Extended resources that the node's device plugin provides need no claim.
      if (claim.is_extended && !claim.allocation && claim.claim->spec.requests.empty()) continue;
      claim_ = claim.claim;
      tries_ = 0;
      settle_tries_ = 0;
      return claim.is_extended && IsInMemoryClaim(*claim_) ? Create() : Write();
    }
    turn_ = nullptr;
    return WaitForDevices();
  }

  Operation Create() {
    if (reservation_->extended_claim == nullptr) {
      return Fail("extended resource claim not found for node " + pod_.node_name);
    }
    return Operation::Write(framework::ObjectCreate{{"resource.k8s.io/v1", "resourceclaims", pod_.namespace_name(), {}},
                                                    ExtendedClaimBody(*reservation_->extended_claim, pod_.name)},
                            Then(&ClaimBinder::Created));
  }

  Operation Created(const StepResult& result) {
    const DeviceClaims::Ptr created = result.error ? nullptr : DecodeClaim(result.body);
    if (created != nullptr) return Use(created);
    if (result.error && !result.error->outcome_unknown) {
      CountCreation(handle_, "failure");
      return Fail("create claim for extended resources " + pod_.namespace_name() + "/: " + result.error->message);
    }
    return Operation::After(SettleDelay(settle_tries_), Then(&ClaimBinder::FindCreated));
  }

  // Nobody knows the name of a claim whose creation was not answered; the watch shows it when it exists.
  Operation FindCreated() {
    if (const DeviceClaims::Ptr created = state_->claims.FindExtendedResourceClaim(pod_)) return Use(created);
    if (++settle_tries_ < kSettleTriesMax) {
      return Operation::After(SettleDelay(settle_tries_), Then(&ClaimBinder::FindCreated));
    }
    CountCreation(handle_, "failure");
    return Fail("create claim for extended resources " + pod_.namespace_name() + "/: no answer");
  }

  Operation Use(const DeviceClaims::Ptr& created) {
    CountCreation(handle_, "success");
    claim_ = current().claim = created;
    settle_tries_ = 0;
    return Write();
  }

  // Brings the claim as it is in claim_ one write further.
  Operation Write() {
    if (claim_->metadata.deletion_time) return Fail("claim " + Key() + " got deleted in the meantime");
    const auto& allocation = current().allocation;
    // The pods of a group that share the claim all plan the same allocation, and the first to come writes it.
    const bool is_shared = reservation_->is_of_group && allocation && claim_->allocation &&
                           claim_->allocation->results == allocation->results;
    if (allocation && claim_->allocation && !is_shared)
      return Fail("claim " + Key() + " got allocated elsewhere in the meantime");
    const bool is_protected =
        std::find(claim_->finalizers.begin(), claim_->finalizers.end(), kClaimFinalizer) != claim_->finalizers.end();
    if (allocation && !is_shared && !is_protected) {
      std::vector<std::string> finalizers = claim_->finalizers;
      finalizers.emplace_back(kClaimFinalizer);
      return Operation::Write(PatchFinalizers(*claim_, finalizers), Then(&ClaimBinder::Protected));
    }
    if (!allocation && !claim_->allocation) {
      return Fail("claim " + Key() + " got deallocated elsewhere in the meantime");
    }
    reservation_->being_written = index_;
    return Operation::Write(PatchStatus(*claim_, NewStatus(*claim_, current(), pod_, HasConditions(), wall_now_)),
                            Then(&ClaimBinder::Written));
  }

  Operation Protected(const StepResult& result) {
    if (result.error) return Again(*result.error, "add finalizer to claim ");
    const DeviceClaims::Ptr now = DecodeClaim(result.body);
    if (now == nullptr) return Read();
    claim_ = now;
    return Write();
  }

  Operation Written(const StepResult& result) {
    if (result.error) {
      return Again(*result.error,
                   current().allocation ? "add allocation and reservation to claim " : "add reservation to claim ");
    }
    const DeviceClaims::Ptr now = DecodeClaim(result.body);
    if (now == nullptr) return Read();
    reservation_->being_written.reset();
    return Finished(now);
  }

  // After a conflict, or when nobody knows whether a write took effect: looks at the claim and goes on from there.
  Operation Again(const Error& error, std::string_view doing) {
    if (error.outcome_unknown) {
      if (++settle_tries_ > kSettleTriesMax) return Fail(std::string(doing) + Key() + ": " + error.message);
      return Operation::After(SettleDelay(settle_tries_ - 1), Then(&ClaimBinder::Read));
    }
    reservation_->being_written.reset();
    if (error.code == ErrorCode::kConflict && ++tries_ < kConflictTriesMax) {
      return Operation::After(kConflictDelay, Then(&ClaimBinder::Read));
    }
    return Fail(std::string(doing) + Key() + ": " + error.message);
  }

  Operation Read() { return Operation::Write(framework::ObjectRead{RefOf(*claim_)}, Then(&ClaimBinder::HasRead)); }

  Operation HasRead(const StepResult& result) {
    const DeviceClaims::Ptr now = result.error ? nullptr : DecodeClaim(result.body);
    const bool is_gone = result.error && result.error->code == ErrorCode::kNotFound;
    if (now == nullptr || is_gone) {
      const std::string why = result.error ? result.error->message : "the answer is no ResourceClaim";
      if (!is_gone && ++settle_tries_ <= kSettleTriesMax) {
        return Operation::After(SettleDelay(settle_tries_ - 1), Then(&ClaimBinder::Read));
      }
      return Fail("get updated claim " + Key() + " after conflict: " + why);
    }
    reservation_->being_written.reset();
    claim_ = now;
    const auto& allocation = current().allocation;
    const bool is_ours =
        HasConsumer(*now) && now->allocation && (!allocation || now->allocation->results == allocation->results);
    return is_ours ? Finished(now) : Write();
  }

  // The claim is allocated and reserved.
  Operation Finished(const DeviceClaims::Ptr& now) {
    Claim& claim = current();
    claim.claim = now;
    if (!claim.is_extended) {
      (void)state_->claims.Assume(now);  // refused when the watch is ahead of it already
      if (claim.allocation) state_->claims.RemovePending(claim.pending_uid);
      ++index_;
      return NextClaim();
    }
    state_->claims.AssumeWhenSeen(claim.pending_uid, now);
    handle_.Start(Operation::After(kCreatedClaimTimeout, [state = state_, uid = claim.pending_uid](const StepResult&) {
      state->claims.StopWaitingFor(uid);
      return Operation::Done();
    }));
    return PatchPod();
  }

  Operation PatchPod() {
    if (reservation_->mappings.empty()) {
      return Fail("nil or empty request mappings, no update of pod " + pod_.Key() + " ExtendedResourceClaimStatus");
    }
    return Operation::Write(PodStatusPatch(pod_, *reservation_, current().claim->metadata.name),
                            Then(&ClaimBinder::PodPatched));
  }

  Operation PodPatched(const StepResult& result) {
    if (result.error) {
      // The patch may be sent twice: its effect is the same.
      if (result.error->outcome_unknown && ++settle_tries_ <= kSettleTriesMax) {
        return Operation::After(SettleDelay(settle_tries_ - 1), Then(&ClaimBinder::PatchPod));
      }
      return Fail("update pod " + pod_.Key() + " ExtendedResourceClaimStatus: " + result.error->message);
    }
    ++index_;
    return NextClaim();
  }

  bool HasConditions() const { return handle_.release().devices.has_binding_conditions; }

  Operation WaitForDevices() {
    if (!HasConditions()) return Succeed();
    const auto& claims = reservation_->claims;
    if (std::none_of(claims.begin(), claims.end(), [](const Claim& c) { return HasBindingConditions(*c.claim); })) {
      return Succeed();
    }
    handle_.Emit(PendingEvent(pod_));
    wait_began_ = now_;
    deadline_ = now_ + timeout_;
    return Poll();
  }

  // The wait for devices has ended; `status` is the metrics' label.
  Operation EndWait(std::string_view status, std::string error = {}) {
    CountWait(handle_.metrics(), pod_, *reservation_, status, now_ - wait_began_);
    return error.empty() ? Succeed() : Operation::Done(Status::Error(std::move(error)));
  }

  Operation Poll() {
    for (Claim& claim : reservation_->claims) {
      const DeviceClaims::Ptr before = claim.claim;
      const api::ObjectMeta& metadata = before->metadata;
      const DeviceClaims::Ptr now = state_->claims.Find(metadata.namespace_name, metadata.name);
      if (now == nullptr) {
        return EndWait("error",
                       "could not find ResourceClaim \"" + metadata.namespace_name + "/" + metadata.name + "\"");
      }
      claim.claim = now;
      const BindingReadiness readiness = ReadinessOf(*now);
      if (readiness.state == BindingReadiness::State::kReady) continue;
      if (readiness.state == BindingReadiness::State::kFailed) return EndWait("failure", readiness.error);
      if (IsBindingOverdue(*now, timeout_, wall_now_)) {
        return EndWait("timeout", "device binding timeout: claim=" + metadata.name);
      }
      if (now_ >= deadline_) return EndWait("timeout", "device binding timeout: context deadline exceeded");
      return Operation::After(std::min<Duration>(kPollInterval, deadline_ - now_), Then(&ClaimBinder::Poll));
    }
    return EndWait("success");
  }

  Operation Succeed() {
    on_success_();
    return Operation::Done();
  }

  // Gives up what was decided for the current claim. A write whose end nobody knows is left to Unreserve.
  Operation Fail(std::string message) {
    turn_ = nullptr;
    // The uid is taken away, so that Unreserve does not release the allocation once more.
    if (!reservation_->being_written) (void)state_->claims.ReleasePending(std::exchange(current().pending_uid, {}));
    return Operation::Done(Status::Error(std::move(message)));
  }

  Handle& handle_;
  const std::shared_ptr<DeviceState> state_;
  const std::shared_ptr<ClaimReservation> reservation_;
  const PodInfo pod_;
  const Duration timeout_;
  const bool accepts_groups_;  // claims may be reserved for the pod's group
  const std::function<void()> on_success_;

  std::size_t index_ = 0;         // the current claim's
  DeviceClaims::Ptr claim_;       // the current claim, as the API server last had it
  DeviceClaims::WriteTurn turn_;  // the turn to write the current claim, if pods may share it
  int tries_ = 0;
  int settle_tries_ = 0;
  Time now_{};
  Time wall_now_{};
  Time wait_began_{};  // the wait for devices
  Time deadline_{};
};

}  // namespace

Operation BindClaims(Handle& handle, std::shared_ptr<DeviceState> state, std::shared_ptr<ClaimReservation> reservation,
                     const PodInfo& pod, Duration binding_timeout, std::function<void()> on_success) {
  return std::make_shared<ClaimBinder>(handle, std::move(state), std::move(reservation), pod, binding_timeout,
                                       std::move(on_success))
      ->Start();
}

}  // namespace berth::plugins
