// SPDX-License-Identifier: Apache-2.0
// `berth plugin new`: the folder of a new plugin, from the templates in templates/.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/expected.h"

namespace berth::authoring {

// Writes the files of `language`'s template ("cpp", "lua") into `folder`, which may be there if it is empty; without
// one into ./NAME in kebab case. Returns what to do next, for people to read. `name` is to be in PascalCase; the error
// says what would be right.
Expected<std::string> NewPlugin(const std::string& name, const std::string& language, std::string folder);

// "ZoneSpread" as "zone_spread" with '_', as "zone-spread" with '-'.
std::string SplitName(std::string_view name, char separator);

}  // namespace berth::authoring
