// SPDX-License-Identifier: Apache-2.0
// The text that schema.cc reads the types of pod groups from. Immutable.
#pragma once

#include <array>
#include <string_view>

namespace berth::objects::internal {

// One text a package, in the format described in schema_tables.cc: pod groups as Kubernetes 1.37 has them, and
// metrics-server's kinds.
std::array<std::string_view, 3> OtherSchemaTexts();

}  // namespace berth::objects::internal
