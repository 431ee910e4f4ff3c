// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/pod_volumes.h"

#include <algorithm>
#include <utility>

#include "berth/base/go_text.h"

namespace berth::plugins::volumes {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;
using framework::PodInfo;
using framework::Status;

constexpr std::string_view kWaitForFirstConsumer = "WaitForFirstConsumer";
constexpr std::string_view kLost = "Lost";
constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr std::string_view kFilesystem = "Filesystem";

bool IsClaimFor(const PersistentVolumeClaim& claim, const PodInfo& pod) {
  return claim.metadata.controller && claim.metadata.controller->uid == pod.uid;
}

std::string NotOwned(const PersistentVolumeClaim& claim, const PodInfo& pod) {
  return "PVC " + KeyOf(claim) + " was not created for pod " + pod.Key() + " (pod is not owner)";
}

// podHasPVCs: looks at the claims as they are stored. The error's text, or none.
std::string CheckClaims(const Sources& sources, const PodInfo& pod) {
  const auto& stored = sources.objects.Of<PersistentVolumeClaim>();
  for (const api::Volume& volume : pod.spec().volumes) {
    const auto name = ClaimNameOf(pod, volume);
    if (!name) continue;
    const bool is_ephemeral = volume.source.kind == api::VolumeKind::kEphemeral;
    const PersistentVolumeClaim* claim = stored.Find(pod.namespace_name(), *name);
    if (claim == nullptr) {
      if (!is_ephemeral) return "persistentvolumeclaim " + GoQuoted(*name) + " not found";
      return "waiting for ephemeral volume controller to create the persistentvolumeclaim " + GoQuoted(*name);
    }
    if (claim->phase == kLost) {
      return "persistentvolumeclaim " + GoQuoted(*name) + " bound to non-existent persistentvolume " +
             GoQuoted(claim->volume_name);
    }
    if (claim->metadata.deletion_time) return "persistentvolumeclaim " + GoQuoted(*name) + " is being deleted";
    if (is_ephemeral && !IsClaimFor(*claim, pod)) return NotOwned(*claim, pod);
  }
  return {};
}

enum class Binding : std::uint8_t { kImmediate, kDelayed, kUnknown };

// IsDelayBindingMode. A class that is not there counts as immediate.
Binding BindingOf(const Sources& sources, const PersistentVolumeClaim& claim) {
  const std::string& name = ClassOf(claim);
  const api::StorageClass* storage_class = name.empty() ? nullptr : sources.objects.Of<api::StorageClass>().Find(name);
  if (storage_class == nullptr) return Binding::kImmediate;
  if (!storage_class->volume_binding_mode) return Binding::kUnknown;
  return *storage_class->volume_binding_mode == kWaitForFirstConsumer ? Binding::kDelayed : Binding::kImmediate;
}

// What a claim asks of volumes, looked up once. The index has compared the class.
struct Wanted {
  explicit Wanted(const PersistentVolumeClaim& claim_in)
      : claim(claim_in),
        request(RequestOf(claim_in)),
        mode(ModeOf(claim_in.volume_mode)),
        attributes_class(AttributesClassOf(claim_in.volume_attributes_class_name)) {}

  static std::string_view ModeOf(const std::string& mode) { return mode.empty() ? kFilesystem : mode; }
  static std::string_view AttributesClassOf(const std::optional<std::string>& name) {
    return name ? std::string_view(*name) : std::string_view();
  }

  // What FindMatchingVolume asks of every volume, reserved ones too.
  bool IsSuitable(const PersistentVolume& volume, const api::Quantity& capacity) const {
    return capacity >= request && ModeOf(volume.spec.volume_mode) == mode &&
           AttributesClassOf(volume.spec.volume_attributes_class_name) == attributes_class &&
           !volume.metadata.deletion_time;
  }
  // ... and of those that are free.
  bool IsWanted(const PersistentVolume& volume) const {
    if (claim.selector && !claim.selector->Matches(volume.metadata.labels)) return false;
    const auto& modes = volume.spec.access_modes;
    return std::all_of(claim.access_modes.begin(), claim.access_modes.end(), [&](const std::string& each) {
      return std::find(modes.begin(), modes.end(), each) != modes.end();
    });
  }

