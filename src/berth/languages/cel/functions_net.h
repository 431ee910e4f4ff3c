// SPDX-License-Identifier: Apache-2.0
// Functions of IP addresses and CIDR blocks. Constant tables: any thread.
#pragma once

#include <span>

#include "berth/languages/cel/declarations.h"

namespace berth::cel {

std::span<const OverloadBinding> NetBindings();

}  // namespace berth::cel
