// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/alike_pods.h"

#include <algorithm>

namespace berth::whatif {

AlikeKey AlikeKeyOf(const framework::PodInfo& pod) {
  const api::PodSpec& spec = pod.spec();
  const bool has_own_claims =
      pod.claim_status != nullptr ||
      std::ranges::any_of(spec.volumes,
                          [](const api::Volume& each) { return each.source.kind == api::VolumeKind::kEphemeral; }) ||
      std::ranges::any_of(spec.resource_claims,
                          [](const api::PodResourceClaim& each) { return each.template_name.has_value(); });
  return {pod.pod_class.get(), has_own_claims ? "uid " + pod.uid : "group " + pod.pod_group_name};
}

}  // namespace berth::whatif
