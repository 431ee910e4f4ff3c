// SPDX-License-Identifier: Apache-2.0
// The requests of a pod, as kube-scheduler computes them (component-helpers resource.PodRequests).
// PodClass::sums_requests_by_source selects how container statuses are included. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "berth/framework/pod_info.h"
#include "berth/framework/resource.h"

namespace berth::framework {

// Sets requests, nonzero_* and host_ports from the other members.
void DerivePodClass(PodClass& pod_class);

// What NodeResourcesFit requires a node to have free for the incoming pod: requests from the spec only. This differs
// from PodClass::requests for a pending pod with container statuses, which upstream ignores here.
Resource PodRequestsFromSpec(const PodClass& pod_class);

// How scorers count what a pod requests.
enum class PodAmounts : std::uint8_t {
  // NodeResourcesBalancedAllocation: the effective requests.
  kActual,
  // NodeResourcesFit: containers without a CPU or memory request count with the defaults of resource.h.
  kNonzero,
  // NodeResourcesFit before Release::scores_pod_level_requests: in addition, pod-level resources and the resize status
  // are ignored (a quirk of upstream, kept on purpose).
  kNonzeroOfContainers,
};

// One resource of the incoming pod as scorers see it (upstream: resourceAllocationScorer), in the units of Resource.
std::int64_t PodRequestForScoring(const PodClass& pod_class, std::string_view resource, PodAmounts amounts);

// "vendor.example/thing": a valid qualified name with a prefix that is not Kubernetes' own.
bool IsExtendedResourceName(std::string_view name);
// Extended resources, huge pages, attachable volumes and other prefixed names of Kubernetes. Scheduling ignores
// requests with any other name, such as "storage".
bool IsScalarResourceName(std::string_view name);

}  // namespace berth::framework
