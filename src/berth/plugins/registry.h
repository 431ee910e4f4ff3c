// SPDX-License-Identifier: Apache-2.0
// The plugins that come with berth: name and factory, one line each in registry.cc. Nothing registers itself.
#pragma once

#include <vector>

#include "berth/core/config/known_plugins.h"

namespace berth::plugins {

const std::vector<config::KnownPlugin>& InTreePlugins();

}  // namespace berth::plugins
