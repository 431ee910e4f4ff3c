// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/validate.h"

#include <algorithm>
#include <map>
#include <set>

#include "berth/core/config/default.h"
#include "berth/core/config/field_errors.h"

namespace berth::config {
namespace {

std::string At(std::string_view path, std::string_view key) { return std::string(path) + '.' + std::string(key); }

std::string At(std::string_view path, std::size_t index) {
  return std::string(path) + '[' + std::to_string(index) + ']';
}

void CheckRange(FieldErrors& errors, std::string_view path, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return;
  errors.Invalid(path, value, "not in valid range [" + std::to_string(min) + ", " + std::to_string(max) + "]");
}

void CheckPercentage(FieldErrors& errors, std::string_view path, std::int64_t value) {
  if (value < 0 || value > 100) errors.Invalid(path, value, "not in valid range [0-100]");
}

void CheckName(FieldErrors& errors, std::string_view path, std::string_view name) {
  if (api::IsQualifiedName(name)) return;
  errors.Invalid(
      path, name,
      "must be at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit, with an "
      "optional DNS prefix and '/'");
}

void CheckShape(FieldErrors& errors, std::string_view path, const std::vector<UtilizationShapePoint>& shape) {
  constexpr std::int64_t kScoreMax = 10;
  if (shape.empty()) errors.Required(path, "at least one point must be specified");
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i - 1].utilization < shape[i].utilization) continue;
    errors.Invalid(At(At(path, i), "utilization"), shape[i].utilization, "values must be sorted in increasing order");
    break;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    CheckRange(errors, At(At(path, i), "utilization"), shape[i].utilization, 0, 100);
    CheckRange(errors, At(At(path, i), "score"), shape[i].score, 0, kScoreMax);
  }
}

void CheckArgs(FieldErrors&, const std::string&, const std::monostate&) {}
void CheckArgs(FieldErrors&, const std::string&, const RawArgs&) {}
void CheckArgs(FieldErrors&, const std::string&, const VolumeBindingArgs&) {}     // see CheckVolumeBindingArgs
void CheckArgs(FieldErrors&, const std::string&, const NodeResourcesFitArgs&) {}  // see CheckFitArgs

// `checks_strategy`: Release::checks_scoring_strategy.
void CheckFitArgs(FieldErrors& errors, const std::string& path, const NodeResourcesFitArgs& args,
                  bool checks_strategy) {
  for (std::size_t i = 0; i < args.ignored_resources.size(); ++i) {
    CheckName(errors, At(At(path, "ignoredResources"), i), args.ignored_resources[i]);
  }
  for (std::size_t i = 0; i < args.ignored_resource_groups.size(); ++i) {
    const std::string& group = args.ignored_resource_groups[i];
    const std::string at = At(At(path, "ignoredResourceGroups"), i);
    if (group.find('/') != std::string::npos) errors.Invalid(at, group, "resource group name can't contain '/'");
    CheckName(errors, at, group);
  }
  const ScoringStrategy& strategy = args.scoring_strategy;
  const std::string strategy_path = At(path, "scoringStrategy");
  for (std::size_t i = 0; i < strategy.resources.size(); ++i) {
    const ResourceSpec& resource = strategy.resources[i];
    if (resource.weight > 0 && resource.weight <= 100) continue;
    errors.Invalid(At(At(At(strategy_path, "resources"), i), "weight"), resource.weight,
                   "resource weight of " + resource.name + " not in valid range (0, 100]");
  }
  const std::string ratio_path = At(strategy_path, "requestedToCapacityRatio");
  if (strategy.type != ScoringStrategyType::kRequestedToCapacityRatio && !checks_strategy) {
    if (strategy.shape) CheckShape(errors, At(strategy_path, "shape"), *strategy.shape);
  } else if (strategy.type != ScoringStrategyType::kRequestedToCapacityRatio) {
    if (strategy.shape) errors.Forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio");
  } else if (!strategy.shape) {
    errors.Required(ratio_path, "must be specified when type is RequestedToCapacityRatio");
  } else {
    CheckShape(errors, At(ratio_path, "shape"), *strategy.shape);
  }
}

