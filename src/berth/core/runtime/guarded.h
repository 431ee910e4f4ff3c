// SPDX-License-Identifier: Apache-2.0
// framework/guarded.h under the names that runtime and scheduler use.
#pragma once

#include "berth/framework/guarded.h"

namespace berth::runtime {

using framework::Guarded;
using framework::GuardedCall;
using framework::GuardedOperation;

}  // namespace berth::runtime
