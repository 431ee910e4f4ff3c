// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/topology_distance/topology_distance_args.h"

#include <algorithm>
#include <optional>
#include <set>

#include "berth/plugins/helper/policy_args.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

constexpr std::string_view kNotAKey = "must be a name as of a label, such as \"example.com/rack\"";

void CheckKey(config::ObjectReader& reader, std::string_view field, const std::string& key) {
  if (!key.empty() && !api::IsQualifiedName(key)) reader.errors().Invalid(reader.PathOf(field), key, kNotAKey);
}

// A distance that must be above `before`, which is `whose`; by default twice as far.
std::int64_t ReadDistance(config::ObjectReader& reader, std::string_view field, std::optional<std::int64_t> before,
                          std::string_view whose) {
  std::optional<std::int64_t> read;
  const std::size_t errors = reader.errors().count();
  reader.Read(field, read);
  if (!read || reader.errors().count() > errors) return before ? std::max<std::int64_t>(1, 2 * *before) : 1;
  if (*read < 0 || *read > kTopologyDistanceMax) {
    reader.errors().Invalid(reader.PathOf(field), *read, "must be between 0 and 10000");
  } else if (before && *read <= *before) {
    reader.errors().Invalid(reader.PathOf(field), *read,
                            "must be above " + std::to_string(*before) + ", " + std::string(whose));
  }
  return std::clamp<std::int64_t>(*read, 0, kTopologyDistanceMax);
}

void ReadArgs(config::ObjectReader& reader, TopologyDistanceArgs& args) {
  std::set<std::string> seen;
  std::optional<std::int64_t> before;
  reader.List("levels", [&](const codec::json::value& item, const std::string& path) {
    config::ObjectReader fields(item, path, reader.errors());
    if (!item.is_object() && !item.is_null()) return;
    TopologyDistanceArgs::Level level;
    const std::size_t errors_before = reader.errors().count();
    fields.Read("key", level.key);
    if (level.key.empty() && reader.errors().count() == errors_before)
      reader.errors().Required(fields.PathOf("key"), "the nodes' label, such as example.com/rack");
    CheckKey(fields, "key", level.key);
    if (!level.key.empty() && !seen.insert(level.key).second)
      reader.errors().Duplicate(fields.PathOf("key"), level.key);
    level.distance = ReadDistance(fields, "distance", before,
                                  "the distance of the level before it: the narrowest level comes first");
    before = level.distance;
    args.levels.push_back(std::move(level));
  });
  if (args.levels.empty() && reader.errors().count() == 0)
    reader.errors().Required(reader.PathOf("levels"), "at least one, the narrowest first");
  if (args.levels.size() > kTopologyLevelsMax) {
    reader.errors().Invalid(reader.PathOf("levels"), static_cast<std::int64_t>(args.levels.size()),
                            "at most 8 are allowed");
  }
  args.max_distance = ReadDistance(reader, "maxDistance", before, "that of the widest level");
  reader.Read("peerLabel", args.peer_label);
  CheckKey(reader, "peerLabel", args.peer_label);
  reader.Read("byController", args.by_controller);
}

}  // namespace

Expected<TopologyDistanceArgs> ReadTopologyDistanceArgs(const config::PluginArgs& args) {
  return ReadPolicyArgs<TopologyDistanceArgs>(names::kTopologyDistance, args, ReadArgs);
}

}  // namespace berth::plugins