void CheckArgs(FieldErrors& errors, const std::string& path, const NodeResourcesBalancedAllocationArgs& args) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < args.resources.size(); ++i) {
    const std::string at = At(At(path, "resources"), i);
    if (!seen.insert(args.resources[i].name).second) errors.Duplicate(At(at, "name"), args.resources[i].name);
    if (args.resources[i].weight != 1) errors.Invalid(At(at, "weight"), args.resources[i].weight, "must be 1");
  }
}

void CheckTerm(FieldErrors& errors, const std::string& path, const api::NodeSelectorTerm& term) {
  if (const auto valid = term.Validate(); !valid.ok()) errors.Add(path, valid.error().message);
}

void CheckArgs(FieldErrors& errors, const std::string& path, const NodeAffinityArgs& args) {
  if (!args.added_affinity) return;
  const std::string affinity = At(path, "addedAffinity");
  if (args.added_affinity->required) {
    const std::string terms = At(At(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
    for (std::size_t i = 0; i < args.added_affinity->required->size(); ++i) {
      CheckTerm(errors, At(terms, i), (*args.added_affinity->required)[i]);
    }
  }
  const std::string preferred = At(affinity, "preferredDuringSchedulingIgnoredDuringExecution");
  for (std::size_t i = 0; i < args.added_affinity->preferred.size(); ++i) {
    const api::PreferredSchedulingTerm& term = args.added_affinity->preferred[i];
    // As upstream, a term without a weight is not checked.
    if (term.weight != 0) CheckTerm(errors, At(At(preferred, i), "preference"), term.preference);
  }
}

void CheckArgs(FieldErrors& errors, const std::string& path, const InterPodAffinityArgs& args) {
  CheckRange(errors, At(path, "hardPodAffinityWeight"), args.hard_pod_affinity_weight, 0, 100);
}

void CheckArgs(FieldErrors& errors, const std::string& path, const PodTopologySpreadArgs& args) {
  if (!args.is_list_defaulting && !args.default_constraints.empty()) {
    errors.Invalid(At(path, "defaultingType"), "System", "when .defaultConstraints are not empty");
  }
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < args.default_constraints.size(); ++i) {
    const TopologySpreadConstraint& constraint = args.default_constraints[i];
    const std::string at = At(At(path, "defaultConstraints"), i);
    if (constraint.max_skew <= 0) errors.Invalid(At(at, "maxSkew"), constraint.max_skew, "not in valid range (0, inf)");
    if (constraint.topology_key.empty()) {
      errors.Required(At(at, "topologyKey"), "can not be empty");
    } else {
      CheckName(errors, At(at, "topologyKey"), constraint.topology_key);
    }
    if (constraint.when_unsatisfiable.empty()) {
      errors.Required(At(at, "whenUnsatisfiable"), "can not be empty");
    } else if (constraint.when_unsatisfiable != "DoNotSchedule" && constraint.when_unsatisfiable != "ScheduleAnyway") {
      errors.NotSupported(At(at, "whenUnsatisfiable"), constraint.when_unsatisfiable,
                          {"DoNotSchedule", "ScheduleAnyway"});
    }
    if (!seen.emplace(constraint.topology_key, constraint.when_unsatisfiable).second) {
      errors.Duplicate(at, "{" + constraint.topology_key + ", " + constraint.when_unsatisfiable + "}");
    }
  }
}

void CheckArgs(FieldErrors& errors, const std::string& path, const DefaultPreemptionArgs& args) {
  const std::string percentage = At(path, "minCandidateNodesPercentage");
  const std::string absolute = At(path, "minCandidateNodesAbsolute");
  CheckRange(errors, percentage, args.min_candidate_nodes_percentage, 0, 100);
  if (args.min_candidate_nodes_absolute < 0) {
    errors.Invalid(absolute, args.min_candidate_nodes_absolute, "not in valid range [0, inf)");
  }
  if (args.min_candidate_nodes_percentage == 0 && args.min_candidate_nodes_absolute == 0) {
    errors.Invalid(percentage, 0, "cannot be zero at the same time as minCandidateNodesAbsolute");
    errors.Invalid(absolute, 0, "cannot be zero at the same time as minCandidateNodesPercentage");
  }
}

void CheckVolumeBindingArgs(FieldErrors& errors, const std::string& path, const VolumeBindingArgs& args,
                            bool scores_storage_capacity) {
  if (args.bind_timeout_seconds < 0) {
    errors.Invalid(At(path, "bindTimeoutSeconds"), args.bind_timeout_seconds,
                   "invalid BindTimeoutSeconds, should not be a negative value");
  }
  if (scores_storage_capacity) {
    if (args.shape) CheckShape(errors, At(path, "shape"), *args.shape);
  } else if (args.shape) {
    errors.Forbidden(At(path, "shape"),
                     "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring");
  }
}

void CheckArgs(FieldErrors& errors, const std::string& path, const DynamicResourcesArgs& args) {
  if (args.filter_timeout < Duration::zero()) {
    errors.Invalid(At(path, "filterTimeout"), FormatGoDuration(args.filter_timeout), "must be zero or positive");
  }
  if (args.binding_timeout < std::chrono::seconds(1)) {
    errors.Invalid(At(path, "bindingTimeout"), FormatGoDuration(args.binding_timeout), "must be at least 1 second");
  }
}

void CheckPlacementLimit(FieldErrors& errors, std::string_view path, const std::optional<std::int32_t>& percentage,
                         const framework::Release& release) {
  if (!percentage) return;
  if (release.places_pod_groups_by_topology) return CheckPercentage(errors, path, *percentage);
  errors.Forbidden(path,
                   "percentageOfPlacementsToScore requires TopologyAwareWorkloadScheduling feature gate to be enabled");
}

// Plugins that upstream has removed.
bool IsRemoved(std::string_view name) {
  return name == "AzureDiskLimits" || name == "CinderLimits" || name == "EBSLimits" || name == "GCEPDLimits";
}

void CheckNotRemoved(FieldErrors& errors, std::string_view path, std::string_view name) {
  if (!IsRemoved(name)) return;
  const std::string version = '"' + std::string(kApiVersion) + '"';
  errors.Invalid(path, name,
                 "was invalid in version " + version + " (KubeSchedulerConfiguration is version " + version + ")");
}

void CheckProfile(FieldErrors& errors, const std::string& path, const Profile& profile,
                  const framework::Release& release) {
  if (profile.scheduler_name.empty()) errors.Required(At(path, "schedulerName"));
  if (profile.percentage_of_nodes_to_score) {
    CheckPercentage(errors, At(path, "percentageOfNodesToScore"), *profile.percentage_of_nodes_to_score);
  }
  CheckPlacementLimit(errors, At(path, "percentageOfPlacementsToScore"), profile.percentage_of_placements_to_score,
                      release);
  // Upstream checks the sets of the points only; a removed plugin in multiPoint is reported by the registry.
  for (std::size_t i = 0; i < kExtensionPointCount; ++i) {
    const auto& enabled = profile.plugins.points.values[i].enabled;
    const std::string set = At(At(path, "plugins"), FieldName(static_cast<ExtensionPoint>(i)));
    for (std::size_t k = 0; k < enabled.size(); ++k)
      CheckNotRemoved(errors, At(At(set, "enabled"), k), enabled[k].name);
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < profile.plugin_config.size(); ++i) {
    const PluginConfig& config = profile.plugin_config[i];
    const std::string at = At(At(path, "pluginConfig"), i);
    if (!seen.insert(config.name).second) errors.Duplicate(at, config.name);
    CheckNotRemoved(errors, at, config.name);
    if (const auto* volume_binding = std::get_if<VolumeBindingArgs>(&config.args)) {
      CheckVolumeBindingArgs(errors, At(at, "args"), *volume_binding, release.scores_storage_capacity);
    } else if (const auto* fit = std::get_if<NodeResourcesFitArgs>(&config.args)) {
      CheckFitArgs(errors, At(at, "args"), *fit, release.checks_scoring_strategy);
    } else {
      std::visit([&](const auto& args) { CheckArgs(errors, At(at, "args"), args); }, config.args);
    }
  }
}

// All profiles share one queue, so that they must have the same order.
void CheckCommonQueueSort(FieldErrors& errors, const std::vector<Profile>& profiles) {
  const PluginSet& first = profiles.front().plugins.points[ExtensionPoint::kQueueSort];
  if (first.enabled.size() > 1) {
    errors.Invalid("profiles[0].plugins.queueSort.Enabled", static_cast<std::int64_t>(first.enabled.size()),
                   "only one queue sort plugin can be enabled");
  }
  const std::string name = first.enabled.empty() ? std::string() : first.enabled.front().name;
  const PluginArgs* first_args = name.empty() ? nullptr : profiles.front().FindArgs(name);
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    const std::string path = At("profiles", i);
    if (profiles[i].plugins.points[ExtensionPoint::kQueueSort] != first) {
      errors.Add(At(path, "plugins.queueSort"), "Invalid value: must be the same for all profiles");
    }
    const PluginArgs* args = name.empty() ? nullptr : profiles[i].FindArgs(name);
    if (args != nullptr && (first_args == nullptr || *args != *first_args)) {
      errors.Add(At(path, "pluginConfig.args"), "Invalid value: queueSort must be the same for all profiles");
    }
  }
}

