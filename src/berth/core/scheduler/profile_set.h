// SPDX-License-Identifier: Apache-2.0
// ProfileSet: the profiles of a configuration, each with its plugins, its evaluator and its metrics. Within turns only.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/core/instruments/profile_metrics.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

struct Profile {
  Profile(std::unique_ptr<runtime::ProfilePlugins> owned, runtime::EvaluatorOptions evaluator_options,
          instruments::SchedulerMetrics& all_metrics, instruments::Stopwatch& stopwatch);

  const std::string& scheduler_name() const { return plugins->scheduler_name; }
  // Puts a new evaluator, which knows nothing of earlier pods, in the place of this one. Between cycles.
  void RenewEvaluator();

  std::unique_ptr<runtime::ProfilePlugins> plugins;
  std::unique_ptr<instruments::ProfileMetrics> metrics;
  const runtime::EvaluatorOptions options;
  instruments::Stopwatch& stopwatch;
  runtime::Evaluator evaluator;
};

class ProfileSet {
 public:
  using Owned = std::vector<std::unique_ptr<runtime::ProfilePlugins>>;

  // There must be at least one profile, scheduler names must be unique, and all profiles must have the same queue_sort
  // plugin. `metrics` and `stopwatch` must outlive it.
  ProfileSet(Owned profiles, const runtime::EvaluatorOptions& options, instruments::SchedulerMetrics& metrics,
             instruments::Stopwatch& stopwatch);

  // The profile of the pod's scheduler; null: the pod belongs to another scheduler.
  Profile* Find(const framework::PodInfo& pod);
  // By scheduler name.
  const std::map<std::string, std::unique_ptr<Profile>, std::less<>>& by_name() const { return profiles_; }

  // Scheduler names, ascending.
  std::vector<std::string> Names() const;

  // The name of the first profile given.
  const std::string& first() const { return first_; }
  // The queue_sort plugin of the first profile.
  const framework::QueueSortPlugin& queue_sort() const { return *queue_sort_; }
  // What the queue needs of each profile's plugins, by scheduler name. `has_extenders`: pods may be refused by
  // extenders.
  absl::flat_hash_map<std::string, queue::ProfileHooks> QueueHooks(bool has_extenders,
                                                                   const framework::Release& release) const;
  // The kinds of objects that plugins read, ascending.
  std::vector<framework::ObjectKind> ObjectsRead() const;

 private:
  const std::string first_;
  const framework::QueueSortPlugin* const queue_sort_;
  std::map<std::string, std::unique_ptr<Profile>, std::less<>> profiles_;
  Profile* latest_ = nullptr;  // what Find() returned last
};

using ProfilesInMaking = std::span<const std::unique_ptr<runtime::ProfilePlugins>>;
// Whether a plugin of these profiles names pod groups.
bool NamesPodGroups(ProfilesInMaking profiles);
// The keys of the pod annotations that plugins of these profiles read, ascending.
std::vector<std::string> AnnotationsRead(ProfilesInMaking profiles);
// The same for node annotations, as far as plugins declare them (framework/node_annotation_reader.h, plugins that come
// with berth only).
std::vector<std::string> NodeAnnotationsRead(ProfilesInMaking profiles);

}  // namespace berth::scheduler
