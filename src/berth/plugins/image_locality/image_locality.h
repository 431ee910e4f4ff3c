// SPDX-License-Identifier: Apache-2.0
// ImageLocality: prefers nodes that hold the pod's images already, the more so the larger they are and the more nodes
// have them.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateImageLocality(framework::Handle& handle);

}  // namespace berth::plugins
