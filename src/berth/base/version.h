// SPDX-License-Identifier: Apache-2.0
// The version of berth. version.cc alone is compiled with it: a source with a definition of its own is in no group.
// Thread-safe.
#pragma once

#include <string_view>

namespace berth {

// As in "0.1.0".
std::string_view Version();

}  // namespace berth
