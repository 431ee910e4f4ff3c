// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/policy_reader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include "berth/base/text.h"
#include "berth/codec/yaml.h"
#include "berth/core/config/reader.h"
#include "berth/core/config/type_check.h"
#include "berth/rebalance/args_reading.h"
#include "berth/rebalance/own_args_reader.h"
#include "berth/shell/net/url.h"

namespace berth::rebalance {
namespace {

namespace json = codec::json;
using config::FieldErrors;
using config::ObjectReader;

constexpr std::string_view kApiVersion = "descheduler/v1alpha2";
constexpr std::string_view kKind = "DeschedulerPolicy";
constexpr std::string_view kEvictor = "DefaultEvictor";
constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

using Names = std::vector<std::string_view>;

// --- Small types -----------------------------------------------------------------------------------------------------

void ReadCount(ObjectReader& reader, std::string_view key, std::optional<std::uint64_t>& out) {
  std::optional<std::int64_t> value;
  reader.Read(key, value);
  if (!value) return;
  if (*value < 0) {
    reader.errors().Invalid(reader.PathOf(key), *value, "must be 0 or more");
  } else {
    out = static_cast<std::uint64_t>(*value);
  }
}

void ReadCount(ObjectReader& reader, std::string_view key, std::uint64_t& out) {
  std::optional<std::uint64_t> value;
  ReadCount(reader, key, value);
  if (value) out = *value;
}

void ReadNumbers(ObjectReader& reader, std::string_view key, std::vector<std::int32_t>& out) {
  using Limits = std::numeric_limits<std::int32_t>;
  reader.List(key, [&](const json::value& item, const std::string& path) {
    if (item.is_int64() && item.get_int64() >= Limits::min() && item.get_int64() <= Limits::max()) {
      out.push_back(static_cast<std::int32_t>(item.get_int64()));
    } else {
      reader.errors().Add(path, "must be a whole number of 32 bits, not " + json::serialize(item).substr(0, 64));
    }
  });
}

// Each item is one of `known`.
void CheckWords(ObjectReader& reader, std::string_view key, const std::vector<std::string>& words, const Names& known,
                std::string_view what) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::ranges::find(known, words[i]) == known.end())
      AddUnknown(reader.errors(), reader.PathOf(key) + '[' + std::to_string(i) + ']', words[i], what, known);
  }
}

void ReadExcludedNamespaces(ObjectReader& reader, std::vector<std::string>& out) {
  std::vector<std::string> include;
  reader.Object("evictableNamespaces", [&](ObjectReader& fields) {
    fields.Read("include", include);
    fields.Read("exclude", out);
    if (!include.empty()) fields.errors().Add(fields.PathOf("include"), "only exclude can be set here");
  });
}

// --- Arguments of strategies -----------------------------------------------------------------------------------------

void ReadArgs(ObjectReader& reader, RemoveDuplicatesArgs& out) {
  ReadSelection(reader, out.pods, false);
  reader.Read("excludeOwnerKinds", out.exclude_owner_kinds);
}

void ReadArgs(ObjectReader& reader, NodeAffinityArgs& out) {
  ReadSelection(reader, out.pods);
  reader.Read("nodeAffinityType", out.types);
  if (out.types.empty()) {
    reader.errors().Required(reader.PathOf("nodeAffinityType"),
                             "one or both of " + std::string(kRequired) + ", " + std::string(kPreferred));
  }
  // The descheduler takes any word here and then does nothing.
  CheckWords(reader, "nodeAffinityType", out.types, {kRequired, kPreferred}, "type of node affinity");
}

void ReadArgs(ObjectReader& reader, NodeTaintsArgs& out) {
  ReadSelection(reader, out.pods);
  reader.Read("includePreferNoSchedule", out.include_prefer_no_schedule);
  reader.Read("excludedTaints", out.excluded_taints);
  if (reader.Find("includedTaints") != nullptr) reader.Read("includedTaints", out.included_taints.emplace());
  if (!out.excluded_taints.empty() && out.included_taints && !out.included_taints->empty()) {
    reader.errors().Add(reader.PathOf("includedTaints"),
                        "either includedTaints or excludedTaints can be set, but not both");
  }
}

void ReadArgs(ObjectReader& reader, InterPodAntiAffinityArgs& out) { ReadSelection(reader, out.pods); }

