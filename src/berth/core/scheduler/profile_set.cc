// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/profile_set.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "berth/base/check.h"
#include "berth/core/runtime/extender_verdicts.h"
#include "berth/core/scheduler/plugin_errors.h"
#include "berth/framework/node_annotation_reader.h"

namespace berth::scheduler {

namespace {

const framework::QueueSortPlugin* QueueSortOf(const ProfileSet::Owned& profiles) {
  BERTH_CHECK(!profiles.empty());
  BERTH_CHECK(profiles.front()->queue_sort != nullptr);
  return profiles.front()->queue_sort;
}

instruments::EvaluatedPlugins EvaluatedPluginsOf(const runtime::ProfilePlugins& plugins) {
  instruments::EvaluatedPlugins evaluated;
  for (const auto* plugin : plugins.pre_filter) evaluated.pre_filter.push_back(plugin->Name());
  for (const auto* plugin : plugins.filter) evaluated.filter.push_back(plugin->Name());
  for (const auto* plugin : plugins.pre_score) evaluated.pre_score.push_back(plugin->Name());
  for (const auto& score : plugins.score) evaluated.score.push_back(score.plugin->Name());
  return evaluated;
}

// The plugins that can refuse a pod, without duplicates.
std::vector<const framework::Plugin*> RefusingPlugins(const runtime::ProfilePlugins& plugins) {
  std::vector<const framework::Plugin*> refusing;
  const auto add = [&](const auto& list) {
    for (const auto* plugin : list) {
      const framework::Plugin* base = plugin;
      if (std::find(refusing.begin(), refusing.end(), base) == refusing.end()) refusing.push_back(base);
    }
  };
  add(plugins.pre_enqueue);
  add(plugins.pre_filter);
  add(plugins.filter);
  add(plugins.reserve);
  add(plugins.permit);
  // A pod waits for the victims of these.
  std::vector<const framework::PostFilterPlugin*> preempting = plugins.post_filter;
  std::erase_if(preempting, [](const auto* plugin) { return !plugin->IsPreemption(); });
  add(preempting);
  return refusing;
}

}  // namespace

Profile::Profile(std::unique_ptr<runtime::ProfilePlugins> owned, runtime::EvaluatorOptions evaluator_options,
                 instruments::SchedulerMetrics& all_metrics, instruments::Stopwatch& of_core)
    : plugins(std::move(owned)),
      metrics(std::make_unique<instruments::ProfileMetrics>(all_metrics, plugins->scheduler_name,
                                                            EvaluatedPluginsOf(*plugins))),
      options(std::move(evaluator_options)),
      stopwatch(of_core),
      evaluator(*plugins, options) {
  evaluator.SetMetrics(*metrics, stopwatch);
}

void Profile::RenewEvaluator() {
  std::destroy_at(&evaluator);
  std::construct_at(&evaluator, *plugins, options);
  evaluator.SetMetrics(*metrics, stopwatch);
}

ProfileSet::ProfileSet(Owned profiles, const runtime::EvaluatorOptions& options, instruments::SchedulerMetrics& metrics,
                       instruments::Stopwatch& stopwatch)
    : first_(profiles.empty() ? std::string() : profiles.front()->scheduler_name), queue_sort_(QueueSortOf(profiles)) {
  for (auto& plugins : profiles) {
    std::string name = plugins->scheduler_name;
    profiles_.emplace(std::move(name), std::make_unique<Profile>(std::move(plugins), options, metrics, stopwatch));
  }
}

Profile* ProfileSet::Find(const framework::PodInfo& pod) {
  const std::string& wanted = pod.spec().scheduler_name;
  const std::string_view name = wanted.empty() ? api::kDefaultSchedulerName : std::string_view(wanted);
  if (latest_ != nullptr && latest_->scheduler_name() == name) return latest_;
  const auto it = profiles_.find(name);
  return it == profiles_.end() ? nullptr : latest_ = it->second.get();
}

std::vector<std::string> ProfileSet::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, profile] : profiles_) names.push_back(name);
  return names;
}

absl::flat_hash_map<std::string, queue::ProfileHooks> ProfileSet::QueueHooks(bool has_extenders,
                                                                             const framework::Release& release) const {
  absl::flat_hash_map<std::string, queue::ProfileHooks> hooks;
  for (const auto& [name, profile] : profiles_) {
    queue::ProfileHooks& own = hooks[name];
    own.pre_enqueue = profile->plugins->pre_enqueue;
    // Extenders cannot register for events, so that any event wakes the pods that they refused.
    if (has_extenders) {
      own.events.push_back({std::string(runtime::kExtenderName),
                            {{framework::EventResource::kWildcard, framework::action::kAll}, nullptr}});
    }
    for (const framework::Plugin* plugin : RefusingPlugins(*profile->plugins)) {
      for (queue::Registration& registration : queue::RegistrationsOf(*plugin, release.adds_node_taint_event))
        own.events.push_back(std::move(registration));
    }
  }
  return hooks;
}

std::vector<framework::ObjectKind> ProfileSet::ObjectsRead() const {
  std::set<framework::ObjectKind> kinds;
  for (const auto& [name, profile] : profiles_) {
    for (const auto& plugin : profile->plugins->owned) {
      const auto* reader = dynamic_cast<const framework::ObjectReader*>(plugin.get());
      if (reader == nullptr) continue;
      AskOnce(*plugin, "the kinds of objects that it reads", [&] {
        for (const framework::ObjectKind kind : reader->ObjectsRead()) kinds.insert(kind);
      });
    }
  }
  return {kinds.begin(), kinds.end()};
}

namespace {

// The keys that plugins of the interface Reader name, ascending.
template <typename Reader>
std::vector<std::string> KeysRead(ProfilesInMaking profiles, std::string_view what,
                                  std::vector<std::string> (Reader::*keys_of)() const) {
  std::set<std::string> keys;
  for (const auto& profile : profiles) {
    for (const auto& plugin : profile->owned) {
      const auto* reader = dynamic_cast<const Reader*>(plugin.get());
      if (reader == nullptr) continue;
      AskOnce(*plugin, what, [&] {
        for (std::string& key : (reader->*keys_of)()) keys.insert(std::move(key));
      });
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace

bool NamesPodGroups(ProfilesInMaking profiles) {
  return std::ranges::any_of(profiles, [](const auto& profile) { return profile->pod_group_namer != nullptr; });
}

std::vector<std::string> AnnotationsRead(ProfilesInMaking profiles) {
  return KeysRead(profiles, "the annotations of pods that it reads", &framework::AnnotationReader::PodAnnotationsRead);
}

std::vector<std::string> NodeAnnotationsRead(ProfilesInMaking profiles) {
  return KeysRead(profiles, "the annotations of nodes that it reads",
                  &framework::NodeAnnotationReader::NodeAnnotationsRead);
}

}  // namespace berth::scheduler
