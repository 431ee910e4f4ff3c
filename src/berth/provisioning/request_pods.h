// SPDX-License-Identifier: Apache-2.0
// The pods of a ProvisioningRequest, made from its PodTemplates as the API server would make them: checked, with
// defaults, priority and overhead filled in, and with the claims that controllers would create for each of them. Pure;
// one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/core/scheduler/io.h"
#include "berth/provisioning/provisioning_request.h"
#include "berth/whatif/cluster_state.h"

namespace berth::provisioning {

// What pods are made from, as the informers show it.
struct PodSources {
  std::map<std::string, codec::json::object, std::less<>> templates;  // PodTemplates, by "namespace/name"
  // PriorityClasses, RuntimeClasses and ResourceClaimTemplates, by kind and "namespace/name".
  std::map<std::pair<std::string, std::string>, whatif::AdmissionObject> admission;
};

// The most pods of a request, and of one whose pods have claims of their own.
inline constexpr std::int64_t kRequestPodsMax = 20'000;
inline constexpr std::int64_t kClaimPodsMax = 2'000;

// The question to the core. kNotFound: something that the request names is not there (yet). Other errors stay until the
// request or a template is replaced. `places`: where the pods were before a restart.
Expected<scheduler::BookingAsked> PodsOf(const ProvisioningRequest& request, const PodSources& sources,
                                         const Places& places);

}  // namespace berth::provisioning
