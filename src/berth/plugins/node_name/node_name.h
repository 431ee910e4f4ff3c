// SPDX-License-Identifier: Apache-2.0
// NodeName: refuses every node but the one that the pod names.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateNodeName();

}  // namespace berth::plugins
