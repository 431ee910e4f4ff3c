// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/types.h"

namespace berth::config {
namespace {

struct Names {
  std::string_view type;
  std::string_view field;
};

constexpr std::array<Names, kExtensionPointCount> kNames = {{
    {"PreEnqueue", "preEnqueue"},
    {"QueueSort", "queueSort"},
    {"PreFilter", "preFilter"},
    {"Filter", "filter"},
    {"PostFilter", "postFilter"},
    {"PreScore", "preScore"},
    {"Score", "score"},
    {"Reserve", "reserve"},
    {"Permit", "permit"},
    {"PreBind", "preBind"},
    {"Bind", "bind"},
    {"PostBind", "postBind"},
    {"PodGroupPostFilter", "podGroupPostFilter"},
    {"PlacementGenerate", "placementGenerate"},
    {"PlacementScore", "placementScore"},
    {"PlacementFeasible", "placementFeasible"},
}};
static_assert(!kNames.back().type.empty(), "each extension point needs its names");

}  // namespace

std::string_view ToString(ExtensionPoint point) { return kNames[static_cast<std::size_t>(point)].type; }

std::string_view FieldName(ExtensionPoint point) { return kNames[static_cast<std::size_t>(point)].field; }

bool IsInFiles(ExtensionPoint point, int release_minor) {
  switch (point) {
    case ExtensionPoint::kPodGroupPostFilter: return release_minor >= kPodGroupsMinor;
    case ExtensionPoint::kPlacementGenerate:
    case ExtensionPoint::kPlacementScore: return release_minor >= kPlacementsMinor;
    case ExtensionPoint::kPlacementFeasible: return release_minor >= kPlacementLimitMinor;
    default: return true;
  }
}

const PluginArgs* Profile::FindArgs(std::string_view plugin) const {
  for (const PluginConfig& config : plugin_config) {
    if (config.name == plugin) return &config.args;
  }
  return nullptr;
}

}  // namespace berth::config
