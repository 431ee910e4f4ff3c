// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/conformance/case.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <simdjson.h>

#include "berth/api/decode.h"
#include "berth/core/config/default.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/framework/object_kinds.h"
#include "berth/plugins/names.h"

namespace berth::conformance {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

std::string Text(element parent, std::string_view key) {
  std::string_view text;
  return parent[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

std::vector<std::string> Texts(element list) {
  std::vector<std::string> texts;
  array values;
  if (list.get(values) != simdjson::SUCCESS) return texts;
  for (const element value : values) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) texts.emplace_back(text);
  }
  return texts;
}

std::optional<std::vector<std::string>> Texts(element parent, std::string_view key) {
  element list;
  if (parent[key].get(list) != simdjson::SUCCESS) return std::nullopt;
  return Texts(list);
}

StatusRecord ToStatus(element status) {
  return {Text(status, "code"), Text(status, "plugin"), Texts(status, "reasons").value_or(std::vector<std::string>{})};
}

std::optional<StatusRecord> ToStatus(element parent, std::string_view key) {
  element status;
  if (parent[key].get(status) != simdjson::SUCCESS) return std::nullopt;
  return ToStatus(status);
}

NodeRecord ToNode(element node) {
  NodeRecord record;
  element filter;
  if (node["filter"].get(filter) == simdjson::SUCCESS && !filter.is_string()) record.refused = ToStatus(filter);
  object scores;
  if (node["scores"].get(scores) == simdjson::SUCCESS) {
    for (const auto [plugin, score] : scores) record.scores.emplace(plugin, score.get_int64().value_unsafe());
  }
  std::int64_t total = 0;
  if (node["total"].get(total) == simdjson::SUCCESS) record.total = total;
  return record;
}

PreemptionRecord ToPreemption(element from) {
  const auto texts = [](element parent, std::string_view key) {
    return Texts(parent, key).value_or(std::vector<std::string>{});
  };
  PreemptionRecord to;
  to.nominated_node = Text(from, "nominatedNode");
  to.victims = texts(from, "victims");
  to.acceptable = texts(from, "acceptable");
  to.cleared_nominations = texts(from, "clearedNominations");
  object candidates;
  if (from["candidates"].get(candidates) != simdjson::SUCCESS) return to;
  for (const auto [node, candidate] : candidates) {
    PreemptionRecord::Candidate& record = to.candidates[std::string(node)];
    record.victims = texts(candidate, "victims");
    if (candidate["pdbViolations"].get(record.pdb_violations) != simdjson::SUCCESS) record.pdb_violations = 0;
  }
  return to;
}

// Text that is no quantity counts as 0. It does not occur: the oracle writes only amounts that it has parsed.
DeviceRecord ToDevice(element from) {
  DeviceRecord to{Text(from, "request"), Text(from, "driver"), Text(from, "pool"), Text(from, "device"), std::nullopt};
  object share;
  if (from["share"].get(share) != simdjson::SUCCESS) return to;
  to.share.emplace();
  for (const auto [capacity, amount] : share) {
    std::string_view text;
    if (amount.get(text) != simdjson::SUCCESS) text = {};
    const auto parsed = api::Quantity::Parse(text);
    to.share->emplace(capacity, parsed.ok() ? *parsed : api::Quantity());
  }
  return to;
}

std::vector<DeviceRecord> ToDevices(element results) {
  std::vector<DeviceRecord> devices;
  array list;
  if (results.get(list) != simdjson::SUCCESS) return devices;
  for (const element device : list) devices.push_back(ToDevice(device));
  return devices;
}

DevicesByClaim ToDevicesByClaim(element parent) {
  DevicesByClaim devices;
  object claims;
  if (parent["devices"].get(claims) != simdjson::SUCCESS) return devices;
  for (const auto [claim, results] : claims) devices.emplace(claim, ToDevices(results));
  return devices;
}

ClaimRecord ToClaim(element from) {
  ClaimRecord to;
  element devices;
  if (from["devices"].get(devices) == simdjson::SUCCESS) to.devices = ToDevices(devices);
  to.reserved_for = Texts(from, "reservedFor").value_or(std::vector<std::string>{});
  return to;
}

Attempt ToAttempt(element from) {
  Attempt to;
  to.pod = Text(from, "pod");
  std::int64_t number = 1;
  if (from["attempt"].get(number) == simdjson::SUCCESS) to.attempt = static_cast<int>(number);
  to.result = Text(from, "result");
  to.pre_enqueue = ToStatus(from, "preEnqueue");
  to.pre_filter = ToStatus(from, "prefilter");
  to.pre_filter_nodes = Texts(from, "prefilterNodes");
  to.nominated_evaluated = Text(from, "nominatedEvaluated");
  object nodes;
  if (from["nodes"].get(nodes) == simdjson::SUCCESS) {
    for (const auto [name, node] : nodes) to.nodes.emplace(name, ToNode(node));
  }
  to.best = Texts(from, "best").value_or(std::vector<std::string>{});
  to.bound = Text(from, "bound");
  to.reserve = ToStatus(from, "reserve");
  to.message = Text(from, "message");
  to.unschedulable_plugins = Texts(from, "unschedulablePlugins").value_or(std::vector<std::string>{});
  element preemption;
  if (from["preemption"].get(preemption) == simdjson::SUCCESS) to.preemption = ToPreemption(preemption);
  to.devices = ToDevicesByClaim(from);
  return to;
}

std::map<std::string, std::string> TextsByKey(element parent, std::string_view key) {
  std::map<std::string, std::string> texts;
  object members;
  if (parent[key].get(members) != simdjson::SUCCESS) return texts;
  for (const auto [name, value] : members) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) texts.emplace(name, text);
  }
  return texts;
}

