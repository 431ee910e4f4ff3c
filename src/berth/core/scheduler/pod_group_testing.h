// SPDX-License-Identifier: Apache-2.0
// A core with pod groups, and its writes by pod. Tests only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/codec/json.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {

// `sets`: the profile's plugins, in addition to the defaults; `args`: their arguments; `placements`:
// percentageOfPlacementsToScore, if it is not the default.
inline Profiles ProfilesOf(const config::FeatureGateSettings& gates, config::Plugins sets = {},
                           std::vector<config::PluginConfig> args = {},
                           std::optional<std::int32_t> placements = std::nullopt) {
  const auto parsed = config::FeatureGates::Parse(gates);
  BERTH_CHECK(parsed.ok(), parsed.error().message);
  Profiles profiles;
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration(*parsed);
  configuration.profiles.front().plugins = std::move(sets);
  for (config::PluginConfig& arg : args) configuration.profiles.front().plugin_config.push_back(std::move(arg));
  configuration.profiles.front().percentage_of_placements_to_score = placements;
  config::ApplyDefaults(configuration.profiles.front(), *parsed);
  auto made = runtime::MakeProfiles(configuration, plugins::InTreePlugins(), *profiles.handle);
  BERTH_CHECK(made.ok(), made.error().message);
  static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = std::move(*made);
  return profiles;
}

inline Profiles GroupProfiles(std::vector<std::string> gates = {}, config::Plugins sets = {},
                              std::vector<config::PluginConfig> args = {}) {
  gates.emplace_back("GenericWorkload=true");
  return ProfilesOf({.release_minor = 37, .gates = gates}, std::move(sets), std::move(args));
}

inline api::PodGroup Gang(const std::string& name, std::int32_t min_count) {
  api::PodGroup group;
  group.metadata.name = name;
  group.metadata.namespace_name = "default";
  group.metadata.uid = "uid-" + name;
  group.metadata.generation = 1;
  group.min_count = min_count;
  return group;
}
inline api::PodGroup Basic(const std::string& name) {
  api::PodGroup group = Gang(name, 1);
  group.min_count.reset();
  return group;
}

inline const std::vector<std::string> kCompositeGates = {"TopologyAwareWorkloadScheduling=true",
                                                         "CompositePodGroup=true"};
// A composite gang, or with min_group_count 0 a composite group without a minimum.
inline api::CompositePodGroup Composite(const std::string& name, std::int32_t min_group_count = 0,
                                        const std::string& parent = "") {
  api::CompositePodGroup group;
  group.metadata.name = name;
  group.metadata.namespace_name = "default";
  group.metadata.uid = "uid-" + name;
  if (min_group_count > 0) group.min_group_count = min_group_count;
  group.parent_name = parent;
  return group;
}
inline api::PodGroup Within(const std::string& parent, api::PodGroup group) {
  group.parent_name = parent;
  return group;
}

// What a core wrote.
struct Written {
  std::map<std::string, std::string> bound;      // pod -> node
  std::map<std::string, std::string> failed;     // pod -> "reason: message"
  std::map<std::string, std::string> nominated;  // pod -> node, "" clears
  std::vector<std::string> conditions;           // "group status reason: message"
  std::vector<std::string> evicted;              // pods whose condition says that they are preempted
};

class GroupHarness : public Harness {
 public:
  explicit GroupHarness(const std::vector<std::string>& gates = {}, SchedulerOptions options = PatientOptions(),
                        config::Plugins sets = {}, std::vector<config::PluginConfig> args = {})
      : Harness(GroupProfiles(gates, std::move(sets), std::move(args)), std::move(options)) {}
  explicit GroupHarness(Profiles profiles) : Harness(std::move(profiles)) {}
  GroupHarness(Profiles profiles, SchedulerOptions options) : Harness(std::move(profiles), std::move(options)) {}

