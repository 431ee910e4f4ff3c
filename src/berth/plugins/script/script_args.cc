// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/script/script_args.h"

#include "berth/codec/json.h"
#include "berth/plugins/helper/policy_args.h"

namespace berth::plugins {
namespace {

constexpr std::int64_t kInstructionsMin = 100;
constexpr std::int64_t kInstructionsMax = 100'000'000;
constexpr std::int64_t kCycleInstructionsMin = 1'000;
constexpr std::int64_t kCycleInstructionsMax = 100'000'000'000;
// A state without a script has some tens of kilobytes.
constexpr std::int64_t kMemoryBytesMin = std::int64_t{256} << 10;
constexpr std::int64_t kMemoryBytesMax = std::int64_t{1} << 30;

void ReadLimit(config::ObjectReader& reader, std::string_view key, std::int64_t min, std::int64_t max,
               std::int64_t& limit) {
  reader.Read(key, limit);
  if (limit >= min && limit <= max) return;
  reader.errors().Invalid(reader.PathOf(key), limit,
                          "not in valid range [" + std::to_string(min) + ", " + std::to_string(max) + "]");
}

void ReadArgs(config::ObjectReader& reader, ScriptArgs& args) {
  reader.Read("file", args.file);
  reader.Read("source", args.source);
  if (args.file.empty() && args.source.empty())
    reader.errors().Required(reader.PathOf("file"), "or the script itself in \"source\"");
  if (!args.file.empty() && !args.source.empty())
    reader.errors().Forbidden(reader.PathOf("source"), "may not be given with \"file\"");
  if (const codec::json::value* own = reader.Find("args")) {
    if (own->is_object()) {
      args.args_json = codec::WriteJson(*own);
    } else {
      reader.errors().Add(reader.PathOf("args"),
                          "Invalid value: must be an object, not " + std::string(config::Describe(*own)));
    }
  }
  std::string on_error = "error";
  reader.Read("onError", on_error);
  if (on_error != "error" && on_error != "skip")
    reader.errors().NotSupported(reader.PathOf("onError"), on_error, {"error", "skip"});
  args.on_error = on_error == "skip" ? ScriptArgs::OnError::kSkip : ScriptArgs::OnError::kError;
  ReadLimit(reader, "instructionsMax", kInstructionsMin, kInstructionsMax, args.limits.instructions_max);
  ReadLimit(reader, "cycleInstructionsMax", kCycleInstructionsMin, kCycleInstructionsMax, args.cycle_instructions_max);
  auto memory = static_cast<std::int64_t>(args.limits.memory_bytes_max);
  ReadLimit(reader, "memoryBytesMax", kMemoryBytesMin, kMemoryBytesMax, memory);
  args.limits.memory_bytes_max = static_cast<std::size_t>(memory);
}

}  // namespace

Expected<ScriptArgs> ReadScriptArgs(std::string_view plugin, const config::PluginArgs& args) {
  return ReadPolicyArgs<ScriptArgs>(plugin, args, ReadArgs);
}

}  // namespace berth::plugins
