// SPDX-License-Identifier: Apache-2.0
// The requests of a pod, as kube-scheduler counts them (component-helpers resource.PodRequests). Where containers have
// statuses, PodClass::sums_requests_by_source says how. Pure functions.
#pragma once

#include <string_view>

#include "berth/framework/pod_info.h"
#include "berth/framework/resource.h"

namespace berth::framework {

// Fills requests, nonzero_* and host_ports from the rest of the class.
void DerivePodClass(PodClass& pod_class);

// What NodeResourcesFit's filter asks a node to have free for the incoming pod: requests from the spec alone. The same
// as PodClass::requests, but for a pending pod that has container statuses already: upstream leaves those out here.
Resource PodRequestsFromSpec(const PodClass& pod_class);

// One resource of the incoming pod as the scorers see it (upstream: resourceAllocationScorer), in the units of
// Resource. `with_defaults` is NodeResourcesFit's way: containers without a cpu or memory request count as the defaults
// of resource.h, and pod-level resources and resize status are not looked at (a quirk of upstream, kept on purpose).
// Without it, NodeResourcesBalancedAllocation's way: the effective requests.
std::int64_t PodRequestForScoring(const PodClass& pod_class, std::string_view resource, bool with_defaults);

// "vendor.example/thing": a name with a prefix that is not Kubernetes' own, and valid as a qualified name.
bool IsExtendedResourceName(std::string_view name);
// Extended resources, huge pages, attachable volumes and other prefixed names of Kubernetes. Scheduling ignores
// requests with any other name ("storage", say).
bool IsScalarResourceName(std::string_view name);

}  // namespace berth::framework
