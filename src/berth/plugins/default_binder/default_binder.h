// SPDX-License-Identifier: Apache-2.0
// DefaultBinder: binds a pod to its node with the binding subresource.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreateDefaultBinder();

}  // namespace berth::plugins
