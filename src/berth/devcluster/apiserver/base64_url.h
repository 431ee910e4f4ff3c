// SPDX-License-Identifier: Apache-2.0
// Base64 with the alphabet for URLs and without padding, as continue tokens and JSON Web Tokens have it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::apiserver {

std::string EncodeBase64Url(std::string_view bytes);
// Nullopt for text with other characters.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace berth::apiserver
