// SPDX-License-Identifier: Apache-2.0
// Rejectors: interns the reasons why pods wait. Waiting pods with the same rejectors share a rejector set, so that an
// event is matched against the registrations of each set instead of each pod. Internal to the queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/base/hash_map.h"
#include "berth/base/metric_registry.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/core/queue/scheduling_queue.h"

namespace berth::queue {

struct Entry;

using PluginId = std::uint32_t;
inline constexpr PluginId kNoPlugin = std::numeric_limits<PluginId>::max();

// Index of a distinct ClusterEvent.
using EventId = std::uint32_t;

// How a waiting pod is moved.
enum class Strategy : std::uint8_t { kSkip, kAfterBackoff, kImmediately };

struct Profile {
  std::uint32_t id = 0;
  ProfileHooks hooks;
  std::vector<PluginId> pre_enqueue_ids;  // parallel to hooks.pre_enqueue
  std::vector<PluginId> event_ids;        // parallel to hooks.events
};

// How often one plugin's hint for one event was called since QueueMetrics last looked.
struct HintUse {
  enum Answer : std::uint8_t { kSkip, kQueue, kError };

  PluginId plugin = kNoPlugin;
  EventId event = 0;
  std::array<std::uint32_t, 3> counts{};  // index: Answer
  std::array<HistogramCell*, 3> cells{};  // index: Answer; made by QueueMetrics
  std::uint64_t total() const { return std::uint64_t{counts[0]} + counts[1] + counts[2]; }
};

// What an event means for the pods of one rejector set.
struct Relevance {
  // A registration that matches the event, by one of the set's rejectors.
  struct Match {
    const framework::QueueingHintFn* hint;
    bool is_pending;   // the plugin had answered kPending
    bool is_of_class;  // the hint reads nothing of the pod but its class, or there is no hint
    HintUse* use;
  };
  std::vector<Match> matches;  // pending ones first; within each kind those without a hint first
  bool reaches_gate = true;    // false: the set is gated, and its gating plugin has not registered for the event
  bool is_of_class = true;     // is_of_class holds for all matches
  // All matches help only the pod group that the event is about.
  bool is_of_pod_group = false;
};

// The pods of one class in one rejector set, linked by Entry::earlier and Entry::later.
struct WaitingClass {
  const framework::PodClass* pod_class = nullptr;
  Entry* first = nullptr;
};

// A set of rejectors, and the pods that wait because of it.
struct RejectorSet {
  const Profile* profile = nullptr;     // null: no profile of ours has the pods' scheduler name
  std::vector<PluginId> unschedulable;  // sorted; includes the gating plugin
  std::vector<PluginId> pending;        // sorted
  PluginId gating = kNoPlugin;
  bool flushes = true;  // whether the flush of unschedulable pods moves its pods
  std::vector<WaitingClass> waiting;
  absl::flat_hash_map<const framework::PodClass*, std::size_t> waiting_of_class;  // index into `waiting`
  std::size_t nonempty_position = 0;
  std::vector<std::unique_ptr<Relevance>> relevance;  // by event; null: not computed yet
  std::optional<Time> rescue_logged;                  // when DescribeRescue last returned a text
  std::vector<GaugeCell*> waiting_gauges;             // number of pods by refusing plugin; made by QueueMetrics

  bool is_gated() const { return gating != kNoPlugin; }
  // `entry` must be in no list.
  void Link(Entry* entry);
  // The entry's pod must still have the class that it had when it was linked.
  void Unlink(Entry* entry);
};

class Rejectors {
 public:
  // `wildcards_reach_gates`: framework::Release::wildcards_reach_gated_pods.
  Rejectors(absl::flat_hash_map<std::string, ProfileHooks> profiles, bool wildcards_reach_gates);

  // Null when no profile has this name.
  const Profile* FindProfile(std::string_view scheduler_name) const;

  // The set of these rejectors; null when there are none. Sets are never freed: there are as many as distinct sets of
  // refusing plugins, a few dozen.
  RejectorSet* Intern(const Profile* profile, const std::set<std::string>& unschedulable,
                      const std::set<std::string>& pending);
  // The rejectors of `set`, which may be null, with `plugin` as the gating one. kNoPlugin opens the gate; the plugin
  // that gated stays among the rejectors.
  RejectorSet* WithGate(const Profile* profile, const RejectorSet* set, PluginId plugin);

  EventId InternEvent(const framework::ClusterEvent& event);
  // Whether any plugin of any profile has registered for the event.
  bool IsOfInterest(EventId event) const { return events_[event].is_of_interest; }

  const Relevance& RelevanceOf(RejectorSet& set, EventId event);

  // How to move `pod`, which waits in `set`, after the event. The gate is not checked.
  Strategy IsWorthRequeuing(const framework::PodInfo& pod, RejectorSet& set, EventId event, const EventSource& source);

  const framework::ClusterEvent& EventOf(EventId event) const { return events_[event].event; }

  // Starts timing hints. Only QueueMetrics uses these functions; it reads the uses, resets their counts and clears the
  // list.
  void SetStopwatch(instruments::Stopwatch& stopwatch) { stopwatch_ = &stopwatch; }
  std::vector<HintUse*>& used_hints() { return used_hints_; }
  Time hints_began() const { return hints_began_; }

  const std::string& PluginName(PluginId id) const { return plugin_names_[id]; }
  // See SchedulingQueue::DescribeRescue.
  std::string DescribeRescue(RejectorSet& set, Time now) const;

 private:
  struct EventEntry {
    framework::ClusterEvent event;
    bool is_of_interest = false;
  };

  PluginId InternPlugin(std::string_view name);
  HintUse* UseOf(PluginId plugin, EventId event);
  bool AskHint(const Relevance::Match& match, const framework::PodInfo& pod, const framework::EventObjects& event);
  RejectorSet* InternKey();
  bool GateWants(PluginId gating, const framework::ClusterEvent& event) const;

  const bool wildcards_reach_gates_;
  std::vector<std::unique_ptr<Profile>> profiles_;
  StringHashMap<const Profile*> profile_by_name_;
  mutable const Profile* latest_profile_ = nullptr;
  mutable std::string latest_name_;
  std::vector<std::string> plugin_names_;
  StringHashMap<PluginId> plugin_by_name_;
  absl::flat_hash_map<PluginId, std::vector<framework::ClusterEvent>> events_by_plugin_;  // across all profiles
  absl::flat_hash_map<std::vector<std::uint32_t>, std::unique_ptr<RejectorSet>> sets_;
  std::vector<std::uint32_t> key_;  // lookup key of a set: profile, gating, number of unschedulable, both sets
  absl::flat_hash_map<std::uint64_t, EventId> event_ids_;
  std::vector<EventEntry> events_;
  instruments::Stopwatch* stopwatch_ = nullptr;                             // null: hints are not timed
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<HintUse>> hint_uses_;  // key: plugin and event
  std::vector<HintUse*> used_hints_;  // those with calls since QueueMetrics last looked
  Time hints_began_{};                // start of the first of these calls
};

}  // namespace berth::queue
