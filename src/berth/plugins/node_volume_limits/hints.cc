// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_volume_limits/hints.h"

#include <algorithm>
#include <limits>

#include "berth/plugins/helper/csi_migration.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/node_volume_limits/attachable_volumes.h"

namespace berth::plugins {
namespace {

using framework::EventObjects;
using framework::EventResource;
using framework::PodInfo;
using framework::QueueingHint;

// A driver without a limit takes any number.
std::int32_t LimitOf(const api::CsiNodeDriver& driver) {
  return driver.allocatable_count.value_or(std::numeric_limits<std::int32_t>::max());
}

// A driver that is new on the node helps pods that may not run without it, and one that is gone takes its limit along.
// Upstream takes a driver without limit for one of 0, and does not think of one that goes.
QueueingHint AfterCsiNodeUpdate(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::CsiNode>();
  const auto* after = event.New<api::CsiNode>();
  if (before == nullptr || after == nullptr) return QueueingHint::kQueue;
  const auto find = [](const api::CsiNode& node, const std::string& name) {
    return std::find_if(node.drivers.begin(), node.drivers.end(),
                        [&](const auto& driver) { return driver.name == name; });
  };
  const bool has_more = std::any_of(after->drivers.begin(), after->drivers.end(), [&](const auto& driver) {
    const auto old = find(*before, driver.name);
    return old == before->drivers.end() || LimitOf(driver) > LimitOf(*old);
  });
  return QueueIf(has_more || std::any_of(before->drivers.begin(), before->drivers.end(), [&](const auto& driver) {
                   return find(*after, driver.name) == after->drivers.end();
                 }));
}

QueueingHint AfterPodDeleted(const PodInfo&, const EventObjects& event) {
  const PodInfo* gone = event.old_pod;
  if (gone == nullptr) return QueueingHint::kQueue;
  return QueueIf(WasAssignedOrNominated(*gone) && CountMayBeAttachable(*gone->pod_class) > 0);
}

QueueingHint AfterClaimAdded(const PodInfo& pod, const EventObjects& event) {
  const auto* claim = event.New<api::PersistentVolumeClaim>();
  if (claim == nullptr) return QueueingHint::kQueue;
  if (claim->metadata.namespace_name != pod.namespace_name()) return QueueingHint::kSkip;
  const auto& volumes = pod.spec().volumes;
  return QueueIf(std::any_of(volumes.begin(), volumes.end(), [&](const api::Volume& volume) {
    const std::string name = ClaimNameOf(pod, volume);
    return !name.empty() && name == claim->metadata.name;
  }));
}

// Upstream does not think of the claims of ephemeral volumes.
QueueingHint AfterAttachmentDeleted(const PodInfo& pod, const EventObjects& event) {
  const auto* gone = event.Old<api::VolumeAttachment>();
  if (gone == nullptr) return QueueingHint::kQueue;
  for (const api::Volume& volume : pod.spec().volumes) {
    if (volume.source.kind == api::VolumeKind::kPersistentVolumeClaim ||
        volume.source.kind == api::VolumeKind::kEphemeral)
      return QueueingHint::kQueue;
    const std::string_view plugin = InTreePluginOf(volume.source.kind);
    if (plugin.empty()) continue;
    if (!TranslatedHandle(volume.source).ok() || gone->attacher == CsiDriverFor(plugin)) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

}  // namespace

std::vector<framework::ClusterEventWithHint> VolumeLimitEvents() {
  using namespace framework::action;
  return {{{EventResource::kCsiNode, kAdd | kDelete}, {}},
          {{EventResource::kCsiNode, kUpdate}, AfterCsiNodeUpdate},
          OnPod(kDelete, AfterPodDeleted),
          {{EventResource::kPersistentVolumeClaim, kAdd}, AfterClaimAdded},
          {{EventResource::kVolumeAttachment, kDelete}, AfterAttachmentDeleted}};
}

}  // namespace berth::plugins
