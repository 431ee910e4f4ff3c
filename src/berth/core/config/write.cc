// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/write.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "berth/base/shown_url.h"
#include "berth/base/text.h"
#include "berth/codec/json.h"
#include "berth/codec/yaml_writer.h"
#include "berth/core/config/extenders.h"

namespace berth::config {
namespace {

namespace json = codec::json;

constexpr double kNoLimit = -1;  // of qps; berth's default

json::array Strings(const std::vector<std::string>& values) {
  json::array out;
  for (const std::string& value : values) out.emplace_back(value);
  return out;
}

std::string Text(Duration duration) { return FormatGoDuration(duration); }

// Omits zero and empty values, as Go's omitempty does.
template <typename T>
void Optional(json::object& out, std::string_view key, const T& value) {
  if (value != T{}) out[key] = value;
}

void Optional(json::object& out, std::string_view key, const std::vector<std::string>& values) {
  if (!values.empty()) out[key] = Strings(values);
}

json::value Number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) == value) return whole;
  return value;
}

json::array Resources(const std::vector<ResourceSpec>& resources) {
  json::array out;
  for (const ResourceSpec& resource : resources) out.push_back({{"name", resource.name}, {"weight", resource.weight}});
  return out;
}

json::array Shape(const std::vector<UtilizationShapePoint>& shape) {
  json::array out;
  for (const UtilizationShapePoint& point : shape)
    out.push_back({{"utilization", point.utilization}, {"score", point.score}});
  return out;
}

json::array Requirements(const std::vector<api::Requirement>& requirements) {
  json::array out;
  for (const api::Requirement& requirement : requirements) {
    json::object fields{{"key", requirement.key}, {"operator", api::ToString(requirement.op)}};
    Optional(fields, "values", requirement.values);
    out.push_back(std::move(fields));
  }
  return out;
}

json::object Term(const api::NodeSelectorTerm& term) {
  json::object out;
  if (!term.match_expressions.empty()) out["matchExpressions"] = Requirements(term.match_expressions);
  if (!term.match_fields.empty()) out["matchFields"] = Requirements(term.match_fields);
  return out;
}

json::object Affinity(const api::NodeAffinity& affinity) {
  json::object out;
  if (affinity.required) {
    json::array terms;
    for (const api::NodeSelectorTerm& term : *affinity.required) terms.push_back(Term(term));
    out["requiredDuringSchedulingIgnoredDuringExecution"] = {{"nodeSelectorTerms", std::move(terms)}};
  }
  if (!affinity.preferred.empty()) {
    json::array terms;
    for (const api::PreferredSchedulingTerm& term : affinity.preferred)
      terms.push_back({{"weight", term.weight}, {"preference", Term(term.preference)}});
    out["preferredDuringSchedulingIgnoredDuringExecution"] = std::move(terms);
  }
  return out;
}

std::string_view NameOf(ScoringStrategyType type) {
  switch (type) {
    case ScoringStrategyType::kLeastAllocated: return "LeastAllocated";
    case ScoringStrategyType::kMostAllocated: return "MostAllocated";
    case ScoringStrategyType::kRequestedToCapacityRatio: return "RequestedToCapacityRatio";
  }
  return "";
}

json::object Fields(const NodeResourcesFitArgs& args, const FeatureGates&) {
  json::object strategy{{"type", NameOf(args.scoring_strategy.type)},
                        {"resources", Resources(args.scoring_strategy.resources)}};
  if (args.scoring_strategy.shape) {
    json::object ratio;
    if (!args.scoring_strategy.shape->empty()) ratio["shape"] = Shape(*args.scoring_strategy.shape);
    strategy["requestedToCapacityRatio"] = std::move(ratio);
  }
  json::object out{{"scoringStrategy", std::move(strategy)}};
  Optional(out, "ignoredResources", args.ignored_resources);
  Optional(out, "ignoredResourceGroups", args.ignored_resource_groups);
  return out;
}