void ReadArgs(ObjectReader& reader, TopologySpreadArgs& out) {
  using Action = api::UnsatisfiableConstraintAction;
  ReadSelection(reader, out.pods);
  reader.Read("topologyBalanceNodeFit", out.topology_balance_node_fit);
  std::vector<std::string> constraints;
  reader.Read("constraints", constraints);
  CheckWords(reader, "constraints", constraints, {"DoNotSchedule", "ScheduleAnyway"}, "kind of constraint");
  if (constraints.empty()) return;
  out.constraints.clear();
  for (const std::string& word : constraints)
    out.constraints.push_back(word == "DoNotSchedule" ? Action::kDoNotSchedule : Action::kScheduleAnyway);
}

void ReadArgs(ObjectReader& reader, PodLifeTimeArgs& out) {
  ReadSelection(reader, out.pods);
  ReadIncludeExclude(reader, "ownerKinds", out.include_owner_kinds, out.exclude_owner_kinds);
  ReadCount(reader, "maxPodLifeTimeSeconds", out.max_seconds);
  reader.Read("states", out.states);
  CheckWords(reader, "states", out.states,
             {"Running",
              "Pending",
              "Succeeded",
              "Failed",
              "Unknown",
              "NodeAffinity",
              "NodeLost",
              "Shutdown",
              "PodInitializing",
              "UnexpectedAdmissionError",
              "ImagePullBackOff",
              "ContainerCreating",
              "CrashLoopBackOff",
              "CreateContainerConfigError",
              "ErrImagePull",
              "CreateContainerError",
              "InvalidImageName",
              "OOMKilled",
              "Error",
              "Completed",
              "DeadlineExceeded",
              "Evicted",
              "StartError",
              "ContainerCannotRun"},
             "state that can be asked for");
  reader.List("conditions", [&](const json::value& item, const std::string& path) {
    ObjectReader condition(item, path, reader.errors());
    PodConditionFilter& slot = out.conditions.emplace_back();
    condition.Read("type", slot.type);
    condition.Read("status", slot.status);
    condition.Read("reason", slot.reason);
    ReadCount(condition, "minTimeSinceLastTransitionSeconds", slot.min_seconds_since_transition);
    if (slot == PodConditionFilter{}) {
      reader.errors().Add(path,
                          "at least one of type, status, reason and minTimeSinceLastTransitionSeconds must be set");
    }
  });
  ReadNumbers(reader, "exitCodes", out.exit_codes);
  reader.Read("includingInitContainers", out.including_init_containers);
  reader.Read("includingEphemeralContainers", out.including_ephemeral_containers);
  if (!out.max_seconds && out.states.empty() && out.conditions.empty() && out.exit_codes.empty()) {
    reader.errors().Required(reader.PathOf("maxPodLifeTimeSeconds"),
                             "at least one of maxPodLifeTimeSeconds, states, conditions and exitCodes must be set");
  }
}

void ReadArgs(ObjectReader& reader, FailedPodsArgs& out) {
  ReadSelection(reader, out.pods);
  reader.Read("excludeOwnerKinds", out.exclude_owner_kinds);
  ReadCount(reader, "minPodLifetimeSeconds", out.min_seconds);
  reader.Read("reasons", out.reasons);
  ReadNumbers(reader, "exitCodes", out.exit_codes);
  reader.Read("includingInitContainers", out.including_init_containers);
}

void ReadArgs(ObjectReader& reader, TooManyRestartsArgs& out) {
  ReadSelection(reader, out.pods);
  reader.Read("podRestartThreshold", out.threshold);
  if (out.threshold < 1)
    reader.errors().Invalid(reader.PathOf("podRestartThreshold"), out.threshold, "must be above 0");
  reader.Read("includingInitContainers", out.including_init_containers);
  reader.Read("states", out.states);
  CheckWords(reader, "states", out.states, {"Running", "CrashLoopBackOff"}, "state that can be asked for");
}

// What metrics-server measures of a node, and how many pods it has.
constexpr std::array<std::string_view, 3> kMeasuredResources = {"cpu", "memory", "pods"};

