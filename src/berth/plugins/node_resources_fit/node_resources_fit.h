// SPDX-License-Identifier: Apache-2.0
// NodeResourcesFit: refuses nodes without enough free resources or pod slots, and scores them by how full they would
// be.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::config {
struct NodeResourcesFitArgs;
}

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateNodeResourcesFit(const config::NodeResourcesFitArgs& args,
                                                          framework::Handle& handle);

}  // namespace berth::plugins
