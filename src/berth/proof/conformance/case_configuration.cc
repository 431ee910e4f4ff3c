// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/conformance/case_configuration.h"

#include <string>

#include "berth/core/config/default.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/plugins/names.h"

namespace berth::conformance {
namespace {

void PreemptEverywhere(config::KubeSchedulerConfiguration& configuration) {
  constexpr config::DefaultPreemptionArgs kAll{100, 100};
  for (config::Profile& profile : configuration.profiles) {
    std::erase_if(profile.plugin_config,
                  [](const config::PluginConfig& plugin) { return plugin.name == plugins::names::kDefaultPreemption; });
    profile.plugin_config.push_back({std::string(plugins::names::kDefaultPreemption), kAll});
  }
}

}  // namespace

Expected<config::KubeSchedulerConfiguration> ConfigurationOf(const Case& test) {
  BERTH_ASSIGN_OR_RETURN(const config::FeatureGates gates,
                         config::FeatureGates::Parse({.release_minor = test.release_minor, .gates = test.gates}));
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration(gates);
  if (!test.config.empty()) {
    BERTH_ASSIGN_OR_RETURN(configuration, config::LoadConfiguration(test.config, gates));
    if (const auto valid = config::ValidateConfiguration(configuration); !valid.ok()) return valid.error();
  }
  PreemptEverywhere(configuration);
  return configuration;
}

}  // namespace berth::conformance
