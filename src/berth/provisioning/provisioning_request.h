// SPDX-License-Identifier: Apache-2.0
// ProvisioningRequest (autoscaling.x-k8s.io/v1) as the controller reads it, and the conditions that it writes. Plain
// values and pure functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"

namespace simdjson::dom {
class element;
}

namespace berth::provisioning {

inline constexpr std::string_view kCheckCapacityClass = "check-capacity.autoscaling.x-k8s.io";
inline constexpr std::string_view kGroupVersion = "autoscaling.x-k8s.io/v1";
inline constexpr std::string_view kResource = "provisioningrequests";

// Parameters of a request.
inline constexpr std::string_view kProcessorInstance = "processorInstance";
inline constexpr std::string_view kNoRetry = "noRetry";

// Types of conditions.
inline constexpr std::string_view kAccepted = "Accepted";
inline constexpr std::string_view kProvisioned = "Provisioned";
inline constexpr std::string_view kFailed = "Failed";
inline constexpr std::string_view kBookingExpired = "BookingExpired";
inline constexpr std::string_view kCapacityRevoked = "CapacityRevoked";

struct PodSet {
  std::string template_name;
  std::int64_t count = 0;
  bool operator==(const PodSet&) const = default;
};

struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::int64_t observed_generation = 0;
  Time transition_time{};
  bool operator==(const Condition&) const = default;
};

struct ProvisioningRequest {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  Time creation_time{};
  std::string class_name;
  std::map<std::string, std::string, std::less<>> parameters;
  std::vector<PodSet> pod_sets;
  std::vector<Condition> conditions;
  std::map<std::string, std::string, std::less<>> details;  // status.provisioningClassDetails

  std::string Key() const { return namespace_name + "/" + name; }
  // Null: there is none of the type.
  const Condition* Find(std::string_view type) const;
  bool Is(std::string_view type) const;
};

using RequestPtr = std::shared_ptr<const ProvisioningRequest>;

// The error is one line with the field.
Expected<RequestPtr> DecodeProvisioningRequest(const simdjson::dom::element& object);

// Whether the processor of that name is to answer the request: its class is check-capacity, and its parameter names the
// processor. Upstream: SupportedCheckCapacityClass.
bool IsForProcessor(const ProvisioningRequest& request, std::string_view instance);

// Adds the condition, or replaces the one of its type. The time of transition stays if the status does.
void SetCondition(std::vector<Condition>& conditions, Condition condition);

// Where room is kept, by pod set: a node's name, and for how many pods.
using Places = std::vector<std::vector<std::pair<std::string, std::uint64_t>>>;

// The places as values of status.provisioningClassDetails, which the API server bounds to 32,768 characters each and 64
// in all. Places that need more are left out: after a restart the room is then looked for anew.
std::map<std::string, std::string, std::less<>> DetailsOf(const Places& places);
// The places that details hold; without those that cannot be read.
Places PlacesOf(const std::map<std::string, std::string, std::less<>>& details, std::size_t set_count);

// The body of a merge patch of the request's status. Fails with a conflict when the request was changed meanwhile.
std::string StatusPatch(const ProvisioningRequest& request, const std::vector<Condition>& conditions,
                        const std::map<std::string, std::string, std::less<>>& details);

}  // namespace berth::provisioning