void CheckMeasuredThresholds(ObjectReader& reader, const LowNodeUtilizationArgs& out) {
  for (const auto& [key, thresholds] :
       {std::pair{"thresholds", &out.thresholds}, std::pair{"targetThresholds", &out.target_thresholds}}) {
    for (const auto& each : *thresholds) {
      const std::string path = reader.PathOf(key) + '[' + each.first.substr(0, 64) + ']';
      if (out.metrics->source == MetricsSource::kPrometheus) {
        if (each.first != kMetricResource)
          reader.errors().Add(path, "with Prometheus, the one threshold is that of " + std::string(kMetricResource));
      } else if (std::ranges::find(kMeasuredResources, each.first) == kMeasuredResources.end()) {
        reader.errors().Add(path, "is not measured by metrics-server; there are cpu, memory and pods");
      }
    }
  }
}

// After the thresholds.
void ReadMetricsUse(ObjectReader& reader, LowNodeUtilizationArgs& out) {
  reader.Object("metricsUtilization", [&](ObjectReader& fields) {
    std::string source;
    bool metrics_server = false;
    fields.Read("source", source);
    fields.Read("metricsServer", metrics_server);
    std::string query;
    const bool has_prometheus = fields.Find("prometheus") != nullptr;
    fields.Object("prometheus", [&query](ObjectReader& prometheus) { prometheus.Read("query", query); });
    FieldErrors& errors = fields.errors();
    if (source == ToString(MetricsSource::kPrometheus)) {
      if (query.empty()) errors.Required(fields.PathOf("prometheus.query"), "a query gives each node's use");
      if (metrics_server) errors.Add(fields.PathOf("metricsServer"), "cannot be combined with the source Prometheus");
      out.metrics = {MetricsSource::kPrometheus, query};
    } else if (source == ToString(MetricsSource::kKubernetes) || (source.empty() && metrics_server)) {
      if (!source.empty() && metrics_server)
        errors.Add(fields.PathOf("metricsServer"), "cannot be combined with the source KubernetesMetrics");
      if (has_prometheus) errors.Add(fields.PathOf("prometheus"), "cannot be set when the source is KubernetesMetrics");
      out.metrics = MetricsUse{};
    } else {
      errors.NotSupported(fields.PathOf("source"), source, {"KubernetesMetrics", "Prometheus"});
    }
  });
  if (out.metrics) CheckMeasuredThresholds(reader, out);
}

void ReadArgs(ObjectReader& reader, LowNodeUtilizationArgs& out) {
  reader.Read("useDeviationThresholds", out.use_deviation_thresholds);
  ReadThresholds(reader, "thresholds", out.thresholds);
  ReadThresholds(reader, "targetThresholds", out.target_thresholds);
  const bool has_both = !out.thresholds.empty() && !out.target_thresholds.empty();
  const auto names = [](const Thresholds& thresholds) {
    Names all;
    for (const auto& each : thresholds) all.push_back(each.first);
    return all;
  };
  if (has_both && names(out.thresholds) != names(out.target_thresholds)) {
    reader.errors().Add(reader.PathOf("targetThresholds"),
                        "has other resources (" + Joined(names(out.target_thresholds)) + ") than thresholds (" +
                            Joined(names(out.thresholds)) + ")");
  } else if (has_both && !out.use_deviation_thresholds) {
    for (const auto& [name, percent] : out.thresholds) {
      if (percent > out.target_thresholds.at(name)) {
        reader.errors().Add(reader.PathOf("thresholds") + '[' + name.substr(0, 64) + ']',
                            "is greater than that of targetThresholds");
      }
    }
  }
  reader.Read("numberOfNodes", out.number_of_nodes);
  ReadMetricsUse(reader, out);
  ReadExcludedNamespaces(reader, out.excluded_namespaces);
  reader.Object("evictionLimits", [&](ObjectReader& limits) { ReadCount(limits, "node", out.node_limit); });
}

void ReadArgs(ObjectReader& reader, HighNodeUtilizationArgs& out) {
  ReadThresholds(reader, "thresholds", out.thresholds);
  reader.Read("numberOfNodes", out.number_of_nodes);
  std::vector<std::string> modes;
  reader.Read("evictionModes", modes);
  CheckWords(reader, "evictionModes", modes, {"OnlyThresholdingResources"}, "eviction mode");
  out.only_thresholding_resources = !modes.empty();
  ReadExcludedNamespaces(reader, out.excluded_namespaces);
}

// --- Arguments of DefaultEvictor -------------------------------------------------------------------------------------

