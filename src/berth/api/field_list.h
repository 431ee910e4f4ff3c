// SPDX-License-Identifier: Apache-2.0
// Which fields the decoders of this folder know, for tests that hold them against another description of the API.
// Thread-safe; never used while scheduling.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::api {

struct ListedField {
  std::string path;          // "spec.containers.ports.hostPort", from the object down; lists and maps leave no trace
  std::uint32_t number = 0;  // in protobuf
  std::uint32_t inline_number = 0;  // above 0: it stands in a message that is this field of the type around it
};

// All fields of a kind, parents before children; empty for a kind that nobody decodes.
std::vector<ListedField> ListFields(std::string_view kind);

// The kinds that have some.
std::vector<std::string_view> ListKinds();

}  // namespace berth::api