json::object Fields(const NodeResourcesBalancedAllocationArgs& args, const FeatureGates&) {
  return {{"resources", Resources(args.resources)}};
}

json::object Fields(const NodeAffinityArgs& args, const FeatureGates&) {
  json::object out;
  if (args.added_affinity) out["addedAffinity"] = Affinity(*args.added_affinity);
  return out;
}

json::object Fields(const InterPodAffinityArgs& args, const FeatureGates&) {
  return {{"hardPodAffinityWeight", args.hard_pod_affinity_weight},
          {"ignorePreferredTermsOfExistingPods", args.ignore_preferred_terms_of_existing_pods}};
}

json::object Fields(const PodTopologySpreadArgs& args, const FeatureGates&) {
  json::object out{{"defaultingType", args.is_list_defaulting ? "List" : "System"}};
  json::array constraints;
  for (const TopologySpreadConstraint& constraint : args.default_constraints) {
    json::object fields{{"maxSkew", constraint.max_skew},
                        {"topologyKey", constraint.topology_key},
                        {"whenUnsatisfiable", constraint.when_unsatisfiable}};
    if (constraint.min_domains) fields["minDomains"] = *constraint.min_domains;
    Optional(fields, "nodeAffinityPolicy", constraint.node_affinity_policy);
    Optional(fields, "nodeTaintsPolicy", constraint.node_taints_policy);
    Optional(fields, "matchLabelKeys", constraint.match_label_keys);
    constraints.push_back(std::move(fields));
  }
  if (!constraints.empty()) out["defaultConstraints"] = std::move(constraints);
  return out;
}

json::object Fields(const DefaultPreemptionArgs& args, const FeatureGates&) {
  return {{"minCandidateNodesPercentage", args.min_candidate_nodes_percentage},
          {"minCandidateNodesAbsolute", args.min_candidate_nodes_absolute}};
}

json::object Fields(const VolumeBindingArgs& args, const FeatureGates&) {
  json::object out{{"bindTimeoutSeconds", args.bind_timeout_seconds}};
  if (args.shape) out["shape"] = Shape(*args.shape);
  return out;
}

json::object Fields(const DynamicResourcesArgs& args, const FeatureGates& gates) {
  json::object out;
  if (gates.Enabled("DRADeviceBindingConditions")) out["bindingTimeout"] = Text(args.binding_timeout);
  out["filterTimeout"] = nullptr;
  if (gates.Enabled("DRASchedulerFilterTimeout")) out["filterTimeout"] = Text(args.filter_timeout);
  return out;
}

json::value Arguments(const PluginConfig& config, const FeatureGates& gates) {
  return std::visit(
      [&](const auto& args) -> json::value {
        using Args = std::decay_t<decltype(args)>;
        if constexpr (std::is_same_v<Args, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Args, RawArgs>) {
          auto parsed = codec::ParseJson(args.json);
          return parsed.ok() ? std::move(*parsed) : json::value();
        } else {
          json::object fields = Fields(args, gates);
          fields["apiVersion"] = kApiVersion;
          fields["kind"] = config.name + "Args";
          return fields;
        }
      },
      config.args);
}

json::object Set(const PluginSet& set) {
  json::object out;
  json::array enabled;
  for (const PluginRef& plugin : set.enabled) enabled.push_back({{"name", plugin.name}, {"weight", plugin.weight}});
  json::array disabled;
  for (const std::string& name : set.disabled) disabled.push_back({{"name", name}, {"weight", 0}});
  if (!enabled.empty()) out["enabled"] = std::move(enabled);
  if (!disabled.empty()) out["disabled"] = std::move(disabled);
  return out;
}

std::set<std::string_view> EnabledNames(const Plugins& plugins) {
  std::set<std::string_view> names;
  const auto add = [&](const PluginSet& set) {
    for (const PluginRef& plugin : set.enabled) names.insert(plugin.name);
  };
  for (const PluginSet& set : plugins.points.values) add(set);
  add(plugins.multi_point);
  return names;
}

