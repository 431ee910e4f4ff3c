// SPDX-License-Identifier: Apache-2.0
// The text that schema.cc reads its types from. Immutable.
#pragma once

#include <string_view>
#include <vector>

namespace berth::objects::internal {

// One text a package (schema_tables_cluster.h has a part of them), in the format described in schema_tables.cc.
std::vector<std::string_view> SchemaTexts();

}  // namespace berth::objects::internal
