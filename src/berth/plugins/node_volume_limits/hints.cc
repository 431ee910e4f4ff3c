// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_volume_limits/hints.h"

#include <algorithm>

#include "berth/plugins/helper/csi_migration.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/node_volume_limits/attachable_volumes.h"

namespace berth::plugins {
namespace {

using framework::EventObjects;
using framework::EventResource;
using framework::PodInfo;
using framework::QueueingHint;

std::int32_t LimitOf(const api::CsiNodeDriver& driver) { return driver.allocatable_count.value_or(0); }

// A driver without limit counts as one of 0 here, so that one which gets its first limit helps, and one which loses it
// does not.
QueueingHint AfterCsiNodeUpdate(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::CsiNode>();
  const auto* after = event.New<api::CsiNode>();
  if (before == nullptr || after == nullptr) return QueueingHint::kQueue;
  const auto old_limit = [before](const std::string& name) {
    std::int32_t limit = 0;
    for (const api::CsiNodeDriver& driver : before->drivers) {
      if (driver.name == name) limit = LimitOf(driver);
    }
    return limit;
  };
  return QueueIf(std::any_of(after->drivers.begin(), after->drivers.end(), [&](const api::CsiNodeDriver& driver) {
    return LimitOf(driver) > old_limit(driver.name);
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

// Claims of ephemeral volumes are not thought of, as upstream.
QueueingHint AfterAttachmentDeleted(const PodInfo& pod, const EventObjects& event) {
  const auto* gone = event.Old<api::VolumeAttachment>();
  if (gone == nullptr) return QueueingHint::kQueue;
  for (const api::Volume& volume : pod.spec().volumes) {
    if (volume.source.kind == api::VolumeKind::kPersistentVolumeClaim) return QueueingHint::kQueue;
    const std::string_view plugin = InTreePluginOf(volume.source.kind);
    if (plugin.empty()) continue;
    if (!TranslatedHandle(volume.source).ok() || gone->attacher == CsiDriverFor(plugin)) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

}  // namespace

std::vector<framework::ClusterEventWithHint> VolumeLimitEvents() {
  using namespace framework::action;
  return {{{EventResource::kCsiNode, kAdd}, {}},
          {{EventResource::kCsiNode, kUpdate}, AfterCsiNodeUpdate},
          OnPod(kDelete, AfterPodDeleted),
          {{EventResource::kPersistentVolumeClaim, kAdd}, AfterClaimAdded},
          {{EventResource::kVolumeAttachment, kDelete}, AfterAttachmentDeleted}};
}

}  // namespace berth::plugins
