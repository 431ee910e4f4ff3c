// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/load.h"

#include <utility>
#include <vector>

#include "berth/codec/yaml.h"
#include "berth/core/config/default.h"
#include "berth/core/config/reader.h"
#include "berth/core/config/selector_reader.h"
#include "berth/core/config/type_check.h"

namespace berth::config {
namespace {

namespace json = codec::json;

void ReadTerm(ObjectReader& reader, api::NodeSelectorTerm& out) {
  ReadRequirements(reader, "matchExpressions", out.match_expressions);
  ReadRequirements(reader, "matchFields", out.match_fields);
}

void ReadNodeAffinity(ObjectReader& reader, api::NodeAffinity& out) {
  reader.Object("requiredDuringSchedulingIgnoredDuringExecution", [&](ObjectReader& required) {
    auto& terms = out.required.emplace();
    required.List("nodeSelectorTerms", [&](const json::value& item, const std::string& path) {
      ObjectReader term(item, path, reader.errors());
      ReadTerm(term, terms.emplace_back());
    });
  });
  reader.List("preferredDuringSchedulingIgnoredDuringExecution", [&](const json::value& item, const std::string& path) {
    ObjectReader preferred(item, path, reader.errors());
    api::PreferredSchedulingTerm& slot = out.preferred.emplace_back();
    preferred.Read("weight", slot.weight);
    preferred.Object("preference", [&](ObjectReader& term) { ReadTerm(term, slot.preference); });
  });
}

void ReadShape(ObjectReader& reader, std::string_view key, std::optional<std::vector<UtilizationShapePoint>>& out) {
  if (reader.Find(key) == nullptr) return;
  auto& shape = out.emplace();
  reader.List(key, [&](const json::value& item, const std::string& path) {
    ObjectReader point(item, path, reader.errors());
    UtilizationShapePoint& slot = shape.emplace_back();
    point.Read("utilization", slot.utilization);
    point.Read("score", slot.score);
  });
}

// An empty list leaves the defaults; a weight that is unset or 0 becomes 1.
void ReadResources(ObjectReader& reader, std::vector<ResourceSpec>& out) {
  std::vector<ResourceSpec> resources;
  reader.List("resources", [&](const json::value& item, const std::string& path) {
    ObjectReader resource(item, path, reader.errors());
    ResourceSpec& slot = resources.emplace_back();
    resource.Read("name", slot.name);
    resource.Read("weight", slot.weight);
    if (slot.weight == 0) slot.weight = 1;
  });
  if (!resources.empty()) out = std::move(resources);
}

void ReadArgs(ObjectReader& reader, NodeResourcesFitArgs& out) {
  reader.Read("ignoredResources", out.ignored_resources);
  reader.Read("ignoredResourceGroups", out.ignored_resource_groups);
  reader.Object("scoringStrategy", [&](ObjectReader& strategy) {
    std::string type;
    strategy.Read("type", type);
    if (type == "LeastAllocated") {
      out.scoring_strategy.type = ScoringStrategyType::kLeastAllocated;
    } else if (type == "MostAllocated") {
      out.scoring_strategy.type = ScoringStrategyType::kMostAllocated;
    } else if (type == "RequestedToCapacityRatio") {
      out.scoring_strategy.type = ScoringStrategyType::kRequestedToCapacityRatio;
    } else if (const json::value* value = strategy.Find("type"); value == nullptr || value->is_string()) {
      // Upstream only has a default for the whole strategy: a strategy without a type is refused.
      strategy.errors().NotSupported(strategy.PathOf("type"), type,
                                     {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"});
    }
    ReadResources(strategy, out.scoring_strategy.resources);
    strategy.Object("requestedToCapacityRatio", [&](ObjectReader& ratio) {
      ReadShape(ratio, "shape", out.scoring_strategy.shape);
      if (!out.scoring_strategy.shape) out.scoring_strategy.shape.emplace();
    });
  });
}

void ReadArgs(ObjectReader& reader, NodeResourcesBalancedAllocationArgs& out) { ReadResources(reader, out.resources); }

void ReadArgs(ObjectReader& reader, NodeAffinityArgs& out) {
  reader.Object("addedAffinity",
                [&](ObjectReader& affinity) { ReadNodeAffinity(affinity, out.added_affinity.emplace()); });
}

void ReadArgs(ObjectReader& reader, InterPodAffinityArgs& out) {
  reader.Read("hardPodAffinityWeight", out.hard_pod_affinity_weight);
  reader.Read("ignorePreferredTermsOfExistingPods", out.ignore_preferred_terms_of_existing_pods);
}

void ReadArgs(ObjectReader& reader, PodTopologySpreadArgs& out) {
  std::string type;
  reader.Read("defaultingType", type);
  if (!type.empty() && type != "System" && type != "List") {
    reader.errors().NotSupported(reader.PathOf("defaultingType"), type, {"System", "List"});
  }
  out.is_list_defaulting = type == "List";
  reader.List("defaultConstraints", [&](const json::value& item, const std::string& path) {
    ObjectReader constraint(item, path, reader.errors());
    TopologySpreadConstraint& slot = out.default_constraints.emplace_back();
    constraint.Read("maxSkew", slot.max_skew);
    constraint.Read("topologyKey", slot.topology_key);
    constraint.Read("whenUnsatisfiable", slot.when_unsatisfiable);
    constraint.Read("minDomains", slot.min_domains);
    constraint.Read("nodeAffinityPolicy", slot.node_affinity_policy);
    constraint.Read("nodeTaintsPolicy", slot.node_taints_policy);
    constraint.Read("matchLabelKeys", slot.match_label_keys);
    if (constraint.Find("labelSelector") != nullptr) {
      constraint.errors().Forbidden(constraint.PathOf("labelSelector"),
                                    "constraint must not define a selector, as they deduced for each pod");
    }
  });
}

void ReadArgs(ObjectReader& reader, DefaultPreemptionArgs& out) {
  reader.Read("minCandidateNodesPercentage", out.min_candidate_nodes_percentage);
  reader.Read("minCandidateNodesAbsolute", out.min_candidate_nodes_absolute);
}

void ReadArgs(ObjectReader& reader, VolumeBindingArgs& out) {
  reader.Read("bindTimeoutSeconds", out.bind_timeout_seconds);
  // An empty shape leaves the default, if there is one.
  std::optional<std::vector<UtilizationShapePoint>> shape;
  ReadShape(reader, "shape", shape);
  if (shape && !(shape->empty() && out.shape)) out.shape = std::move(shape);
}

void ReadArgs(ObjectReader& reader, DynamicResourcesArgs& out) {
  reader.Read("filterTimeout", out.filter_timeout);
  reader.Read("bindingTimeout", out.binding_timeout);
}

// Without its gate, an argument of DynamicResources may not be set.
void CheckDynamicResourcesGates(ObjectReader& args, const FeatureGates& gates) {
  const auto check = [&](std::string_view key, std::string_view gate) {
    if (!gates.Enabled(gate) && args.Find(key) != nullptr)
      args.errors().Forbidden(args.PathOf(key), "needs the feature gate " + std::string(gate));
  };
  check("filterTimeout", "DRASchedulerFilterTimeout");
  check("bindingTimeout", "DRADeviceBindingConditions");
}

void ReadPluginConfig(const json::value& item, const std::string& path, const FeatureGates& gates, FieldErrors& errors,
                      PluginConfig& out) {
  ObjectReader reader(item, path, errors);
  reader.Read("name", out.name);
  const json::value* args = reader.Find("args");
  out.args = DefaultArgs(out.name, gates);
  std::visit(
      [&](auto& target) {
        using Args = std::decay_t<decltype(target)>;
        if constexpr (std::is_same_v<Args, std::monostate> || std::is_same_v<Args, RawArgs>) {
          // Handled below: assigning another alternative inside std::visit would destroy the value being visited.
        } else if (args != nullptr) {
          ObjectReader fields(*args, reader.PathOf("args"), errors);
          CheckType(fields, kApiVersion, out.name + "Args", true);
          ReadArgs(fields, target);
          if constexpr (std::is_same_v<Args, DynamicResourcesArgs>) CheckDynamicResourcesGates(fields, gates);
        }
      },
      out.args);
  if (std::holds_alternative<std::monostate>(out.args) && args != nullptr) out.args = RawArgs{codec::WriteJson(*args)};
}

void ReadPlugin(const json::value& item, const std::string& path, FieldErrors& errors, PluginRef& out) {
  ObjectReader reader(item, path, errors);
  std::int32_t weight = 0;
  reader.Read("name", out.name);
  reader.Read("weight", weight);
  out.weight = weight;
}

void ReadPluginSet(ObjectReader& plugins, std::string_view key, PluginSet& out) {
  plugins.Object(key, [&](ObjectReader& set) {
    set.List("enabled", [&](const json::value& item, const std::string& path) {
      ReadPlugin(item, path, set.errors(), out.enabled.emplace_back());
    });
    set.List("disabled", [&](const json::value& item, const std::string& path) {
      PluginRef plugin;
      ReadPlugin(item, path, set.errors(), plugin);
      out.disabled.push_back(std::move(plugin.name));
    });
  });
}

// A point whose feature gate is off: nothing may be enabled there.
void ReadGatedPluginSet(ObjectReader& plugins, std::string_view key) {
  PluginSet set;  // disabling at a point without plugins has no effect
  ReadPluginSet(plugins, key, set);
  if (set.enabled.empty()) return;
  plugins.errors().Forbidden(plugins.PathOf(key) + ".enabled",
                             "must be empty: the feature gate TopologyAwareWorkloadScheduling is off");
}

// Without the gate the field is refused by the validation; older releases do not know it.
void ReadPlacementLimit(ObjectReader& reader, const FeatureGates& gates, std::optional<std::int32_t>& out) {
  if (gates.release_minor() >= kPlacementLimitMinor) reader.Read("percentageOfPlacementsToScore", out);
}

// Returns whether the profile has a schedulerName, even an empty one.
bool ReadProfile(const json::value& item, const std::string& path, const FeatureGates& gates, FieldErrors& errors,
                 Profile& out) {
  ObjectReader reader(item, path, errors);
  reader.Read("schedulerName", out.scheduler_name);
  reader.Read("percentageOfNodesToScore", out.percentage_of_nodes_to_score);
  ReadPlacementLimit(reader, gates, out.percentage_of_placements_to_score);
  reader.Object("plugins", [&](ObjectReader& plugins) {
    const bool has_placements =
        gates.release_minor() >= kPodGroupsMinor && gates.Enabled("TopologyAwareWorkloadScheduling");
    for (std::size_t i = 0; i < kExtensionPointCount; ++i) {
      const auto point = static_cast<ExtensionPoint>(i);
      if (!IsInFiles(point, gates.release_minor())) continue;
      const bool is_of_placements =
          point == ExtensionPoint::kPlacementGenerate || point == ExtensionPoint::kPlacementScore;
      if (is_of_placements && !has_placements) {
        ReadGatedPluginSet(plugins, FieldName(point));
      } else {
        ReadPluginSet(plugins, FieldName(point), out.plugins.points[point]);
      }
    }
    ReadPluginSet(plugins, "multiPoint", out.plugins.multi_point);
  });
  reader.List("pluginConfig", [&](const json::value& config, const std::string& config_path) {
    ReadPluginConfig(config, config_path, gates, errors, out.plugin_config.emplace_back());
  });
  return reader.Find("schedulerName") != nullptr;
}

void ReadLeaderElection(ObjectReader& reader, LeaderElection& out) {
  // Unset, zero and empty values take the default.
  const auto read = [&](std::string_view key, auto& target) {
    std::decay_t<decltype(target)> value{};
    reader.Read(key, value);
    if (value != std::decay_t<decltype(target)>{}) target = std::move(value);
  };
  reader.Read("leaderElect", out.leader_elect);
  read("leaseDuration", out.lease_duration);
  read("renewDeadline", out.renew_deadline);
  read("retryPeriod", out.retry_period);
  read("resourceLock", out.resource_lock);
  read("resourceName", out.resource_name);
  read("resourceNamespace", out.resource_namespace);
}

void ReadClientConnection(ObjectReader& reader, ClientConnection& out) {
  std::string content_type;
  reader.Read("kubeconfig", out.kubeconfig);
  reader.Read("acceptContentTypes", out.accept_content_types);
  reader.Read("contentType", content_type);
  reader.Read("qps", out.qps);
  reader.Read("burst", out.burst);
  if (!content_type.empty()) out.content_type = std::move(content_type);
  if (out.qps == 0.0) out.qps.reset();
  if (out.burst == 0) out.burst.reset();
}

void ReadConfiguration(const json::value& document, const FeatureGates& gates, FieldErrors& errors,
                       KubeSchedulerConfiguration& out) {
  ObjectReader reader(document, "", errors);
  if (document.is_object()) CheckType(reader, kApiVersion, kKind, false);
  reader.Read("parallelism", out.parallelism);
  reader.Object("leaderElection", [&](ObjectReader& fields) { ReadLeaderElection(fields, out.leader_election); });
  reader.Object("clientConnection", [&](ObjectReader& fields) { ReadClientConnection(fields, out.client_connection); });
  reader.Read("enableProfiling", out.enable_profiling);
  // The default is the value of enableProfiling.
  out.enable_contention_profiling = out.enable_profiling;
  reader.Read("enableContentionProfiling", out.enable_contention_profiling);
  reader.Read("percentageOfNodesToScore", out.percentage_of_nodes_to_score);
  ReadPlacementLimit(reader, gates, out.percentage_of_placements_to_score);
  reader.Read("podInitialBackoffSeconds", out.pod_initial_backoff_seconds);
  reader.Read("podMaxBackoffSeconds", out.pod_max_backoff_seconds);
  reader.Read("delayCacheUntilActive", out.delay_cache_until_active);

  bool is_named = false;
  reader.List("profiles", [&](const json::value& item, const std::string& path) {
    is_named = ReadProfile(item, path, gates, errors, out.profiles.emplace_back());
  });
  if (out.profiles.empty()) out.profiles.emplace_back();
  if (out.profiles.size() == 1 && !is_named) out.profiles[0].scheduler_name = api::kDefaultSchedulerName;

  ReadExtenders(reader, out.extenders);
}

// As kube-scheduler, whose YAML parser ignores further documents.
Expected<json::value> FirstDocument(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(std::vector<json::value> documents, codec::ParseYamlStream(text));
  if (documents.empty()) return codec::ParseYaml(text);  // returns the error for an empty text
  return std::move(documents.front());
}

}  // namespace

Expected<KubeSchedulerConfiguration> LoadConfiguration(std::string_view text, const FeatureGates& gates) {
  BERTH_ASSIGN_OR_RETURN(const json::value document, FirstDocument(text));
  KubeSchedulerConfiguration configuration;
  configuration.release = gates.FollowedRelease();
  FieldErrors errors;
  ReadConfiguration(document, gates, errors, configuration);
  BERTH_RETURN_IF_ERROR(errors.Result());
  ApplyDefaults(configuration, gates);
  return configuration;
}

}  // namespace berth::config