  const PersistentVolumeClaim& claim;
  const api::Quantity request;
  const std::string_view mode;
  const std::string_view attributes_class;
};

void AddPrebound(DelayedClaim& out, const Wanted& wanted, const PersistentVolume& volume) {
  if (!wanted.IsSuitable(volume, CapacityOf(volume)) || !IsBoundTo(volume, wanted.claim)) return;
  out.prebound_affinities.push_back(std::make_unique<const VolumeAffinity>(volume.spec.node_affinity));
  out.prebound.push_back({&volume, out.prebound_affinities.back().get()});
}

void AddAssumed(const Sources& sources, const std::string& name, const Wanted& wanted, DelayedClaim& out) {
  AddPrebound(out, wanted, *out.assumed.emplace_back(sources.volumes->Get(name)));
}

void FindCandidates(const Sources& sources, DelayedClaim& out) {
  const PersistentVolumeClaim& claim = *out.claim;
  if (claim.selector) {
    for (const api::Requirement& requirement : claim.selector->requirements) {
      const auto valid = requirement.Validate();
      if (valid.ok()) continue;
      out.error = "error creating internal label selector for claim: " + KeyOf(claim) + ": " + valid.error().message;
      return;
    }
  }
  const VolumeIndex::Class* in_class = sources.index->Find(ClassOf(claim));
  if (in_class == nullptr) return;
  const Wanted wanted(claim);
  if (const auto it = in_class->claimed.find(KeyOf(claim)); it != in_class->claimed.end()) {
    for (const auto& [name, volume] : it->second) {
      if (sources.volumes->FindAssumed(name) == nullptr) {
        AddPrebound(out, wanted, *volume);
      } else {
        AddAssumed(sources, name, wanted, out);
      }
    }
  }
  for (auto it = in_class->free.lower_bound({wanted.request, std::string()}); it != in_class->free.end(); ++it) {
    const VolumeIndex::FreeVolume& free = it->second;
    if (sources.volumes->FindAssumed(it->first.second) != nullptr) {
      AddAssumed(sources, it->first.second, wanted, out);
    } else if (wanted.IsSuitable(*free.volume, it->first.first) && wanted.IsWanted(*free.volume)) {
      out.free.push_back({free.volume.get(), &free.affinity});
    }
  }
  // Which of several reserved volumes comes first is chance upstream.
  std::sort(out.prebound.begin(), out.prebound.end(),
            [](const Candidate& a, const Candidate& b) { return a.volume->metadata.name < b.volume->metadata.name; });
}

// Nodes from which the class has room for the claim. Upstream: hasEnoughCapacity.
std::optional<std::vector<const CapacityIndex::Entry*>> FindCapacities(const Sources& sources,
                                                                       const PersistentVolumeClaim& claim,
                                                                       const api::StorageClass& storage_class) {
  const api::Quantity* request = api::FindResource(claim.requests, "storage");
  const api::CsiDriver* driver = sources.objects.Of<api::CsiDriver>().Find(storage_class.provisioner);
  // A provisioner without CSIDriver object is no CSI driver, or does not take part.
  if (request == nullptr || driver == nullptr || !driver->storage_capacity.value_or(false)) return std::nullopt;
  std::vector<const CapacityIndex::Entry*> enough;
  const std::int64_t bytes = request->Value();
  if (const CapacityIndex::Class* in_class = sources.capacities->Find(storage_class.metadata.name)) {
    for (const auto& [key, capacity] : *in_class) {
      if (capacity.limit_bytes >= bytes) enough.push_back(&capacity);
    }
  }
  return enough;
}

Provisioning FindProvisioning(const Sources& sources, const PersistentVolumeClaim& claim) {
  Provisioning out;
  // A claim is delayed by its class alone, so it has one that exists: upstream's errors about that cannot occur here.
  const api::StorageClass* storage_class = sources.objects.Of<api::StorageClass>().Find(ClassOf(claim));
  if (storage_class == nullptr || storage_class->provisioner.empty() || storage_class->provisioner == kNoProvisioner) {
    return out;
  }
  out.is_supported = true;
  if (!storage_class->allowed_topologies.empty()) {
    out.topologies.emplace();
    for (const auto& term : storage_class->allowed_topologies) {
      std::vector<api::Requirement> requirements;
      for (const auto& [key, values] : term) requirements.push_back({key, api::SelectorOperator::kIn, values, {}});
      // Terms that are empty or invalid select nothing.
      const bool is_valid = std::all_of(requirements.begin(), requirements.end(),
                                        [](const api::Requirement& r) { return r.Validate().ok(); });
      if (!requirements.empty() && is_valid) out.topologies->push_back(std::move(requirements));
    }
  }
  out.capacities = FindCapacities(sources, claim, *storage_class);
  return out;
}

DelayedClaim Delayed(const Sources& sources, std::shared_ptr<const PersistentVolumeClaim> claim) {
  DelayedClaim out;
  out.claim = std::move(claim);
  out.selected_node = out.claim->metadata.annotations.Find(kSelectedNodeAnnotation);
  if (out.selected_node == nullptr) FindCandidates(sources, out);
  out.provisioning = FindProvisioning(sources, *out.claim);
  return out;
}

bool AllMatch(const std::vector<api::Requirement>& requirements, const api::StringMap& labels) {
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const api::Requirement& r) { return r.Matches(labels.Find(r.key)); });
}

}  // namespace

