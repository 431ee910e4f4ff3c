// SPDX-License-Identifier: Apache-2.0
// NodePorts: refuses nodes where a host port that the pod wants is taken.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateNodePorts();

}  // namespace berth::plugins
