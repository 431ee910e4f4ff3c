// SPDX-License-Identifier: Apache-2.0
// The storage class of volumes and claims. Upstream: GetPersistentVolumeClass and GetPersistentVolumeClaimClass of
// k8s.io/component-helpers/storage/volume. Pure.
#pragma once

#include <string>

#include "berth/api/storage.h"

namespace berth::plugins {

// The class of a volume or claim; the beta annotation comes first. Empty: none.
const std::string& ClassOf(const api::PersistentVolume& volume);
const std::string& ClassOf(const api::PersistentVolumeClaim& claim);

}  // namespace berth::plugins