PlainNode::PlainNode(const Sources& sources, const PodVolumes& pod, const api::Node& node)
    : pod_(pod),
      node_(node),
      labels_(node.metadata.labels),
      csi_node_(sources.objects.Of<api::CsiNode>().Find(node.metadata.name)) {}

BoundVerdict PlainNode::Bound(std::size_t i, std::string& error) const {
  const Expected<bool> matches = pod_.bound[i].affinity.Matches(labels_, csi_node_);
  if (!matches.ok()) {
    error = matches.error().message;
    return BoundVerdict::kError;
  }
  return *matches ? BoundVerdict::kFits : BoundVerdict::kMismatch;
}

bool PlainNode::IsNamed(const std::string& name) const { return name == node_.metadata.name; }

const PersistentVolume* PlainNode::Find(std::size_t i, const NodeDecision& decision) const {
  for (const Candidate& candidate : pod_.delayed[i].prebound) {
    if (decision.IsTaken(candidate.volume)) continue;
    return candidate.affinity->Matches(labels_) ? candidate.volume : nullptr;
  }
  for (const Candidate& candidate : pod_.delayed[i].free) {
    if (!decision.IsTaken(candidate.volume) && candidate.affinity->Matches(labels_)) return candidate.volume;
  }
  return nullptr;
}

bool PlainNode::IsInTopology(std::size_t i) const {
  const auto& terms = pod_.delayed[i].provisioning.topologies;
  return !terms || std::any_of(terms->begin(), terms->end(), [&](const auto& term) { return AllMatch(term, labels_); });
}

const CapacityIndex::Entry* PlainNode::FindCapacity(std::size_t i) const {
  const auto& capacities = pod_.delayed[i].provisioning.capacities;
  if (!capacities) return nullptr;
  for (const CapacityIndex::Entry* capacity : *capacities) {
    if (AllMatch(capacity->nodes.match_expressions, labels_)) return capacity;
  }
  return nullptr;
}

Status RefusalFor(ReasonSet reasons) {
  std::vector<std::string> texts;
  if (reasons & kNodeConflict) texts.emplace_back(kReasonNodeConflict);
  if (reasons & kBindConflict) texts.emplace_back(kReasonBindConflict);
  if (reasons & kNotEnoughSpace) texts.emplace_back(kReasonNotEnoughSpace);
  if (reasons & kVolumeMissing) texts.emplace_back(kReasonVolumeMissing);
  return {framework::Code::kUnschedulableAndUnresolvable, std::move(texts)};
}

std::optional<std::string> ClaimNameOf(const PodInfo& pod, const api::Volume& volume) {
  switch (volume.source.kind) {
    case api::VolumeKind::kPersistentVolumeClaim: return volume.source.id;
    case api::VolumeKind::kEphemeral: return pod.name + "-" + volume.name;
    default: return std::nullopt;
  }
}

bool HasClaims(const PodInfo& pod) {
  const auto& volumes = pod.spec().volumes;
  return std::any_of(volumes.begin(), volumes.end(), [](const api::Volume& volume) {
    return volume.source.kind == api::VolumeKind::kPersistentVolumeClaim ||
           volume.source.kind == api::VolumeKind::kEphemeral;
  });
}

