// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/hints.h"

#include <utility>

#include "berth/plugins/helper/events.h"
#include "berth/plugins/volume_binding/capacity_index.h"
#include "berth/plugins/volume_binding/pod_volumes.h"

namespace berth::plugins {
namespace {

using framework::EventObjects;
using framework::EventResource;
using framework::PodInfo;
using framework::QueueingHint;
using volumes::VolumeLimitOf;

constexpr std::string_view kMigratedPluginsAnnotation = "storage.alpha.kubernetes.io/migrated-plugins";

std::string AnnotationOf(const api::ObjectMeta& metadata, std::string_view key) {
  const std::string* value = metadata.annotations.Find(key);
  return value == nullptr ? std::string() : *value;
}

QueueingHint AfterClaimChange(const PodInfo& pod, const EventObjects& event) {
  const auto* claim = event.New<api::PersistentVolumeClaim>();
  if (claim == nullptr) return QueueingHint::kQueue;
  if (claim->metadata.namespace_name != pod.namespace_name()) return QueueingHint::kSkip;
  for (const api::Volume& volume : pod.spec().volumes) {
    if (volumes::ClaimNameOf(pod, volume) == claim->metadata.name) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

// The binding mode of a class cannot change.
QueueingHint AfterClassChange(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::StorageClass>();
  const auto* after = event.New<api::StorageClass>();
  return QueueIf(before == nullptr || after == nullptr || before->allowed_topologies != after->allowed_topologies);
}

QueueingHint AfterCsiNodeChange(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::CsiNode>();
  const auto* after = event.New<api::CsiNode>();
  return QueueIf(before == nullptr || after == nullptr ||
                 AnnotationOf(before->metadata, kMigratedPluginsAnnotation) !=
                     AnnotationOf(after->metadata, kMigratedPluginsAnnotation));
}

// A driver whose capacity is looked at no longer. Upstream asks whether the pod has inline CSI volumes of that driver,
// although the capacity check is about claims, and hears of no deletion.
QueueingHint AfterCsiDriverChange(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::CsiDriver>();
  const auto* after = event.New<api::CsiDriver>();
  const auto limits = [](const api::CsiDriver* driver) {
    return driver != nullptr && driver->storage_capacity.value_or(false);
  };
  return QueueIf((before == nullptr && after == nullptr) || (limits(before) && !limits(after)));
}

QueueingHint AfterCapacityChange(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::CsiStorageCapacity>();
  const auto* after = event.New<api::CsiStorageCapacity>();
  if (before == nullptr || after == nullptr) return QueueingHint::kQueue;
  const auto now = VolumeLimitOf(*after);
  const auto then = VolumeLimitOf(*before);
  return QueueIf(now && (!then || *now > *then));
}

}  // namespace

std::vector<framework::ClusterEventWithHint> VolumeBindingEvents() {
  using namespace framework::action;
  return {
      {{EventResource::kStorageClass, kAdd | kUpdate}, AfterClassChange},
      {{EventResource::kPersistentVolumeClaim, kAdd | kUpdate}, AfterClaimChange},
      {{EventResource::kPersistentVolume, kAdd | kUpdate}, {}},
      OnNode(kAdd | kUpdateNodeLabel),
      {{EventResource::kCsiNode, kAdd | kUpdate}, AfterCsiNodeChange},
      {{EventResource::kCsiDriver, kUpdate | kDelete}, AfterCsiDriverChange},
      {{EventResource::kCsiStorageCapacity, kAdd | kUpdate}, AfterCapacityChange},
  };
}

}  // namespace berth::plugins
