// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of berth's own plugins, which the configuration keeps as they were written. Each error names the
// field's path.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "berth/base/expected.h"
#include "berth/core/config/args.h"
#include "berth/core/config/reader.h"

namespace berth::plugins {

// `read(reader, args)` asks the reader for each field that there is, and notes what is wrong with their values in
// reader.errors(). Without arguments: a default-constructed Args, read from an empty object, so that what is required
// is missed.
//   plugin "BestPrice": args.unpricedNodes: Unsupported value: "first": supported values: "last", "refused"
template <typename Args, typename Read>
Expected<Args> ReadPolicyArgs(std::string_view plugin, const config::PluginArgs& args, Read read) {
  codec::json::value document = codec::json::object();
  if (const auto* raw = std::get_if<config::RawArgs>(&args)) {
    BERTH_ASSIGN_OR_RETURN(document, codec::ParseJson(raw->json));
  } else if (!std::holds_alternative<std::monostate>(args)) {
    return InvalidError("plugin \"" + std::string(plugin) + "\": arguments of another plugin");
  }
  Args out;
  config::FieldErrors errors;
  {
    config::ObjectReader reader(document, "args", errors);
    std::string ignored;
    reader.Read("apiVersion", ignored);
    reader.Read("kind", ignored);
    read(reader, out);
  }
  if (const auto result = errors.Result(); !result.ok())
    return result.error().Wrap("plugin \"" + std::string(plugin) + "\"");
  return out;
}

}  // namespace berth::plugins