json::object ProfileFields(const Profile& profile, const FeatureGates& gates) {
  json::object out{{"schedulerName", profile.scheduler_name}};
  if (profile.percentage_of_nodes_to_score) out["percentageOfNodesToScore"] = *profile.percentage_of_nodes_to_score;
  if (profile.percentage_of_placements_to_score)
    out["percentageOfPlacementsToScore"] = *profile.percentage_of_placements_to_score;
  json::object plugins{{"multiPoint", Set(profile.plugins.multi_point)}};
  const auto write = [&](ExtensionPoint point) {
    if (IsInFiles(point, gates.release_minor())) plugins[FieldName(point)] = Set(profile.plugins.points[point]);
  };
  // These come first in files.
  write(ExtensionPoint::kPlacementGenerate);
  write(ExtensionPoint::kPlacementScore);
  for (std::size_t i = 0; i < kExtensionPointCount; ++i) write(static_cast<ExtensionPoint>(i));
  out["plugins"] = std::move(plugins);

  const std::set<std::string_view> enabled = EnabledNames(profile.plugins);
  std::vector<const PluginConfig*> configs;
  for (const PluginConfig& config : profile.plugin_config) {
    if (enabled.count(config.name) > 0 && !std::holds_alternative<std::monostate>(config.args))
      configs.push_back(&config);
  }
  std::sort(configs.begin(), configs.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  json::array list;
  for (const PluginConfig* config : configs)
    list.push_back({{"name", config->name}, {"args", Arguments(*config, gates)}});
  if (!list.empty()) out["pluginConfig"] = std::move(list);
  return out;
}

json::object ExtenderFields(const Extender& extender) {
  json::object out{{"urlPrefix", extender.url_prefix}, {"httpTimeout", Text(extender.http_timeout)}};
  Optional(out, "filterVerb", extender.filter_verb);
  Optional(out, "preemptVerb", extender.preempt_verb);
  Optional(out, "prioritizeVerb", extender.prioritize_verb);
  Optional(out, "bindVerb", extender.bind_verb);
  Optional(out, "weight", extender.weight);
  Optional(out, "enableHTTPS", extender.enable_https);
  Optional(out, "nodeCacheCapable", extender.node_cache_capable);
  Optional(out, "ignorable", extender.ignorable);
  if (extender.tls) {
    json::object tls;
    Optional(tls, "insecure", extender.tls->insecure);
    Optional(tls, "serverName", extender.tls->server_name);
    Optional(tls, "certFile", extender.tls->cert_file);
    Optional(tls, "keyFile", extender.tls->key_file);
    Optional(tls, "caFile", extender.tls->ca_file);
    Optional(tls, "certData", extender.tls->cert_data);
    Optional(tls, "keyData", extender.tls->key_data);
    Optional(tls, "caData", extender.tls->ca_data);
    out["tlsConfig"] = std::move(tls);
  }
  json::array resources;
  for (const ManagedResource& resource : extender.managed_resources) {
    json::object fields{{"name", resource.name}};
    Optional(fields, "ignoredByScheduler", resource.ignored_by_scheduler);
    resources.push_back(std::move(fields));
  }
  if (!resources.empty()) out["managedResources"] = std::move(resources);
  return out;
}

constexpr std::string_view kHidden = "xxxxx";

// Whether the text of a field with this name is hidden. Names of files are shown.
bool IsSecret(std::string_view name) {
  const std::string lower = LowerCase(name);
  constexpr std::string_view kEnds[] = {"token", "password", "passphrase", "secret", "apikey", "privatekey"};
  return lower == "keydata" ||
         std::any_of(std::begin(kEnds), std::end(kEnds), [&](std::string_view end) { return lower.ends_with(end); });
}

// Whether the whole text is a URL; URLs inside a script are not changed.
bool IsUrl(std::string_view text) {
  const std::size_t end = text.find("://");
  return end != std::string_view::npos && end > 0 && text.find_first_of(" \t\r\n") == std::string_view::npos &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return IsAlphanumeric(c) || c == '+' || c == '-'; });
}

