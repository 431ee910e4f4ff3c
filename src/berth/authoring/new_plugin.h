// SPDX-License-Identifier: Apache-2.0
// `berth plugin new`: creates the folder of a new plugin from the templates in templates/.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/expected.h"

namespace berth::authoring {

// Writes the files of the template for `language` ("cpp", "lua") into `folder`, which may exist if it is empty; the
// default is ./NAME in kebab case. Returns instructions for the next steps. `name` must be in PascalCase; the error
// suggests a valid name.
Expected<std::string> NewPlugin(const std::string& name, const std::string& language, std::string folder);

// "ZoneSpread" as "zone_spread" with '_', as "zone-spread" with '-'.
std::string SplitName(std::string_view name, char separator);

}  // namespace berth::authoring
