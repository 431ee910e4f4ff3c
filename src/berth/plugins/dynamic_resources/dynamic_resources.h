// SPDX-License-Identifier: Apache-2.0
// DynamicResources: allocates devices for the claims of a pod. It refuses nodes where they cannot be had, prefers those
// where alternatives that come first can, and writes allocation and reservation before the pod is bound.
// Upstream: dynamicresources.go, with structured parameters only.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::config {
struct DynamicResourcesArgs;
}

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateDynamicResources(const config::DynamicResourcesArgs& args,
                                                          framework::Handle& handle);

}  // namespace berth::plugins