// Sets the flag that each name of a list stands for.
void ReadProtections(ObjectReader& reader, std::string_view key,
                     const std::vector<std::pair<std::string_view, std::function<void()>>>& known, bool& is_used) {
  std::vector<std::string> words;
  reader.Read(key, words);
  is_used = is_used || !words.empty();
  Names names;
  for (const auto& each : known) names.push_back(each.first);
  CheckWords(reader, key, words, names, "pod protection of this list");
  std::set<std::string_view> seen;
  for (const std::string& word : words) {
    if (!seen.insert(word).second) reader.errors().Duplicate(reader.PathOf(key), word);
    for (const auto& [name, set] : known) {
      if (name == word) set();
    }
  }
}

void ReadPodProtections(ObjectReader& reader, EvictorArgs& out, bool& is_used) {
  reader.Object("podProtections", [&](ObjectReader& fields) {
    ReadProtections(fields, "extraEnabled",
                    {{"PodsWithPVC", [&] { out.protects_claims = true; }},
                     {"PodsWithoutPDB", [&] { out.protects_without_budget = true; }},
                     {"PodsWithResourceClaims", [&] { out.protects_resource_claims = true; }}},
                    is_used);
    ReadProtections(fields, "defaultDisabled",
                    {{"PodsWithLocalStorage", [&] { out.protects_local_storage = false; }},
                     {"SystemCriticalPods", [&] { out.protects_system_critical = false; }},
                     {"FailedBarePods", [&] { out.protects_failed_bare = false; }},
                     {"DaemonSetPods", [&] { out.protects_daemon_sets = false; }}},
                    is_used);
    fields.Object("config", [&](ObjectReader& settings) {
      settings.Object("PodsWithPVC", [&](ObjectReader& claims) {
        claims.List("protectedStorageClasses", [&](const json::value& item, const std::string& path) {
          ObjectReader storage_class(item, path, claims.errors());
          std::string& name = out.protected_storage_classes.emplace_back();
          storage_class.Read("name", name);
          if (name.empty() && out.protects_claims) claims.errors().Required(path + ".name");
        });
      });
    });
  });
}

void ReadArgs(ObjectReader& reader, EvictorArgs& out) {
  ReadNodeSelector(reader, "nodeSelector", out.node_selector);
  ReadSelector(reader, "labelSelector", out.labels);
  ReadSelector(reader, "namespaceLabelSelector", out.namespace_labels);
  reader.Object("priorityThreshold", [&](ObjectReader& fields) {
    fields.Read("value", out.priority.value);
    fields.Read("name", out.priority.name);
    if (out.priority.value && !out.priority.name.empty())
      reader.errors().Add(reader.PathOf("priorityThreshold"), "only one of value and name can be set");
    if (out.priority.value && *out.priority.value > kSystemCriticalPriority) {
      fields.errors().Invalid(fields.PathOf("value"), *out.priority.value,
                              "cannot be greater than " + std::to_string(kSystemCriticalPriority));
    }
  });
  reader.Read("nodeFit", out.node_fit);
  ReadCount(reader, "minReplicas", out.min_replicas);
  reader.Read("minPodAge", out.min_pod_age);
  std::string no_eviction;
  reader.Read("noEvictionPolicy", no_eviction);
  if (!no_eviction.empty() && no_eviction != "Preferred" && no_eviction != "Mandatory")
    reader.errors().NotSupported(reader.PathOf("noEvictionPolicy"), no_eviction, {"Preferred", "Mandatory"});
  out.no_eviction_is_mandatory = no_eviction == "Mandatory";

  // Deprecated: the old way of saying what is protected. It counts where the new one says nothing.
  EvictorArgs old;
  const auto read_old = [&reader](std::string_view key, bool& protects, bool when_true) {
    bool is_set = false;
    reader.Read(key, is_set);
    if (is_set) protects = when_true;
    return is_set;
  };
  bool has_old = read_old("evictLocalStoragePods", old.protects_local_storage, false);
  has_old |= read_old("evictDaemonSetPods", old.protects_daemon_sets, false);
  has_old |= read_old("evictSystemCriticalPods", old.protects_system_critical, false);
  has_old |= read_old("evictFailedBarePods", old.protects_failed_bare, false);
  has_old |= read_old("ignorePvcPods", old.protects_claims, true);
  has_old |= read_old("ignorePodsWithoutPDB", old.protects_without_budget, true);
  bool has_new = false;
  ReadPodProtections(reader, out, has_new);
  if (has_old && has_new) {
    reader.errors().Add(reader.PathOf("podProtections"),
                        "cannot be combined with the deprecated evictLocalStoragePods, evictDaemonSetPods, "
                        "evictSystemCriticalPods, evictFailedBarePods, ignorePvcPods and ignorePodsWithoutPDB");
  } else if (has_old) {
    out.protects_local_storage = old.protects_local_storage;
    out.protects_daemon_sets = old.protects_daemon_sets;
    out.protects_system_critical = old.protects_system_critical;
    out.protects_failed_bare = old.protects_failed_bare;
    out.protects_claims = old.protects_claims;
    out.protects_without_budget = old.protects_without_budget;
  }
}

