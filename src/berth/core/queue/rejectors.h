// SPDX-License-Identifier: Apache-2.0
// Rejectors: why a pod waits, interned. Waiting pods with the same rejectors share one rejector set, so that an event
// is held against each set's registrations once instead of against each pod. Internal to the queue.
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

// Distinct ClusterEvents, numbered.
using EventId = std::uint32_t;

// How a pod comes back to the queue.
enum class Strategy : std::uint8_t { kSkip, kAfterBackoff, kImmediately };

struct Profile {
  std::uint32_t id = 0;
  ProfileHooks hooks;
  std::vector<PluginId> pre_enqueue_ids;  // beside hooks.pre_enqueue
  std::vector<PluginId> event_ids;        // beside hooks.events
};

// How often one plugin's hints about one event were asked since QueueMetrics last looked.
struct HintUse {
  enum Answer : std::uint8_t { kSkip, kQueue, kError };

  PluginId plugin = kNoPlugin;
  EventId event = 0;
  std::array<std::uint32_t, 3> counts{};  // by Answer
  std::array<HistogramCell*, 3> cells{};  // the same; QueueMetrics makes them
  std::uint64_t total() const { return std::uint64_t{counts[0]} + counts[1] + counts[2]; }
};

// What an event means to the pods of one rejector set.
struct Relevance {
  // One registration that matches the event, of one of the set's rejectors.
  struct Match {
    const framework::QueueingHintFn* hint;
    bool is_pending;   // from a plugin that answered kPending
    bool is_of_class;  // the hint is, or there is none
    HintUse* use;
  };
  std::vector<Match> matches;  // pending ones first; within each kind those without a hint first
  bool reaches_gate = true;    // false: the set is gated, and its gating plugin has not registered for the event
  bool is_of_class = true;     // all matches are
  // All matches help the pod group that the event is about, and no other pod.
  bool is_of_pod_group = false;
};

// The pods of one class that wait in one rejector set, chained by Entry::earlier and later.
struct WaitingClass {
  const framework::PodClass* pod_class = nullptr;
  Entry* first = nullptr;
};

// One set of rejectors and the pods that wait because of it.
struct RejectorSet {
  const Profile* profile = nullptr;     // null: the pod names no profile of ours
  std::vector<PluginId> unschedulable;  // sorted; includes the gating plugin
  std::vector<PluginId> pending;        // sorted
  PluginId gating = kNoPlugin;
  bool flushes = true;  // takes part in the flush of long-waiting pods
  std::vector<WaitingClass> waiting;
  absl::flat_hash_map<const framework::PodClass*, std::size_t> waiting_of_class;  // positions in `waiting`
  std::size_t nonempty_position = 0;
  std::vector<std::unique_ptr<Relevance>> relevance;  // by event; null: not asked yet
  std::optional<Time> rescue_told;                    // Rejectors::TellRescue
  std::vector<GaugeCell*> waiting_gauges;             // of pods by who refused them; QueueMetrics makes them

  bool is_gated() const { return gating != kNoPlugin; }
  // `entry` is in no list.
  void Link(Entry* entry);
  // Of the class that the entry's pod had when it was linked.
  void Unlink(Entry* entry);
};

class Rejectors {
 public:
  // `wildcards_reach_gates`: framework::Release::wildcards_reach_gated_pods.
  Rejectors(absl::flat_hash_map<std::string, ProfileHooks> profiles, bool wildcards_reach_gates);

  // Null when no profile has that name.
  const Profile* FindProfile(std::string_view scheduler_name) const;

  // The set of these rejectors; null when there are none. Sets live as long as this object: there are as many as
  // distinct sets of refusing plugins were seen, a few dozen.
  RejectorSet* Intern(const Profile* profile, const std::set<std::string>& unschedulable,
                      const std::set<std::string>& pending);
  // The same rejectors (`set` may be null) with `plugin` as the gating one; kNoPlugin opens the gate, and the plugin
  // that held it stays among the rejectors.
  RejectorSet* WithGate(const Profile* profile, const RejectorSet* set, PluginId plugin);

  EventId InternEvent(const framework::ClusterEvent& event);
  // Whether any plugin of any profile wants the event.
  bool IsOfInterest(EventId event) const { return events_[event].is_of_interest; }

  const Relevance& RelevanceOf(RejectorSet& set, EventId event);

  // Whether the event makes `pod`, which `set` holds back, worth another attempt. The gate is not looked at.
  Strategy IsWorthRequeuing(const framework::PodInfo& pod, RejectorSet& set, EventId event, const EventSource& source);

  const framework::ClusterEvent& EventOf(EventId event) const { return events_[event].event; }

  // Hints are timed from now on: by QueueMetrics alone, which takes the uses, sets their counts back, and clears the
  // list.
  void SetStopwatch(instruments::Stopwatch& stopwatch) { stopwatch_ = &stopwatch; }
  std::vector<HintUse*>& used_hints() { return used_hints_; }
  Time hints_began() const { return hints_began_; }

  const std::string& PluginName(PluginId id) const { return plugin_names_[id]; }
  // SchedulingQueue::TellRescue.
  std::string TellRescue(RejectorSet& set, Time now) const;

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
  absl::flat_hash_map<PluginId, std::vector<framework::ClusterEvent>> events_by_plugin_;  // over all profiles
  absl::flat_hash_map<std::vector<std::uint32_t>, std::unique_ptr<RejectorSet>> sets_;
  std::vector<std::uint32_t> key_;  // of the set looked for: profile, gating, number of unschedulable, both sets
  absl::flat_hash_map<std::uint64_t, EventId> event_ids_;
  std::vector<EventEntry> events_;
  instruments::Stopwatch* stopwatch_ = nullptr;                             // null: hints are not timed
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<HintUse>> hint_uses_;  // by plugin and event
  std::vector<HintUse*> used_hints_;                                        // those with calls
  Time hints_began_{};                                                      // the first of them
};

}  // namespace berth::queue