void CheckLeaderElection(FieldErrors& errors, const LeaderElection& election) {
  if (!election.leader_elect) return;
  const auto check_positive = [&](std::string_view key, Duration value) {
    if (value > Duration::zero()) return;
    errors.Invalid(At("leaderElection", key), FormatGoDuration(value), "must be greater than zero");
  };
  check_positive("leaseDuration", election.lease_duration);
  check_positive("renewDeadline", election.renew_deadline);
  check_positive("retryPeriod", election.retry_period);
  if (election.lease_duration <= election.renew_deadline) {
    errors.Invalid("leaderElection.leaseDuration", FormatGoDuration(election.lease_duration),
                   "must be greater than `RenewDeadline`");
  }
  if (election.resource_namespace.empty()) errors.Required("leaderElection.resourceNamespace");
  if (election.resource_name.empty()) errors.Required("leaderElection.resourceName");
  if (election.resource_lock != "leases") {
    errors.Invalid("leaderElection.resourceLock", election.resource_lock, "resourceLock value must be \"leases\"");
  }
}

}  // namespace

Expected<void> ValidateConfiguration(const KubeSchedulerConfiguration& configuration) {
  FieldErrors errors;
  if (configuration.client_connection.burst.value_or(0) < 0) {
    errors.Invalid("clientConnection.burst", *configuration.client_connection.burst, "must be non-negative");
  }
  CheckLeaderElection(errors, configuration.leader_election);
  if (configuration.parallelism <= 0) {
    errors.Invalid("parallelism", configuration.parallelism, "should be an integer value greater than zero");
  }
  if (configuration.profiles.empty()) {
    errors.Required("profiles");
  } else {
    std::map<std::string_view, std::size_t> seen;
    for (std::size_t i = 0; i < configuration.profiles.size(); ++i) {
      const std::string path = At("profiles", i);
      CheckProfile(errors, path, configuration.profiles[i], configuration.release);
      const auto [first, is_new] = seen.emplace(configuration.profiles[i].scheduler_name, i);
      if (!is_new) errors.Duplicate(At(path, "schedulerName"), At(At("profiles", first->second), "schedulerName"));
      first->second = i;
    }
    CheckCommonQueueSort(errors, configuration.profiles);
  }
  CheckPercentage(errors, "percentageOfNodesToScore", configuration.percentage_of_nodes_to_score);
  CheckPlacementLimit(errors, "percentageOfPlacementsToScore", configuration.percentage_of_placements_to_score,
                      configuration.release);
  if (configuration.pod_initial_backoff_seconds <= 0) {
    errors.Invalid("podInitialBackoffSeconds", configuration.pod_initial_backoff_seconds, "must be greater than 0");
  }
  if (configuration.pod_max_backoff_seconds < configuration.pod_initial_backoff_seconds) {
    errors.Invalid("podMaxBackoffSeconds", configuration.pod_max_backoff_seconds,
                   "must be greater than or equal to PodInitialBackoffSeconds");
  }
  CheckExtenders(errors, configuration.extenders);
  return errors.Result();
}

}  // namespace berth::config