// --- Profiles --------------------------------------------------------------------------------------------------------

enum class Point : std::uint8_t { kDeschedule, kBalance };

Point PointOf(const StrategyArgs& args) {
  return std::holds_alternative<RemoveDuplicatesArgs>(args) || std::holds_alternative<TopologySpreadArgs>(args) ||
                 std::holds_alternative<LowNodeUtilizationArgs>(args) ||
                 std::holds_alternative<HighNodeUtilizationArgs>(args) ||
                 std::holds_alternative<CheaperNodeArgs>(args) || std::holds_alternative<BetterScoreArgs>(args) ||
                 std::holds_alternative<ConsolidateArgs>(args) || std::holds_alternative<ZoneRepairArgs>(args)
             ? Point::kBalance
             : Point::kDeschedule;
}

// One of each strategy, with the defaults of its arguments.
template <std::size_t... kIndex>
std::vector<StrategyArgs> MakeAllStrategies(std::index_sequence<kIndex...>) {
  return {StrategyArgs(std::in_place_index<kIndex>)...};
}
const std::vector<StrategyArgs>& AllStrategies() {
  static const std::vector<StrategyArgs> all =
      MakeAllStrategies(std::make_index_sequence<std::variant_size_v<StrategyArgs>>());
  return all;
}

Names AllPlugins() {
  Names names{kEvictor};
  for (const StrategyArgs& args : AllStrategies()) names.push_back(NameOf(args));
  return names;
}

Names StrategiesAt(Point point) {
  Names names;
  for (const StrategyArgs& args : AllStrategies()) {
    if (PointOf(args) == point) names.push_back(NameOf(args));
  }
  return names;
}

struct ProfileParts {
  std::map<std::string, StrategyArgs, std::less<>> configured;
  bool has_evictor = false;
};

template <typename Args>
void ReadArgsOf(ObjectReader& reader, Args& args) {
  static const json::value kNothing = json::object();
  const json::value* value = reader.Find("args");
  ObjectReader fields(value == nullptr ? kNothing : *value, reader.PathOf("args"), reader.errors());
  std::string ignored;  // TypeMeta, which the descheduler allows and does not look at
  fields.Read("apiVersion", ignored);
  fields.Read("kind", ignored);
  ReadArgs(fields, args);
}

void ReadPluginConfig(const json::value& item, const std::string& path, FieldErrors& errors, PolicyProfile& profile,
                      ProfileParts& parts) {
  ObjectReader reader(item, path, errors);
  std::string name;
  reader.Read("name", name);
  if (name == kEvictor) {
    EvictorArgs args;
    ReadArgsOf(reader, args);
    if (!parts.has_evictor) profile.evictor = std::move(args);
    parts.has_evictor = true;
    return;
  }
  const auto& all = AllStrategies();
  const auto known = std::ranges::find_if(all, [&name](const StrategyArgs& args) { return NameOf(args) == name; });
  if (known == all.end()) {
    reader.Find("args");
    AddUnknown(errors, path + ".name", name, "plugin of descheduler 0.36, or of berth", AllPlugins());
    return;
  }
  StrategyArgs args = *known;
  std::visit([&reader](auto& each) { ReadArgsOf(reader, each); }, args);
  // Of several for one plugin, the descheduler takes the first.
  parts.configured.emplace(name, std::move(args));
}

std::vector<std::string> ReadPluginSet(ObjectReader& plugins, std::string_view key) {
  std::vector<std::string> enabled, disabled;
  plugins.Object(key, [&](ObjectReader& set) {
    set.Read("enabled", enabled);
    set.Read("disabled", disabled);
  });
  return enabled;
}

