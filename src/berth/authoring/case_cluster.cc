// SPDX-License-Identifier: Apache-2.0
#include "berth/authoring/case_cluster.h"

#include <utility>

#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/framework/guarded.h"
#include "berth/plugins/names.h"
#include "berth/shell/plugin_files/plugin_files.h"

namespace berth::authoring {
namespace {

// The first of January 2030: a case has the same time in every run.
constexpr Time kEpoch = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};

// Adds the plugins that take pods out of the queue and bind them, unless the tested plugin does that itself.
void AddSortAndBind(const std::string& name, config::KnownPlugins known, framework::Handle& handle,
                    config::Profile& profile) {
  const config::PluginArgs* given = profile.FindArgs(name);
  const config::PluginArgs args = given != nullptr ? *given : config::DefaultArgs(name);
  std::unique_ptr<framework::Plugin> made;
  // Errors of the plugin are reported by MakeProfiles later.
  if (const config::KnownPlugin* registered = config::FindPlugin(known, name)) {
    static_cast<void>(framework::GuardedCall([&] {
      auto created =
          registered->create_named ? registered->create_named(name, args, handle) : registered->create(args, handle);
      if (created.ok()) made = std::move(*created);
    }));
  }
  auto& enabled = profile.plugins.multi_point.enabled;
  if (dynamic_cast<const framework::QueueSortPlugin*>(made.get()) == nullptr)
    enabled.push_back({std::string(plugins::names::kPrioritySort), 0});
  if (dynamic_cast<const framework::BindPlugin*>(made.get()) == nullptr)
    enabled.push_back({std::string(plugins::names::kDefaultBinder), 0});
}

}  // namespace

Expected<std::unique_ptr<CaseCluster>> MakeCaseCluster(const PluginCase& test, config::KnownPlugins plugins) {
  whatif::OfflineOptions options;
  options.configuration = test.configuration;
  options.plugins = plugins;
  options.read_file = plugin_files::PluginFiles(test.files_from);
  options.now = kEpoch;
  if (!test.lone_plugin.empty()) {
    // A separate instance, made only to look at its interfaces.
    scheduler::CoreHandle scratch([](framework::PermitDecision) {}, framework::Metrics::None(), options.read_file);
    AddSortAndBind(test.lone_plugin, plugins, scratch, options.configuration.profiles.front());
  }
  BERTH_ASSIGN_OR_RETURN(auto made, CaseCluster::Make(std::move(options)));
  for (const framework::AnyObject& object : test.objects) made->SetObject(object);
  for (const NodePtr& node : test.nodes) made->SetNode(node);
  for (const PodPtr& pod : test.pods) made->SetPod(*pod);
  for (const PodPtr& pod : test.pending) made->SetPod(*pod);
  return made;
}

}  // namespace berth::authoring
