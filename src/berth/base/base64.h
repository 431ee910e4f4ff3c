// SPDX-License-Identifier: Apache-2.0
// Base64 of RFC 4648 (standard alphabet, padded), the form of bytes in Kubernetes' JSON. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/expected.h"

namespace berth {

std::string EncodeBase64(std::string_view bytes);
// The same at the end of `to`.
void AppendBase64(std::string_view bytes, std::string& to);

// Line breaks are skipped, as Go's decoder does. kInvalid for any other invalid character.
Expected<std::string> DecodeBase64(std::string_view text);

}  // namespace berth
