// SPDX-License-Identifier: Apache-2.0
// Functions of lists. Constant tables: any thread.
#pragma once

#include <span>

#include "berth/languages/cel/declarations.h"

namespace berth::cel {

std::span<const OverloadBinding> ListBindings();
std::span<const SingletonBinding> ListSingletons();

}  // namespace berth::cel