void ReadStrategies(ObjectReader& plugins, std::string_view key, Point point, const ProfileParts& parts,
                    std::vector<StrategyArgs>& out) {
  const std::vector<std::string> enabled = ReadPluginSet(plugins, key);
  const Names known = StrategiesAt(point);
  const std::string path = plugins.PathOf(key) + ".enabled";
  if (enabled.size() > kPolicyStrategiesMax) {
    plugins.errors().Add(path, "has more than " + std::to_string(kPolicyStrategiesMax) + " plugins");
    return;
  }
  for (std::size_t i = 0; i < enabled.size(); ++i) {
    const std::string item = path + '[' + std::to_string(i) + ']';
    if (std::ranges::find(known, enabled[i]) == known.end()) {
      const Names others = StrategiesAt(point == Point::kBalance ? Point::kDeschedule : Point::kBalance);
      if (std::ranges::find(others, enabled[i]) != others.end()) {
        plugins.errors().Add(item, Quoted(enabled[i]) + " belongs to " +
                                       (point == Point::kBalance ? "deschedule" : "balance") + ", not to " +
                                       std::string(key));
      } else {
        AddUnknown(plugins.errors(), item, enabled[i], "plugin for " + std::string(key), known);
      }
      continue;
    }
    const auto configured = parts.configured.find(enabled[i]);
    if (configured == parts.configured.end()) {
      plugins.errors().Add(item, Quoted(enabled[i]) + " has no pluginConfig in this profile; add one with its name");
      continue;
    }
    out.push_back(configured->second);
  }
}

void ReadEvictorPoint(ObjectReader& plugins, std::string_view key) {
  const std::vector<std::string> enabled = ReadPluginSet(plugins, key);
  for (std::size_t i = 0; i < enabled.size(); ++i) {
    if (enabled[i] != kEvictor) {
      AddUnknown(plugins.errors(), plugins.PathOf(key) + ".enabled[" + std::to_string(i) + ']', enabled[i],
                 "plugin for " + std::string(key), {kEvictor});
    }
  }
}

void ReadProfile(const json::value& item, const std::string& path, FieldErrors& errors, PolicyProfile& out) {
  ObjectReader reader(item, path, errors);
  reader.Read("name", out.name);
  ProfileParts parts;
  reader.List("pluginConfig", [&](const json::value& config, const std::string& config_path) {
    ReadPluginConfig(config, config_path, errors, out, parts);
  });
  reader.Object("plugins", [&](ObjectReader& plugins) {
    ReadStrategies(plugins, "deschedule", Point::kDeschedule, parts, out.deschedule);
    ReadStrategies(plugins, "balance", Point::kBalance, parts, out.balance);
    ReadEvictorPoint(plugins, "filter");
    ReadEvictorPoint(plugins, "preevictionfilter");
    // The descheduler uses them nowhere.
    ReadPluginSet(plugins, "presort");
    ReadPluginSet(plugins, "sort");
  });
}

void ReadPrometheusProvider(ObjectReader& reader, PrometheusProvider& out) {
  reader.Read("url", out.url);
  if (out.url.empty()) {
    reader.errors().Required(reader.PathOf("url"), "for example https://prometheus.monitoring:9090");
  } else if (const auto url = net::ParseUrl(out.url); !url.ok()) {
    reader.errors().Invalid(reader.PathOf("url"), net::ShownUrl(out.url), url.error().message);
  }
  if (reader.Find("authToken") != nullptr && out.url.starts_with("http://"))
    reader.errors().Add(reader.PathOf("authToken"), "a token is sent over https alone; the url is http");
  reader.Object("authToken", [&out](ObjectReader& token) {
    if (token.Find("secretReference") == nullptr)
      token.errors().Required(token.PathOf("secretReference"), "the Secret that has the token");
    token.Object("secretReference", [&out](ObjectReader& secret) {
      secret.Read("namespace", out.secret_namespace);
      secret.Read("name", out.secret_name);
      for (const auto& [key, text] :
           {std::pair{"namespace", &out.secret_namespace}, std::pair{"name", &out.secret_name}}) {
        if (text->empty()) secret.errors().Required(secret.PathOf(key));
      }
    });
  });
}