bool IsFullyBound(const PersistentVolumeClaim& claim) {
  return !claim.volume_name.empty() && claim.metadata.annotations.Find(kBindCompletedAnnotation) != nullptr;
}

bool AreAllBound(const Sources& sources, const PodInfo& pod) {
  const auto& volumes = pod.spec().volumes;
  return std::all_of(volumes.begin(), volumes.end(), [&](const api::Volume& volume) {
    const auto name = ClaimNameOf(pod, volume);
    if (!name) return true;
    const PersistentVolumeClaim* claim = sources.claims->Find(ClaimCache::Store::Key(pod.namespace_name(), *name));
    return claim != nullptr && IsFullyBound(*claim) &&
           (volume.source.kind != api::VolumeKind::kEphemeral || IsClaimFor(*claim, pod));
  });
}

bool IsBoundTo(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& ref = volume.spec.claim_ref;
  return ref && ref->name == claim.metadata.name && ref->namespace_name == claim.metadata.namespace_name &&
         (ref->uid.empty() || ref->uid == claim.metadata.uid);
}

std::string KeyOf(const PersistentVolumeClaim& claim) {
  return claim.metadata.namespace_name + "/" + claim.metadata.name;
}

api::Quantity RequestOf(const PersistentVolumeClaim& claim) {
  const api::Quantity* request = api::FindResource(claim.requests, "storage");
  return request == nullptr ? api::Quantity() : *request;
}

PreparedVolumes Prepare(const Sources& sources, const PodInfo& pod) {
  if (std::string error = CheckClaims(sources, pod); !error.empty()) {
    return {Status::UnschedulableAndUnresolvable(std::move(error)), nullptr};
  }
  auto out = std::make_shared<PodVolumes>();
  std::vector<std::shared_ptr<const PersistentVolumeClaim>> delayed;
  bool has_immediate = false;
  for (const api::Volume& volume : pod.spec().volumes) {
    const auto name = ClaimNameOf(pod, volume);
    if (!name) continue;
    auto claim = sources.claims->Get(ClaimCache::Store::Key(pod.namespace_name(), *name));
    if (IsFullyBound(*claim)) {
      auto bound_to = sources.volumes->Get(claim->volume_name);
      NodeDependentAffinity affinity = bound_to == nullptr ? NodeDependentAffinity() : NodeDependentAffinity(*bound_to);
      out->bound.push_back({std::move(bound_to), std::move(affinity)});
      continue;
    }
    const Binding binding = BindingOf(sources, *claim);
    if (binding == Binding::kUnknown) {
      return {Status::Error("VolumeBindingMode not set for StorageClass " + GoQuoted(ClassOf(*claim))), nullptr};
    }
    // A claim that names its volume is expected to be bound by others, whatever its class.
    if (binding == Binding::kDelayed && claim->volume_name.empty()) {
      delayed.push_back(std::move(claim));
    } else {
      has_immediate = true;
    }
  }
  if (has_immediate) {
    return {Status::UnschedulableAndUnresolvable(std::string(kReasonUnboundImmediate)), nullptr};
  }
  out->delayed.reserve(delayed.size());
  for (auto& claim : delayed) out->delayed.push_back(Delayed(sources, std::move(claim)));
  for (std::size_t i = 0; i < out->delayed.size(); ++i) {
    (out->delayed[i].selected_node != nullptr ? out->with_node : out->by_request_size).push_back(i);
  }
  std::sort(out->by_request_size.begin(), out->by_request_size.end(), [&](std::size_t a, std::size_t b) {
    const api::Quantity of_a = RequestOf(*out->delayed[a].claim);
    const api::Quantity of_b = RequestOf(*out->delayed[b].claim);
    return of_a != of_b ? of_a < of_b : a < b;
  });
  return {Status::Success(), std::move(out)};
}

NodeDecision DecideNode(const Sources& sources, const PodVolumes& pod, const api::Node& node) {
  PlainNode view(sources, pod, node);
  NodeDecision decision;
  Decide(pod, view, decision);
  return decision;
}

}  // namespace berth::plugins::volumes
