// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/claim_writes.h"

#include <algorithm>
#include <utility>

#include "berth/plugins/dynamic_resources/claim_requests.h"

namespace berth::plugins {
namespace {

using framework::ObjectDelete;
using framework::ObjectRead;
using framework::Operation;
using framework::StepResult;

Operation DeleteTry(const DeviceClaims::Ptr& claim, int tries);

Operation ReadAndDelete(const DeviceClaims::Ptr& claim, int tries) {
  return Operation::After(kConflictDelay, [claim, tries](const StepResult&) {
    return Operation::Write(ObjectRead{RefOf(*claim)}, [tries](const StepResult& read) {
      const DeviceClaims::Ptr now = read.error ? nullptr : DecodeClaim(read.body);
      return now == nullptr ? Operation::Done() : DeleteTry(now, tries + 1);
    });
  });
}

Operation DeleteTry(const DeviceClaims::Ptr& claim, int tries) {
  std::vector<std::string> finalizers = claim->finalizers;
  const auto own = std::find(finalizers.begin(), finalizers.end(), kClaimFinalizer);
  if (own == finalizers.end()) return Operation::Write(ObjectDelete{RefOf(*claim), claim->metadata.uid});
  finalizers.erase(own);
  return Operation::Write(PatchFinalizers(*claim, finalizers), [claim, tries](const StepResult& result) {
    if (!result.error) return Operation::Write(ObjectDelete{RefOf(*claim), claim->metadata.uid});
    const bool may_try_again = result.error->code == ErrorCode::kConflict || result.error->outcome_unknown;
    return may_try_again && tries < kConflictTriesMax ? ReadAndDelete(claim, tries) : Operation::Done();
  });
}

struct Settling {
  framework::Handle& handle;
  std::shared_ptr<DeviceState> state;
  DeviceClaims::Ptr claim;
  std::string pending_uid;
  framework::PodInfo pod;
};

Operation SettleTry(const std::shared_ptr<const Settling>& settling, int tries) {
  return Operation::After(SettleDelay(tries), [settling, tries](const StepResult&) {
    return Operation::Write(ObjectRead{RefOf(*settling->claim)}, [settling, tries](const StepResult& read) {
      const bool is_gone = read.error && read.error->code == ErrorCode::kNotFound;
      const DeviceClaims::Ptr now = read.error ? nullptr : DecodeClaim(read.body);
      if (now == nullptr && !is_gone && tries < kSettleTriesMax) return SettleTry(settling, tries + 1);
      if (now != nullptr) (void)settling->state->claims.Assume(now);
      // Others may mean to write the same allocation still.
      const bool is_allocated = now != nullptr && now->allocation.has_value();
      if (is_allocated) settling->state->claims.RemovePending(settling->pending_uid);
      if (!is_allocated) (void)settling->state->claims.ReleasePending(settling->pending_uid);
      // The pod would have been refused before this, and no event may follow that wakes it.
      settling->handle.Activate(settling->pod.uid);
      if (now == nullptr || !IsReservedFor(*now, settling->pod)) return Operation::Done();
      return UnreserveClaim(*now, settling->pod.uid);
    });
  });
}

}  // namespace

Operation DeallocateClaim(const api::ResourceClaim& claim) {
  codec::json::object status;
  for (const char* key : {"allocation", "reservedFor", "devices"}) status[key] = nullptr;
  return Operation::Write(PatchStatus(claim, std::move(status)));
}

Operation UnreserveClaim(const api::ResourceClaim& claim, const std::string& consumer_uid) {
  // A strategic merge patch removes one entry without knowing the others.
  codec::json::object consumer;
  consumer["$patch"] = "delete";
  consumer["uid"] = consumer_uid;
  codec::json::object body;
  body["metadata"].emplace_object()["uid"] = claim.metadata.uid;
  body["status"].emplace_object()["reservedFor"].emplace_array().push_back(std::move(consumer));
  return Operation::Write(
      framework::ObjectPatch{RefOf(claim), "status", framework::PatchType::kStrategicMerge, codec::WriteJson(body)});
}

Operation DeleteClaim(DeviceClaims::Ptr claim) { return DeleteTry(claim, 1); }

Operation SettleClaim(framework::Handle& handle, std::shared_ptr<DeviceState> state,
                      const ClaimReservation::Claim& claim, const framework::PodInfo& pod) {
  return SettleTry(
      std::make_shared<const Settling>(Settling{handle, std::move(state), claim.claim, claim.pending_uid, pod}), 0);
}

}  // namespace berth::plugins
