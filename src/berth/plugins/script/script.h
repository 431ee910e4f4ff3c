// SPDX-License-Identifier: Apache-2.0
// Script: a plugin in Lua 5.4. The functions `prefilter`, `filter`, `score` and `normalize` of a file, or of the
// arguments themselves, answer at the extension points of those names. A file that changes is taken up while the
// scheduler runs, when the new version passes the checks of the first.
//
// A profile may have several, each with arguments of its own: "Script", "Script/zones", "Script/anything".
#pragma once

#include <chrono>
#include <string_view>

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/script/script_args.h"

namespace berth::plugins {

// How often a changed file is looked for.
inline constexpr Duration kScriptReloadInterval = std::chrono::seconds(2);

// `name` is "Script" or "Script/...". A file is read through the handle.
Expected<std::unique_ptr<framework::Plugin>> CreateScript(std::string_view name, const config::PluginArgs& args,
                                                          framework::Handle& handle);

}  // namespace berth::plugins
