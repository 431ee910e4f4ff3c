// SPDX-License-Identifier: Apache-2.0
// Functions of strings and bytes. Constant tables: any thread.
#pragma once

#include <span>

#include "berth/languages/cel/declarations.h"

namespace berth::cel {

std::span<const OverloadBinding> StringBindings();

}  // namespace berth::cel
