// SPDX-License-Identifier: Apache-2.0
// Checks apiVersion and kind of a configuration. Pure functions.
#pragma once

#include <string_view>

#include "berth/core/config/reader.h"

namespace berth::config {

// Both must have the expected value. With `is_optional`, as in plugin arguments, they may be missing.
void CheckType(ObjectReader& reader, std::string_view api_version, std::string_view kind, bool is_optional);

}  // namespace berth::config
