// SPDX-License-Identifier: Apache-2.0
// What the admission plugin DefaultStorageClass does to a new PersistentVolumeClaim. Pure.
#pragma once

#include <vector>

#include "berth/codec/json.h"

namespace berth::objects {

// Gives a claim that names no class, not even "", the newest of those that are marked as the default one.
void ApplyDefaultStorageClass(codec::json::object& claim, const std::vector<const codec::json::object*>& classes);

}  // namespace berth::objects