void HideSecrets(json::value& value) {
  if (json::object* const object = value.if_object()) {
    for (auto& member : *object) {
      const json::string* const text = member.value().if_string();
      if (text != nullptr && !text->empty() && IsSecret(member.key())) member.value() = kHidden;
      HideSecrets(member.value());
    }
  } else if (json::array* const array = value.if_array()) {
    for (json::value& item : *array) HideSecrets(item);
  } else if (const json::string* const text = value.if_string()) {
    const std::string_view shown(text->data(), text->size());
    if (IsUrl(shown)) value = ShownUrl(shown);
  }
}

// Empty if resources cannot be ignored, which was refused before.
json::object Fields(KubeSchedulerConfiguration configuration, const FeatureGates& gates) {
  if (!IgnoreResources(configuration.extenders, configuration.profiles).ok()) return {};
  const LeaderElection& election = configuration.leader_election;
  const ClientConnection& connection = configuration.client_connection;
  const double qps = connection.qps.value_or(kNoLimit);
  json::object client{{"kubeconfig", connection.kubeconfig},
                      {"acceptContentTypes", connection.accept_content_types},
                      {"contentType", connection.content_type},
                      {"qps", Number(qps)}};
  // Without a limit a burst has no effect, so that it is only written if it was set.
  if (qps > 0 || connection.burst) client["burst"] = connection.burst.value_or(ClientConnection::kDefaultBurst);
  json::object out{
      {"apiVersion", kApiVersion},
      {"kind", kKind},
      {"parallelism", configuration.parallelism},
      {"leaderElection",
       {{"leaderElect", election.leader_elect},
        {"leaseDuration", Text(election.lease_duration)},
        {"renewDeadline", Text(election.renew_deadline)},
        {"retryPeriod", Text(election.retry_period)},
        {"resourceLock", election.resource_lock},
        {"resourceName", election.resource_name},
        {"resourceNamespace", election.resource_namespace}}},
      {"clientConnection", std::move(client)},
      {"enableProfiling", configuration.enable_profiling},
      {"enableContentionProfiling", configuration.enable_contention_profiling},
      {"percentageOfNodesToScore", configuration.percentage_of_nodes_to_score},
      {"podInitialBackoffSeconds", configuration.pod_initial_backoff_seconds},
      {"podMaxBackoffSeconds", configuration.pod_max_backoff_seconds},
  };
  if (configuration.percentage_of_placements_to_score)
    out["percentageOfPlacementsToScore"] = *configuration.percentage_of_placements_to_score;
  Optional(out, "delayCacheUntilActive", configuration.delay_cache_until_active);
  json::array profiles;
  for (const Profile& profile : configuration.profiles) profiles.push_back(ProfileFields(profile, gates));
  if (!profiles.empty()) out["profiles"] = std::move(profiles);
  json::array extenders;
  for (const Extender& extender : configuration.extenders) extenders.push_back(ExtenderFields(extender));
  if (!extenders.empty()) out["extenders"] = std::move(extenders);
  return out;
}

std::string Yaml(const json::object& fields) { return fields.empty() ? "" : codec::WriteYaml(fields); }

}  // namespace

std::string WriteConfiguration(KubeSchedulerConfiguration configuration, const FeatureGates& gates) {
  return Yaml(Fields(std::move(configuration), gates));
}

std::string ShowConfiguration(KubeSchedulerConfiguration configuration, const FeatureGates& gates) {
  json::value fields = Fields(std::move(configuration), gates);
  HideSecrets(fields);
  return Yaml(fields.get_object());
}

}  // namespace berth::config