std::string ToCondition(element from) {
  return Text(from, "type") + "=" + Text(from, "status") + " " + Text(from, "reason") + ": " + Text(from, "message");
}

CycleRecord ToCycle(element from) {
  CycleRecord to;
  to.entity = Text(from, "entity");
  to.bound = TextsByKey(from, "bound");
  to.nominated = TextsByKey(from, "nominated");
  to.victims = Texts(from, "victims").value_or(std::vector<std::string>{});
  object failed;
  if (from["failed"].get(failed) == simdjson::SUCCESS) {
    for (const auto [pod, condition] : failed)
      to.failed.emplace(pod, Text(condition, "reason") + ": " + Text(condition, "message"));
  }
  element condition;
  if (from["condition"].get(condition) == simdjson::SUCCESS) to.condition = ToCondition(condition);
  object conditions;
  if (from["conditions"].get(conditions) == simdjson::SUCCESS) {
    for (const auto [group, of_group] : conditions) to.conditions.emplace(group, ToCondition(of_group));
  }
  object claims;
  if (from["claims"].get(claims) == simdjson::SUCCESS) {
    for (const auto [name, claim] : claims) to.claims.emplace(name, ToClaim(claim));
  }
  to.queue = {{"active", 0}, {"waiting", 0}};
  object queue;
  if (from["queue"].get(queue) == simdjson::SUCCESS) {
    for (const auto [part, count] : queue) {
      std::int64_t pods = 0;
      if (count.get(pods) == simdjson::SUCCESS) to.queue[part == "active" ? "active" : "waiting"] += pods;
    }
  }
  return to;
}

// Sets the fields that the API server sets on every pod.
std::shared_ptr<const api::Pod> Fill(const std::shared_ptr<const api::Pod>& pod) {
  auto filled = std::make_shared<api::Pod>(*pod);
  api::ObjectMeta& meta = filled->metadata;
  if (meta.namespace_name.empty()) meta.namespace_name = "default";
  if (meta.uid.empty()) meta.uid = "uid-" + meta.namespace_name + "-" + meta.name;
  if (filled->spec.scheduler_name.empty()) filled->spec.scheduler_name = api::kDefaultSchedulerName;
  return filled;
}

Expected<void> LoadPods(element parent, std::string_view key, std::vector<std::shared_ptr<const api::Pod>>& to) {
  array pods;
  if (parent[key].get(pods) != simdjson::SUCCESS) return {};
  for (const element pod : pods) {
    BERTH_ASSIGN_OR_RETURN(const auto decoded, api::DecodePod(pod));
    to.push_back(Fill(decoded));
  }
  return {};
}

struct ObjectList {
  std::string_view key;
  framework::ObjectKind kind;
};
constexpr ObjectList kObjectLists[] = {
    {"persistentVolumes", framework::ObjectKind::kPersistentVolume},
    {"persistentVolumeClaims", framework::ObjectKind::kPersistentVolumeClaim},
    {"storageClasses", framework::ObjectKind::kStorageClass},
    {"csiNodes", framework::ObjectKind::kCsiNode},
    {"csiDrivers", framework::ObjectKind::kCsiDriver},
    {"csiStorageCapacities", framework::ObjectKind::kCsiStorageCapacity},
    {"volumeAttachments", framework::ObjectKind::kVolumeAttachment},
    {"podDisruptionBudgets", framework::ObjectKind::kPodDisruptionBudget},
    {"namespaces", framework::ObjectKind::kNamespace},
    {"services", framework::ObjectKind::kService},
    {"replicationControllers", framework::ObjectKind::kReplicationController},
    {"replicaSets", framework::ObjectKind::kReplicaSet},
    {"statefulSets", framework::ObjectKind::kStatefulSet},
    {"resourceSlices", framework::ObjectKind::kResourceSlice},
    {"deviceClasses", framework::ObjectKind::kDeviceClass},
    {"resourceClaims", framework::ObjectKind::kResourceClaim},
    {"compositePodGroups", framework::ObjectKind::kCompositePodGroup},
    {"podGroups", framework::ObjectKind::kPodGroup},
};

