// The requests of a pod, as kube-scheduler 1.36 counts them (component-helpers resource.PodRequests; framework.md 2.10 of
// the behaviour inventory). Pure functions.
#pragma once

#include "berth/framework/pod_info.h"
#include "berth/framework/resource.h"

namespace berth::framework {

// Fills requests, nonzero_* and host_ports from the rest of the class.
void DerivePodClass(PodClass& pod_class);

// How NodeResourcesFit's and NodeResourcesBalancedAllocation's scorers see the incoming pod: the sum over containers,
// without pod-level resources and resize status (a quirk of upstream's resource allocation scorer, kept on purpose).
// `with_defaults` counts containers without a cpu or memory request as the defaults of resource.h.
std::int64_t PodRequestForScoring(const PodClass& pod_class, std::string_view resource, bool with_defaults);

}  // namespace berth::framework
