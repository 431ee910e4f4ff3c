// SPDX-License-Identifier: Apache-2.0
// The fields that the decoders of this folder know, for tests that compare them with another description of the API.
// Thread-safe; not used while scheduling.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::api {

struct ListedField {
  std::string path;          // "spec.containers.ports.hostPort", from the object down; lists and maps add nothing
  std::uint32_t number = 0;  // in protobuf
  // Above 0: the field is in a message embedded in the type, which has this number there.
  std::uint32_t inline_number = 0;
};

// All fields of a kind, parents before children; empty for a kind that is not decoded.
std::vector<ListedField> ListFields(std::string_view kind);

// The kinds that are decoded.
std::vector<std::string_view> ListKinds();

}  // namespace berth::api
