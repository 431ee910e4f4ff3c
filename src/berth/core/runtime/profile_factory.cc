// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/profile_factory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "berth/core/config/default.h"
#include "berth/core/config/expand.h"
#include "berth/core/runtime/guarded.h"
#include "berth/framework/profile_aware.h"

namespace berth::runtime {
namespace {

using config::ExtensionPoint;
using framework::Plugin;

config::ExtensionPointSet PointsOf(Plugin& plugin) {
  config::ExtensionPointSet points;
  const auto mark = [&](ExtensionPoint point, bool is_there) { points.set(static_cast<std::size_t>(point), is_there); };
  mark(ExtensionPoint::kPreEnqueue, dynamic_cast<framework::PreEnqueuePlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kQueueSort, dynamic_cast<framework::QueueSortPlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPreFilter, dynamic_cast<framework::PreFilterPlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kFilter, dynamic_cast<framework::FilterPlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPostFilter, dynamic_cast<framework::PostFilterPlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPreScore, dynamic_cast<framework::PreScorePlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kScore, dynamic_cast<framework::ScorePlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kReserve, dynamic_cast<framework::ReservePlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPermit, dynamic_cast<framework::PermitPlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPreBind, dynamic_cast<framework::PreBindPlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kBind, dynamic_cast<framework::BindPlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPostBind, dynamic_cast<framework::PostBindPlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPodGroupPostFilter, dynamic_cast<framework::PodGroupPostFilterPlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPlacementGenerate, dynamic_cast<framework::PlacementGeneratePlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPlacementScore, dynamic_cast<framework::PlacementScorePlugin*>(&plugin) != nullptr);
  mark(ExtensionPoint::kPlacementFeasible, dynamic_cast<framework::PlacementFeasiblePlugin*>(&plugin) != nullptr);
  return points;
}

// The plugin instances of one profile, made on demand.
class Instances {
 public:
  Instances(const config::Profile& profile, std::span<const config::KnownPlugin> registry, framework::Handle& handle)
      : profile_(profile), registry_(registry), handle_(handle) {}

  std::shared_ptr<Plugin> Get(std::string_view name) {
    if (const auto it = made_.find(name); it != made_.end()) return it->second;
    const config::KnownPlugin* registered = config::FindPlugin(registry_, name);
    error_.reset();
    if (registered == nullptr) return nullptr;
    auto created = Create(*registered, name);
    if (!created.ok()) {
      error_ = created.error().Wrap("initializing plugin \"" + std::string(name) + "\"");
      return nullptr;
    }
    return made_.emplace(std::string(name), std::move(*created)).first->second;
  }

  bool HasArgs(std::string_view name) const { return profile_.FindArgs(name) != nullptr; }
  // The error of the last failed Get().
  const std::optional<Error>& error() const { return error_; }

 private:
  // An exception in a factory becomes its error.
  Expected<std::unique_ptr<Plugin>> Create(const config::KnownPlugin& registered, std::string_view name) {
    Expected<std::unique_ptr<Plugin>> created = InvalidError("");
    const framework::Status thrown = Guarded([&] {
      const config::PluginArgs* given = profile_.FindArgs(name);
      const config::PluginArgs args = given != nullptr ? *given : config::DefaultArgs(name);
      created =
          registered.create_named ? registered.create_named(name, args, handle_) : registered.create(args, handle_);
      return framework::Status();
    });
    if (!thrown.IsSuccess()) return InvalidError(thrown.Message());
    return created;
  }

