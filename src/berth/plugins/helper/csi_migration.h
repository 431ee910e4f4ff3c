// SPDX-License-Identifier: Apache-2.0
// CSI migration: which in-tree volumes a CSI driver serves in 1.36, and what that driver calls them. Upstream:
// k8s.io/csi-translation-lib, and isCSIMigrationOn of the NodeVolumeLimits plugin. Pure.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/storage.h"
#include "berth/base/expected.h"

namespace berth::plugins {

// "kubernetes.io/aws-ebs", of the kinds that have a translation to CSI; else empty.
std::string_view InTreePluginOf(api::VolumeKind kind);

// The CSI driver that takes the place of an in-tree plugin; empty: there is none.
std::string_view CsiDriverFor(std::string_view in_tree_plugin);

// Whether the driver has taken its place already: not for Azure files and vSphere, which have a translation as well.
bool IsMigrationOn(std::string_view in_tree_plugin);

// The handle of the CSI volume that stands for an in-tree one of a kind that is migrated: of a volume in a pod, and of
// a PersistentVolume, where labels matter as well. Errors are upstream's texts.
Expected<std::string> TranslatedHandle(const api::VolumeSource& source);
Expected<std::string> TranslatedHandle(const api::PersistentVolume& volume);

}  // namespace berth::plugins
