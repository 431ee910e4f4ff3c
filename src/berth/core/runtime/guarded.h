// SPDX-License-Identifier: Apache-2.0
// Brings the names of framework/guarded.h into berth::runtime.
#pragma once

#include "berth/framework/guarded.h"

namespace berth::runtime {

using framework::Guarded;
using framework::GuardedCall;
using framework::GuardedOperation;

}  // namespace berth::runtime