  const config::Profile& profile_;
  std::span<const config::KnownPlugin> registry_;
  framework::Handle& handle_;
  std::map<std::string, std::shared_ptr<Plugin>, std::less<>> made_;
  std::optional<Error> error_;
};

// Where files have no set for the point, each plugin of the profile that can be asked is, wherever it is enabled.
void FindPlacementFeasible(ProfilePlugins& profile) {
  for (const auto& plugin : profile.owned) {
    const auto* const asked = dynamic_cast<const framework::PlacementFeasiblePlugin*>(plugin.get());
    if (asked != nullptr) profile.placement_feasible.push_back(asked);
  }
}

// Finds the plugins that name pod groups and that count their members. Naming requires counting, or the members of
// named groups would not be kept together.
Expected<void> FindPodGroupPlugins(ProfilePlugins& profile) {
  for (const auto& plugin : profile.owned) {
    const auto* const namer = dynamic_cast<const framework::PodGroupNamer*>(plugin.get());
    if (namer == nullptr) continue;
    if (profile.pod_group_namer != nullptr) {
      return InvalidError("profile \"" + profile.scheduler_name + "\": plugins \"" +
                          std::string(profile.pod_group_namer->Name()) + "\" and \"" + std::string(namer->Name()) +
                          "\" both name the groups of pods; it should be one");
    }
    profile.pod_group_namer = namer;
  }
  if (profile.pod_group_namer == nullptr || !profile.placement_feasible.empty()) return {};
  return InvalidError("profile \"" + profile.scheduler_name + "\": plugin \"" +
                      std::string(profile.pod_group_namer->Name()) +
                      "\" needs the plugin GangScheduling, which should be enabled beside it");
}

}  // namespace

Expected<std::vector<std::unique_ptr<ProfilePlugins>>> MakeProfiles(const config::KubeSchedulerConfiguration& given,
                                                                    std::span<const config::KnownPlugin> registry,
                                                                    framework::Handle& handle) {
  handle.SetRelease(given.release);
  config::KubeSchedulerConfiguration configuration = given;
  BERTH_RETURN_IF_ERROR(config::IgnoreResources(configuration.extenders, configuration.profiles));
  std::vector<std::unique_ptr<ProfilePlugins>> profiles;
  std::vector<Instances> instances;
  for (const config::Profile& profile : configuration.profiles) instances.emplace_back(profile, registry, handle);
  std::optional<Error> plugin_error;
  // The lookup does not say which profile asks, but a plugin's interfaces do not depend on its arguments. A profile
  // that does not use the plugin has no arguments for it, so that plugins with required arguments may fail for it.
  const auto lookup = [&](std::string_view name) -> std::optional<config::ExtensionPointSet> {
    for (Instances& own : instances) {
      if (const std::shared_ptr<Plugin> plugin = own.Get(name)) return PointsOf(*plugin);
    }
    // The error of a profile that has arguments for the plugin is the most specific.
    std::optional<Error> error;
    for (const Instances& own : instances) {
      if (own.error() && (!error || own.HasArgs(name))) error = own.error();
    }
    if (!plugin_error) plugin_error = error;
    return std::nullopt;
  };
  std::vector<std::string_view> known;
  for (const config::KnownPlugin& plugin : registry) known.push_back(plugin.name);
  auto expanded = config::ExpandProfiles(configuration.profiles, lookup, known);
  if (plugin_error) return *plugin_error;
  if (!expanded.ok()) return expanded.error();

  for (std::size_t p = 0; p < expanded->size(); ++p) {
    const config::ExpandedProfile& from = (*expanded)[p];
    auto to = std::make_unique<ProfilePlugins>();
    to->scheduler_name = from.scheduler_name;
    to->percentage_of_nodes_to_score =
        from.percentage_of_nodes_to_score.value_or(configuration.percentage_of_nodes_to_score);
    to->percentage_of_placements_to_score = from.percentage_of_placements_to_score
                                                ? from.percentage_of_placements_to_score
                                                : configuration.percentage_of_placements_to_score;
    for (const std::string& name : from.plugin_names) {
      std::shared_ptr<Plugin> plugin = instances[p].Get(name);
      if (!plugin) {
        return instances[p].error()
                   ? instances[p].error()->Wrap("profile \"" + from.scheduler_name + "\"")
                   : InvalidError("profile \"" + from.scheduler_name + "\": plugin \"" + name + "\" does not exist");
      }
      if (auto* aware = dynamic_cast<framework::ProfileAware*>(plugin.get())) {
        const framework::Status thrown = GuardedCall([&] { aware->SetProfile(to->scheduler_name); });
        if (!thrown.IsSuccess()) {
          return InvalidError("profile \"" + from.scheduler_name + "\": initializing plugin \"" + name +
                              "\": " + thrown.Message());
        }
      }
      if (const config::KnownPlugin* of = config::FindPlugin(registry, name); of != nullptr && of->is_own)
        to->own.push_back(plugin.get());
      to->owned.push_back(std::move(plugin));
    }
    const auto fill = [&]<typename T>(ExtensionPoint point, std::vector<T*>& list) {
      for (const config::PluginRef& ref : from.plugins[point]) {
        list.push_back(dynamic_cast<std::remove_const_t<T>*>(instances[p].Get(ref.name).get()));
      }
    };
    fill(ExtensionPoint::kPreEnqueue, to->pre_enqueue);
    fill(ExtensionPoint::kPreFilter, to->pre_filter);
    fill(ExtensionPoint::kFilter, to->filter);
    fill(ExtensionPoint::kPostFilter, to->post_filter);
    fill(ExtensionPoint::kPreScore, to->pre_score);
    fill(ExtensionPoint::kReserve, to->reserve);
    fill(ExtensionPoint::kPermit, to->permit);
    fill(ExtensionPoint::kPreBind, to->pre_bind);
    fill(ExtensionPoint::kBind, to->bind);
    fill(ExtensionPoint::kPostBind, to->post_bind);
    fill(ExtensionPoint::kPodGroupPostFilter, to->pod_group_post_filter);
    std::ranges::stable_partition(to->pod_group_post_filter,
                                  [](const auto* plugin) { return !plugin->IsLastResort(); });
    fill(ExtensionPoint::kPlacementGenerate, to->placement_generate);
    if (config::IsInFiles(ExtensionPoint::kPlacementFeasible, given.release.minor)) {
      fill(ExtensionPoint::kPlacementFeasible, to->placement_feasible);
    } else {
      FindPlacementFeasible(*to);
    }
    BERTH_RETURN_IF_ERROR(FindPodGroupPlugins(*to));
    std::vector<const framework::QueueSortPlugin*> sort;
    fill(ExtensionPoint::kQueueSort, sort);
    to->queue_sort = sort.front();
    for (const config::PluginRef& ref : from.plugins[ExtensionPoint::kScore]) {
      to->score.push_back({dynamic_cast<const framework::ScorePlugin*>(instances[p].Get(ref.name).get()), ref.weight});
    }
    for (const config::PluginRef& ref : from.plugins[ExtensionPoint::kPlacementScore]) {
      const auto* const plugin = dynamic_cast<const framework::PlacementScorePlugin*>(instances[p].Get(ref.name).get());
      to->placement_score.push_back({plugin, ref.weight});
    }
    profiles.push_back(std::move(to));
  }
  return profiles;
}

}  // namespace berth::runtime
