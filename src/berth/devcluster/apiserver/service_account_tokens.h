// SPDX-License-Identifier: Apache-2.0
// The tokens of service accounts: JSON Web Tokens signed with a key of the server's (HMAC-SHA256, where kube-apiserver
// signs with a private key). Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "berth/codec/json.h"

namespace berth::apiserver {

namespace json = codec::json;

// Bytes of a token that is looked at; those made here have less than 2,000.
inline constexpr std::size_t kTokenBytesMax = 16'384;

inline constexpr std::string_view kTokenIssuer = "https://kubernetes.default.svc.cluster.local";

std::string SignToken(std::string_view key, const json::object& claims);

// The claims of a token that SignToken() made with this key; nullopt for all others. Whether it has expired is the
// caller's to say.
std::optional<json::object> ReadToken(std::string_view key, std::string_view token);

}  // namespace berth::apiserver
