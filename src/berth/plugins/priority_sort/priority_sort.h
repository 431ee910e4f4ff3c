// SPDX-License-Identifier: Apache-2.0
// PrioritySort: the order of the queue: higher priority first, among equals whoever has waited longer.
#pragma once

#include "berth/framework/plugin.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreatePrioritySort();

}  // namespace berth::plugins
