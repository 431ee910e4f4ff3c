// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/type_check.h"

#include <string>

namespace berth::config {

namespace json = codec::json;

void CheckType(ObjectReader& reader, std::string_view api_version, std::string_view kind, bool is_optional) {
  std::string found_version;
  std::string found_kind;
  reader.Read("apiVersion", found_version);
  reader.Read("kind", found_kind);
  const auto check = [&](std::string_view key, std::string_view found, std::string_view wanted) {
    if (found == wanted || (found.empty() && is_optional)) return;
    // Reported already.
    if (const json::value* value = reader.Find(key); value != nullptr && !value->is_string()) return;
    std::string text = "must be \"" + std::string(wanted) + '"';
    text += found.empty() ? std::string(", and is missing") : ", not \"" + std::string(found.substr(0, 128)) + '"';
    reader.errors().Add(reader.PathOf(key), text);
  };
  check("apiVersion", found_version, api_version);
  check("kind", found_kind, kind);
}

}  // namespace berth::config
