// SPDX-License-Identifier: Apache-2.0
// The arguments of Script, and reading them. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/core/config/args.h"
#include "berth/languages/script/sandbox.h"

namespace berth::plugins {

struct ScriptArgs {
  enum class OnError : std::uint8_t {
    kError,  // the pod is tried again later, and its event says what went wrong
    kSkip,   // as if the script had nothing to say
  };

  // Exactly one of the two is given.
  std::string file;
  std::string source;
  std::string args_json = "{}";  // an object: the script's global `args`
  OnError on_error = OnError::kError;
  script::Limits limits;
  // Of all calls with the seed of one cycle, as Sandbox::CostOfCall() counts them: some seconds. Those that follow
  // fail.
  std::int64_t cycle_instructions_max = 500'000'000;
};

// `plugin` is the name in the profile. An error lists all that is wrong, each with its field path.
Expected<ScriptArgs> ReadScriptArgs(std::string_view plugin, const config::PluginArgs& args);

}  // namespace berth::plugins
