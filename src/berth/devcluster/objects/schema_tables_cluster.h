// SPDX-License-Identifier: Apache-2.0
// More text that schema.cc reads its types from. Immutable.
#pragma once

#include <array>
#include <string_view>

namespace berth::objects::internal {

// One text a package, in the format described in schema_tables.cc.
std::array<std::string_view, 15> ClusterSchemaTexts();

}  // namespace berth::objects::internal
