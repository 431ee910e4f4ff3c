// base64 of RFC 4648, with padding. Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace berth::apiserver {

std::string EncodeBase64(std::string_view bytes);

}  // namespace berth::apiserver