  using Harness::Set;
  void Set(const api::PodGroup& group) {
    core.Handle(ObjectSet{std::make_shared<const api::PodGroup>(group)}, now);
    groups_[group.metadata.name] = group;
  }
  void Set(const api::CompositePodGroup& group) {
    core.Handle(ObjectSet{std::make_shared<const api::CompositePodGroup>(group)}, now);
  }
  void RemoveComposite(const std::string& name) {
    core.Handle(ObjectGone{framework::ObjectKind::kCompositePodGroup, "default/" + name}, now);
  }
  void RemoveGroup(const std::string& name) {
    core.Handle(ObjectGone{framework::ObjectKind::kPodGroup, "default/" + name}, now);
    groups_.erase(name);
  }
  // Adds the members group-0, group-1 ... with this CPU request.
  void AddMembers(const std::string& group, int count, const std::string& cpu = "1", int first = 0) {
    for (int i = first; i < first + count; ++i) Set(Member(group, i, cpu));
  }
  testing::PodBuilder Member(const std::string& group, int i, const std::string& cpu = "1") const {
    return testing::MakePod(group + "-" + std::to_string(i)).InGroup(group).Request("cpu", cpu).Priority(priority);
  }

  // The API server accepts the held conditions and later ones.
  Written AnswerConditions() {
    holds_conditions = false;
    for (const auto held : std::exchange(held_, {})) core.Handle(WriteDone{held, {}}, now);
    return Collect();
  }
  // Runs one cycle and returns what it wrote; the API server accepts bindings and conditions.
  Written Cycle() {
    core.Tick(now);
    is_ready = core.ScheduleOne(now);
    return Collect();
  }
  Written Collect() {
    Written written;
    for (bool is_new = true; is_new;) {
      std::vector<Output> outputs;
      core.TakeOutputs(outputs);
      is_new = !outputs.empty();
      for (Output& output : outputs) {
        if (auto* write = std::get_if<Write>(&output)) Take(*write, written);
      }
    }
    return written;
  }
  std::size_t PodsIn(queue::Place place) const {
    std::size_t count = 0;
    for (const queue::PodStanding& standing : core.queue().Dump()) count += standing.place == place ? 1 : 0;
    return count;
  }

  std::int32_t priority = 0;
  bool is_ready = false;                 // whether the last Cycle() had something to schedule
  std::optional<Error> condition_error;  // answer to writes of conditions
  bool holds_conditions = false;         // writes of conditions are not answered
  std::optional<Error> bind_error;       // answer to bindings

 private:
  void Take(Write& write, Written& written) {
    if (auto* bind = std::get_if<framework::BindWrite>(&write.write)) {
      written.bound[bind->pod.name] = bind->node_name;
      core.Handle(WriteDone{write.operation, bind_error}, now);
    } else if (auto* status = std::get_if<framework::PodStatusWrite>(&write.write)) {
      if (status->has_condition)
        written.failed[status->pod.name] = status->condition_reason + ": " + status->condition_message;
      if (status->has_nomination) written.nominated[status->pod.name] = status->nominated_node_name;
    } else if (auto* patch = std::get_if<framework::ObjectPatch>(&write.write)) {
      if (patch->object.resource == "podgroups" || patch->object.resource == "compositepodgroups") {
        TakeCondition(*patch, written);
        if (holds_conditions) return held_.push_back(write.operation);
        core.Handle(WriteDone{write.operation, condition_error}, now);
      } else {
        written.evicted.push_back(patch->object.name);
        core.Handle(WriteDone{write.operation, {}}, now);
      }
    } else {
      core.Handle(WriteDone{write.operation, {}}, now);
    }
  }
  void TakeCondition(const framework::ObjectPatch& patch, Written& written) {
    const auto body = codec::ParseJson(patch.body);
    const auto& condition = body->as_object().at("status").as_object().at("conditions").as_array().at(0).as_object();
    const auto text = [&](const char* key) { return std::string(condition.at(key).as_string()); };
    written.conditions.push_back(patch.object.name + " " + text("status") + " " + text("reason") + ": " +
                                 text("message"));
    if (condition_error || holds_conditions) return;
    const auto group = groups_.find(patch.object.name);
    if (group == groups_.end()) return;
    api::PodGroup changed = group->second;
    changed.conditions = {
        {text("type"), text("status"), text("reason"), text("message"), condition.at("observedGeneration").as_int64()}};
    Set(changed);
  }

  std::map<std::string, api::PodGroup> groups_;
  std::vector<std::uint64_t> held_;  // unanswered writes of conditions
};

}  // namespace berth::scheduler
