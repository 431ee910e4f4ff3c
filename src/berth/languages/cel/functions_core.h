// SPDX-License-Identifier: Apache-2.0
// Operators and conversions of CEL's standard library. Constant tables: any thread.
#pragma once

#include <span>

#include "berth/languages/cel/declarations.h"

namespace berth::cel {

std::span<const SingletonBinding> OperatorBindings();
std::span<const OverloadBinding> ConversionBindings();

}  // namespace berth::cel
