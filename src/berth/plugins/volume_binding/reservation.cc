// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/reservation.h"

#include <utility>

namespace berth::plugins::volumes {
namespace {

constexpr std::string_view kBoundByControllerAnnotation = "pv.kubernetes.io/bound-by-controller";

// The volume bound to the claim, or itself when it is already. Upstream: GetBindVolumeToClaim.
std::shared_ptr<const api::PersistentVolume> BindTo(std::shared_ptr<const api::PersistentVolume> volume,
                                                    const api::PersistentVolumeClaim& claim) {
  const api::ClaimReference wanted{claim.metadata.namespace_name, claim.metadata.name, claim.metadata.uid};
  const bool needs_annotation =
      !IsBoundTo(*volume, claim) && volume->metadata.annotations.Find(kBoundByControllerAnnotation) == nullptr;
  if (volume->spec.claim_ref == wanted && !needs_annotation) return volume;
  auto bound = std::make_shared<api::PersistentVolume>(*volume);
  bound->spec.claim_ref = wanted;
  if (needs_annotation) bound->metadata.annotations.Set(kBoundByControllerAnnotation, "yes");
  return bound;
}

}  // namespace

framework::Status Assume(const Sources& sources, const PodVolumes& pod, const NodeDecision& decision,
                         Reservation& reservation) {
  const auto fail = [&](framework::Status status) {
    Revert(sources, reservation);
    return status;
  };
  for (const NodeDecision::Match& match : decision.matches) {
    const auto& claim = pod.delayed[match.claim].claim;
    const auto current = sources.volumes->Get(match.volume->metadata.name);
    auto bound = BindTo(current, *claim);
    if (bound != current) {
      if (framework::Status status = sources.volumes->Assume(bound); !status.IsSuccess()) return fail(status);
    }
    reservation.bindings.push_back({std::move(bound), claim, false, {}});
  }
  for (const std::size_t i : decision.provisions) {
    auto claim = std::make_shared<api::PersistentVolumeClaim>(*pod.delayed[i].claim);
    claim->metadata.annotations.Set(kSelectedNodeAnnotation, reservation.node->metadata.name);
    if (framework::Status status = sources.claims->Assume(claim); !status.IsSuccess()) return fail(status);
    reservation.provisions.push_back({std::move(claim), false, {}});
  }
  return {};
}

void Revert(const Sources& sources, const Reservation& reservation) {
  for (const Reservation::Binding& binding : reservation.bindings) {
    if (!binding.is_written) sources.volumes->Restore(*binding.volume);
  }
  for (const Reservation::Provision& provision : reservation.provisions) {
    if (!provision.is_written) sources.claims->Restore(*provision.claim);
  }
}

}  // namespace berth::plugins::volumes