Expected<void> LoadObjects(element parent, std::vector<framework::AnyObject>& to) {
  for (const ObjectList& list : kObjectLists) {
    array objects;
    if (parent[list.key].get(objects) != simdjson::SUCCESS) continue;
    for (const element each : objects) {
      BERTH_ASSIGN_OR_RETURN(auto object, framework::DecodeObject(list.kind, each));
      to.push_back(std::move(object));
    }
  }
  return {};
}

// The minor version of "v1.37.2".
Expected<int> ReleaseMinorOf(const std::string& version) {
  int minor = 0;
  constexpr std::string_view kMajor = "v1.";
  const char* const end = version.data() + version.size();
  const bool is_version =
      version.starts_with(kMajor) && std::from_chars(version.data() + kMajor.size(), end, minor).ec == std::errc();
  if (is_version && minor >= framework::kOldestRelease && minor <= framework::kNewestRelease) return minor;
  return InvalidError("expected.kubernetes: \"" + version.substr(0, 100) + "\" should be a version from v1." +
                      std::to_string(framework::kOldestRelease) + " to v1." +
                      std::to_string(framework::kNewestRelease));
}

void PreemptEverywhere(config::KubeSchedulerConfiguration& configuration) {
  constexpr config::DefaultPreemptionArgs kAll{100, 100};
  for (config::Profile& profile : configuration.profiles) {
    std::erase_if(profile.plugin_config,
                  [](const config::PluginConfig& plugin) { return plugin.name == plugins::names::kDefaultPreemption; });
    profile.plugin_config.push_back({std::string(plugins::names::kDefaultPreemption), kAll});
  }
}

}  // namespace

Expected<Case> LoadCase(const std::string& path) {
  simdjson::dom::parser parser;
  element document;
  if (const auto error = parser.load(path).get(document)) {
    return InvalidError(path + ": " + simdjson::error_message(error));
  }
  Case loaded;
  loaded.name = Text(document, "name");
  object gates;
  if (document["gates"].get(gates) == simdjson::SUCCESS) {
    for (const auto [gate, is_on] : gates)
      loaded.gates.push_back(std::string(gate) +
                             (is_on.is_bool() && is_on.get_bool().value_unsafe() ? "=true" : "=false"));
  }
  element config;
  if (document["config"].get(config) == simdjson::SUCCESS && !config.is_null()) {
    loaded.config = config.is_string() ? Text(document, "config") : std::string(simdjson::minify(config));
  }
  element objects;
  if (document["objects"].get(objects) == simdjson::SUCCESS) {
    array nodes;
    if (objects["nodes"].get(nodes) == simdjson::SUCCESS) {
      for (const element node : nodes) {
        auto decoded = api::DecodeNode(node);
        if (!decoded.ok()) return decoded.error().Wrap(path);
        loaded.nodes.push_back(std::move(*decoded));
      }
    }
    if (const auto pods = LoadPods(objects, "pods", loaded.pods); !pods.ok()) return pods.error().Wrap(path);
    if (const auto others = LoadObjects(objects, loaded.objects); !others.ok()) return others.error().Wrap(path);
  }
  if (const auto pods = LoadPods(document, "pending", loaded.pending); !pods.ok()) return pods.error().Wrap(path);
  array attempts;
  if (document["expected"]["attempts"].get(attempts) != simdjson::SUCCESS) {
    return InvalidError(path + ": no expected.attempts: let the oracle answer the case first");
  }
  if (const std::string version = Text(document["expected"].value_unsafe(), "kubernetes"); !version.empty()) {
    const auto minor = ReleaseMinorOf(version);
    if (!minor.ok()) return minor.error().Wrap(path);
    loaded.release_minor = *minor;
  }
  bool any_total = false, any_scores = false;
  for (const element attempt : attempts) {
    loaded.expected.push_back(ToAttempt(attempt));
    for (const auto& [name, node] : loaded.expected.back().nodes) {
      any_total |= node.total.has_value();
      any_scores |= !node.scores.empty();
    }
  }
  loaded.has_scores = any_scores || !any_total;
  array groups, cycles;
  loaded.has_pod_groups = document["objects"]["podGroups"].get(groups) == simdjson::SUCCESS && groups.size() > 0;
  if (!loaded.has_pod_groups) return loaded;
  // As the oracle: unless the case says otherwise.
  loaded.gates.insert(loaded.gates.begin(), "GenericWorkload=true");
  if (document["expected"]["cycles"].get(cycles) == simdjson::SUCCESS) {
    for (const element cycle : cycles) loaded.cycles.push_back(ToCycle(cycle));
  }
  return loaded;
}

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
