// SPDX-License-Identifier: Apache-2.0
// VolumeZone: refuses nodes outside the zone or region of the pod's bound volumes, as the labels of the
// PersistentVolumes say it. Newer volumes have a node affinity instead, which VolumeBinding looks at. Within turns
// only.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateVolumeZone(framework::Handle& handle);

}  // namespace berth::plugins
