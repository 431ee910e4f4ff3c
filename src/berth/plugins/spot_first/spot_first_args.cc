// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/spot_first/spot_first_args.h"

#include <string>

#include "berth/plugins/helper/policy_args.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

constexpr std::int32_t kShareMax = 100;

void ReadLabel(config::ObjectReader& reader, SpotLabels::Label& label) {
  reader.Read("key", label.key);
  reader.Read("value", label.value);
  if (label.key.empty()) {
    reader.errors().Required(reader.PathOf("key"));
  } else if (!api::IsQualifiedName(label.key)) {
    reader.errors().Invalid(reader.PathOf("key"), label.key, "not a label's name");
  }
  if (label.value && !api::IsLabelValue(*label.value))
    reader.errors().Invalid(reader.PathOf("value"), *label.value, "not a label's value");
}

void ReadArgs(config::ObjectReader& reader, SpotFirstArgs& args) {
  reader.List("spotLabels", [&](const codec::json::value& item, const std::string& path) {
    config::ObjectReader entry(item, path, reader.errors());
    ReadLabel(entry, args.spot_labels.emplace_back());
  });
  reader.Read("onDemandShare", args.on_demand_share);
  if (args.on_demand_share < 0 || args.on_demand_share > kShareMax) {
    reader.errors().Invalid(reader.PathOf("onDemandShare"), args.on_demand_share, "must be a percentage from 0 to 100");
  }
  std::string wish = "preferred";
  reader.Read("default", wish);
  if (const auto parsed = ParseSpotWish(wish)) {
    args.default_wish = *parsed;
  } else {
    reader.errors().NotSupported(reader.PathOf("default"), wish, {"preferred", "required", "never"});
  }
}

}  // namespace

std::optional<SpotWish> ParseSpotWish(std::string_view text) {
  if (text == "preferred") return SpotWish::kPreferred;
  if (text == "required") return SpotWish::kRequired;
  if (text == "never") return SpotWish::kNever;
  return std::nullopt;
}

Expected<SpotFirstArgs> ReadSpotFirstArgs(const config::PluginArgs& args) {
  return ReadPolicyArgs<SpotFirstArgs>(names::kSpotFirst, args, ReadArgs);
}

}  // namespace berth::plugins
