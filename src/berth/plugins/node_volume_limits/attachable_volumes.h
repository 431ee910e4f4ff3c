// SPDX-License-Identifier: Apache-2.0
// The volumes of a pod that a CSI driver attaches to its node, as limits count them. Upstream: filterAttachableVolumes
// of the NodeVolumeLimits plugin.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth::plugins {

// The driver of each volume, by a name that is unique to the volume.
using AttachableVolumes = std::map<std::string, std::string>;

// "driver/handle"
std::string UniqueVolumeName(const std::string& driver, const std::string& handle);

// The volume can count: it has a claim, or is of an in-tree kind that a CSI driver can serve.
bool MayBeAttachable(const api::Volume& volume);
// How many of the pod's volumes can count.
std::int32_t CountMayBeAttachable(const framework::PodClass& pod_class);
// Counting the pod's volumes may fail where they are on a node already.
bool MayFailToCount(const framework::PodClass& pod_class);

// The name of the claim behind a volume of the pod; empty for volumes without one.
std::string ClaimNameOf(const framework::PodInfo& pod, const api::Volume& volume);

// Adds the pod's volumes on a node with that CSINode; null: without one, in-tree kinds do not count. Claims that are
// missing are an error for a new pod only.
framework::Status AddAttachableVolumes(const framework::Objects& objects, const framework::PodInfo& pod,
                                       const api::CsiNode* csi_node, bool is_new, AttachableVolumes& volumes);

}  // namespace berth::plugins
