// SPDX-License-Identifier: Apache-2.0
// VolumeRestrictions: two pods do not get a disk that only one may have: disks of old in-tree kinds on one node, and
// ReadWriteOncePod claims anywhere. Upstream: pkg/scheduler/framework/plugins/volumerestrictions.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateVolumeRestrictions(framework::Handle& handle);

}  // namespace berth::plugins
