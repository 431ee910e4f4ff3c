// SPDX-License-Identifier: Apache-2.0
// Base64 as RFC 4648 has it (standard alphabet, padded), as Kubernetes writes bytes in JSON. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/expected.h"

namespace berth {

std::string EncodeBase64(std::string_view bytes);

// Line breaks are skipped, as Go's decoder does. kInvalid when anything else is no base64.
Expected<std::string> DecodeBase64(std::string_view text);

}  // namespace berth