// Where metrics come from. True: metrics-server may be asked.
bool ReadMetrics(ObjectReader& reader, Policy& out) {
  bool has_collector = false;
  reader.Object("metricsCollector", [&](ObjectReader& collector) { collector.Read("enabled", has_collector); });
  std::set<std::string> seen;
  reader.List("metricsProviders", [&](const json::value& item, const std::string& path) {
    ObjectReader provider(item, path, reader.errors());
    std::string source;
    provider.Read("source", source);
    if (!seen.insert(source).second) reader.errors().Duplicate(path + ".source", source);
    if (source == ToString(MetricsSource::kPrometheus)) {
      out.prometheus.emplace();
      if (provider.Find("prometheus") == nullptr) reader.errors().Required(path + ".prometheus", "its url at least");
      provider.Object("prometheus", [&out](ObjectReader& fields) { ReadPrometheusProvider(fields, *out.prometheus); });
    } else if (source == ToString(MetricsSource::kKubernetes)) {
      PrometheusProvider unused;
      provider.Object("prometheus", [&unused](ObjectReader& fields) { ReadPrometheusProvider(fields, unused); });
      if (has_collector) reader.errors().Add(path, "cannot be combined with metricsCollector.enabled");
    } else {
      provider.errors().NotSupported(path + ".source", source, {"KubernetesMetrics", "Prometheus"});
      provider.Find("prometheus");
    }
  });
  return has_collector || seen.contains(std::string(ToString(MetricsSource::kKubernetes)));
}

// Strategies that go by metrics need a provider.
void CheckMetricsUse(const Policy& policy, bool has_kubernetes, FieldErrors& errors) {
  for (std::size_t i = 0; i < policy.profiles.size(); ++i) {
    for (const StrategyArgs& strategy : policy.profiles[i].deschedule) {
      if (std::holds_alternative<CustomMetricArgs>(strategy) && !policy.prometheus) {
        errors.Required("metricsProviders",
                        "CustomMetric of profiles[" + std::to_string(i) + "] needs one with the source Prometheus");
      }
    }
    for (const StrategyArgs& strategy : policy.profiles[i].balance) {
      const auto* const low = std::get_if<LowNodeUtilizationArgs>(&strategy);
      if (low == nullptr || !low->metrics) continue;
      const bool is_there =
          low->metrics->source == MetricsSource::kPrometheus ? policy.prometheus.has_value() : has_kubernetes;
      if (!is_there) {
        errors.Required("metricsProviders", "LowNodeUtilization of profiles[" + std::to_string(i) +
                                                "] needs one with the source " +
                                                std::string(ToString(low->metrics->source)));
      }
    }
  }
}

void ReadDocument(const json::value& document, FieldErrors& errors, Policy& out) {
  ObjectReader reader(document, "", errors);
  if (document.is_object()) config::CheckType(reader, kApiVersion, kKind, false);
  ReadNodeSelector(reader, "nodeSelector", out.node_selector);
  ReadCount(reader, "maxNoOfPodsToEvictPerNode", out.limits.per_node);
  ReadCount(reader, "maxNoOfPodsToEvictPerNamespace", out.limits.per_namespace);
  ReadCount(reader, "maxNoOfPodsToEvictTotal", out.limits.total);
  bool notification = false;
  reader.Read("evictionFailureEventNotification", notification);
  std::optional<std::uint64_t> grace_seconds;
  ReadCount(reader, "gracePeriodSeconds", grace_seconds);
  if (grace_seconds) out.grace_period_seconds = static_cast<std::int64_t>(*grace_seconds);
  const bool has_kubernetes = ReadMetrics(reader, out);
  reader.List("profiles", [&](const json::value& item, const std::string& path) {
    if (out.profiles.size() == kPolicyProfilesMax) {
      errors.Add("profiles", "has more than " + std::to_string(kPolicyProfilesMax) + " items");
    } else {
      ReadProfile(item, path, errors, out.profiles.emplace_back());
    }
  });
  CheckMetricsUse(out, has_kubernetes, errors);
}

}  // namespace

Expected<Policy> ReadPolicy(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const json::value document, codec::ParseYaml(text));
  Policy policy;
  FieldErrors errors;
  ReadDocument(document, errors, policy);
  BERTH_RETURN_IF_ERROR(errors.Result());
  return policy;
}

}  // namespace berth::rebalance
