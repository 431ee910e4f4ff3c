// SPDX-License-Identifier: Apache-2.0
// Changes to a pod or a node that might let the pod fit: as `berth explain` tries them, one field at a time. Pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"

namespace berth::whatif {

// An amount as people write it: "2500m" or "4" of CPU, "3Gi" where it is a whole number of these, else all digits.
// `amount` is in millicores, bytes or whole units, as framework::Resource has it.
std::string AmountText(std::string_view resource, std::int64_t amount);

// The pod with as much of its requests for `resource` taken away as makes it ask for `amount_max` at most: first from
// the container that asks for most. Its overhead stays. `changes`, if given, gets a line for each changed field:
// "spec.containers[app].resources.requests.cpu: 2500m instead of 4".
api::Pod WithRequestAtMost(const api::Pod& pod, std::string_view resource, std::int64_t amount_max,
                           std::vector<std::string>* changes = nullptr);

// The toleration that people would write for this taint.
api::Toleration TolerationOf(const api::Taint& taint);
// "gpu=true:NoSchedule", as kubectl writes it.
std::string TaintText(const api::Taint& taint);

// The taints that keep the pod away: NoSchedule and NoExecute, and not tolerated.
std::vector<api::Taint> UntoleratedTaints(const api::Pod& pod, const api::Node& node);

// The node without its cordon.
api::Node Uncordoned(const api::Node& node);

// The labels of the pod's nodeSelector that the node lacks.
api::StringMap MissingLabels(const api::Pod& pod, const api::Node& node);

}  // namespace berth::whatif
