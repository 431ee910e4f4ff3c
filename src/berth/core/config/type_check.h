// SPDX-License-Identifier: Apache-2.0
// apiVersion and kind of a configuration. Pure functions.
#pragma once

#include <string_view>

#include "berth/core/config/reader.h"

namespace berth::config {

// Reads both, which must be what they are expected to be; `is_optional` as in plugin arguments, where they may be left
// out.
void CheckType(ObjectReader& reader, std::string_view api_version, std::string_view kind, bool is_optional);

}  // namespace berth::config
