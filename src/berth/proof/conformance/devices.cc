// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/conformance/devices.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "berth/api/pod.h"
#include "berth/api/resource_claim.h"
#include "berth/base/go_text.h"

namespace berth::conformance {
namespace {

// The oracle's name for the claim that the scheduler makes for extended resources.
constexpr std::string_view kExtendedResources = "<extended-resources>";

std::vector<DeviceRecord> Records(const api::AllocationResult& allocation) {
  std::vector<DeviceRecord> records;
  for (const api::DeviceAllocationResult& result : allocation.results) {
    DeviceRecord& record =
        records.emplace_back(DeviceRecord{result.request, result.driver, result.pool, result.device, std::nullopt});
    if (result.share_id) record.share.emplace(result.consumed_capacity.begin(), result.consumed_capacity.end());
  }
  return records;
}

bool IsForExtendedResourcesOf(const api::ResourceClaim& claim, const framework::PodInfo& pod) {
  const std::string* const mark = claim.metadata.annotations.Find("resource.kubernetes.io/extended-resource-claim");
  return mark != nullptr && *mark == "true" && claim.metadata.controller && claim.metadata.controller->uid == pod.uid;
}

// Value() rounds; cases need the exact amount.
std::string Show(const api::Quantity& amount) {
  constexpr api::Quantity::Nanos kNanosPerUnit = 1'000'000'000;
  std::string text = std::to_string(static_cast<std::int64_t>(amount.nanos() / kNanosPerUnit));
  const auto rest = static_cast<std::int64_t>(amount.nanos() % kNanosPerUnit);
  return rest == 0 ? text : text + " and " + std::to_string(rest) + "n";
}

std::string Show(const std::vector<DeviceRecord>& records) {
  std::string text = "[";
  for (const DeviceRecord& record : records) {
    text += (text.back() == '[' ? "" : ", ") + record.request + ": " + record.driver + "/" + record.pool + "/" +
            record.device;
    if (!record.share) continue;
    text += " share {";
    for (const auto& [capacity, amount] : *record.share)
      text += (text.back() == '{' ? "" : ", ") + capacity + ": " + Show(amount);
    text += "}";
  }
  return text + "]";
}

}  // namespace

DevicesByClaim DevicesOf(const framework::PodInfo& pod, const framework::Objects& objects) {
  const auto& claims = objects.Of<api::ResourceClaim>();
  DevicesByClaim devices;
  const auto add = [&](std::string_view name, const api::ResourceClaim* claim) {
    if (claim == nullptr || !claim->allocation) return;
    devices[std::string(name)] = Records(*claim->allocation);
  };
  for (const api::PodResourceClaim& claim : pod.spec().resource_claims) {
    std::optional<std::string> name = claim.claim_name;
    if (!name && pod.claim_status) {
      for (const api::PodResourceClaimStatus& made : pod.claim_status->resource_claims)
        if (made.name == claim.name) name = made.claim_name;
    }
    if (name) add(claim.name, claims.Find(pod.namespace_name(), *name));
  }
  for (const auto& [key, claim] : claims) {
    if (claim->metadata.namespace_name == pod.namespace_name() && IsForExtendedResourcesOf(*claim, pod))
      add(kExtendedResources, claim.get());
  }
  return devices;
}

std::map<std::string, ClaimRecord> ClaimsOf(const framework::Objects& objects) {
  std::map<std::string, ClaimRecord> claims;
  for (const auto& [key, claim] : objects.Of<api::ResourceClaim>()) {
    ClaimRecord& record = claims[claim->metadata.namespace_name + "/" + claim->metadata.name];
    if (claim->allocation) record.devices = Records(*claim->allocation);
    for (const api::ClaimConsumer& consumer : claim->reserved_for)
      record.reserved_for.push_back(consumer.resource + "/" + consumer.name);
    std::ranges::sort(record.reserved_for);
  }
  return claims;
}

std::string Show(const DevicesByClaim& devices) {
  std::string text;
  for (const auto& [claim, records] : devices) text += (text.empty() ? "" : ", ") + claim + ": " + Show(records);
  return text.empty() ? "none" : text;
}

std::string Show(const ClaimRecord& claim) { return Show(claim.devices) + " for " + GoList(claim.reserved_for); }

}  // namespace berth::conformance
