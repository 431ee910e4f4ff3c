// SPDX-License-Identifier: Apache-2.0
// SchedulingQueue: the pods that wait to be scheduled. activeQ holds those that are ready, two back-off heaps those
// that failed a moment ago, and the unschedulable pods wait for an event that may help them. Upstream: backend/queue.
//
// Part of the deterministic core: it reads no clock and never blocks. `now` must not run backwards between calls.
// Within turns only.
#pragma once

#include <chrono>
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
#include "berth/base/time.h"
#include "berth/core/queue/nominator.h"
#include "berth/core/queue/registrations.h"
#include "berth/framework/cluster_event.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_groups.h"

namespace berth::instruments {
struct QueueSizes;
class SchedulerMetrics;
class Stopwatch;
}  // namespace berth::instruments

namespace berth::queue {

struct RejectorSet;

// What the queue asks of one profile's plugins. The plugins must outlive the queue.
struct ProfileHooks {
  std::vector<const framework::PreEnqueuePlugin*> pre_enqueue;
  std::vector<Registration> events;
};

// What was written last about a pod, and may not have come back from the API server yet: hashes, 0 for nothing.
struct StatusTold {
  std::size_t condition = 0;
  std::size_t nomination = 0;  // nominatedNodeName
  bool was_repeated = false;   // since the last attempt, because something else came behind it
  // A more important pod took its nomination away, and its object has not said so yet.
  bool has_lost_nomination = false;
};

// A pod on its way through the queue. Pop hands it out; a failed attempt gives it back to AddUnschedulable.
struct QueuedPodInfo {
  framework::PodInfoPtr pod;
  Time timestamp{};                               // when it was added, or came back from its last failed attempt
  std::int32_t attempts = 0;                      // times it was popped
  std::int32_t unschedulable_count = 0;           // attempts that ended with a plugin's refusal
  std::int32_t consecutive_errors_count = 0;      // attempts that ended with an error, since the last refusal
  std::optional<Time> initial_attempt_timestamp;  // when it first entered activeQ
  // It comes from the unschedulable time-out, not from an event: who had refused it. Null: it does not.
  RejectorSet* flushed_from = nullptr;
  bool is_pod_group = false;  // it stands for a group: TakePoppedGroup() has its members
  StatusTold told;
  // For metrics alone: when it was last popped, by the stopwatch, and whether single plugins are timed in this attempt.
  Time attempt_began{};
  bool is_sampled = false;
  // The queue's own, of a pod in flight: where it is recorded.
  const void* record = nullptr;
  std::uint64_t record_sequence = 0;
};

// A root group on its way through the queue, as Pop hands it out.
struct QueuedPodGroup {
  framework::PodGroupKey root;
  QueuedPodInfo own;                   // the group's timestamps and counters; its pod only stands for the group
  std::vector<QueuedPodInfo> members;  // in the order in which they are tried, those of one PodGroup together
};

// How a cycle ended for a group.
enum class PodGroupEnd : std::uint8_t {
  kScheduled,
  kRefused,
  kRefusedForNow,  // its back-off is that of a first refusal
  kError
};

// The objects of an event, kept alive while a pod in flight may still need them. Those that do not apply are null.
struct EventSource {
  framework::PodInfoPtr old_pod;
  framework::PodInfoPtr new_pod;
  std::shared_ptr<const api::Node> old_node;
  std::shared_ptr<const api::Node> new_node;
  std::optional<framework::AnyObject> old_object;  // of another kind
  std::optional<framework::AnyObject> new_object;
  std::string outside_plugin{};                        // whose data from outside changed
  std::vector<framework::PodInfoPtr> old_node_pods{};  // that were on a deleted node

  framework::EventObjects View() const {
    return {old_pod.get(),
            new_pod.get(),
            old_node.get(),
            new_node.get(),
            old_object ? &*old_object : nullptr,
            new_object ? &*new_object : nullptr,
            outside_plugin,
            old_node_pods};
  }
};

// Narrows a move to some of the waiting pods.
struct MoveLimit {
  std::optional<std::int32_t> priority_max;  // only pods of at most this priority
  std::string_view excluded_uid;             // every pod but this one
};

enum class Place : std::uint8_t { kActive, kBackoff, kErrorBackoff, kUnschedulable, kGated, kInFlight };

// As a dump or an explanation shows a pod.
struct PodStanding {
  framework::PodInfoPtr pod;
  Place place = Place::kActive;
  Time timestamp{};
  std::optional<Time> backoff_expiration;          // of kBackoff and kErrorBackoff
  std::vector<std::string> unschedulable_plugins;  // sorted; includes the gating one
  std::vector<std::string> pending_plugins;        // sorted
  std::string gating_plugin;                       // of kGated
  std::string gating_message;                      // of kGated: what that plugin said
  bool lacks_pod_group = false;                    // of kGated: its PodGroup, or a group above that, does not exist
};

// A part of all pods in the order of namespace and name: the first ones behind a name, which need not exist.
struct PodRange {
  std::string after_namespace;
  std::string after_name;
  std::size_t count_max = std::numeric_limits<std::size_t>::max();
};

class SchedulingQueue {
 public:
  struct Options {
    Duration initial_backoff = std::chrono::seconds(1);
    Duration max_backoff = std::chrono::seconds(10);  // 0: no back-off at all
    Duration unschedulable_max = std::chrono::minutes(5);
    // As framework::Release has them.
    bool nominates_gated_pods = false;
    bool wildcards_reach_gated_pods = false;
    // Pods' moves are lines of the log, with --v=5 and --vmodule, as upstream's.
    bool logs_moves = false;
  };

  // Events that are kept for pods in flight. Beyond this number all are dropped, and every pod that was in flight then
  // is tried again after its back-off if it fails.
  static constexpr std::size_t kInFlightEventsMax = 16384;

  // `profiles` is keyed by schedulerName. `sort` and the plugins must outlive the queue.
  SchedulingQueue(Options options, const framework::QueueSortPlugin& sort,
                  absl::flat_hash_map<std::string, ProfileHooks> profiles);
  ~SchedulingQueue();
  SchedulingQueue(const SchedulingQueue&) = delete;
  SchedulingQueue& operator=(const SchedulingQueue&) = delete;

  // Counts and times from now on; without effect on anything else. Before the first pod; both must outlive the queue.
  void SetMetrics(instruments::SchedulerMetrics& metrics, instruments::Stopwatch& stopwatch);

  // Pods that name a PodGroup are scheduled as groups from now on. Before the first pod; must outlive the queue.
  void SetPodGroups(const framework::PodGroups& groups);

  // A new pending pod. It enters activeQ, or is gated by a PreEnqueue plugin. A queued pod of the same namespace and
  // name with another uid is dropped; a pod that is here already is updated.
  void Add(framework::PodInfoPtr pod, Time now);

  // A pending pod changed. `old_pod` may be null. A pod that is not here is added.
  void Update(const framework::PodInfoPtr& old_pod, framework::PodInfoPtr new_pod, Time now);

  // The pod is gone, has a node now, or is not ours any more. A pod in flight stays so until Done or AddUnschedulable.
  // Where it alone held its group back, the group may be tried.
  void Delete(std::string_view uid, Time now);

  // The next pod to schedule: the head of activeQ or, when that is empty, of the back-off heap of refused pods, even if
  // its back-off is not over. The pod is in flight until Done or AddUnschedulable.
  std::optional<QueuedPodInfo> Pop(Time now);

  // The group that Pop has just handed out (QueuedPodInfo::is_pod_group), with its members, each of which is in flight
  // until Done or AddUnschedulable. Once for each such Pop; the group's cycle ends with EndGroup, before the next Pop.
  QueuedPodGroup TakePoppedGroup();
  // Members that came back meanwhile make up the group that waits again; without any, it leaves the queue.
  void EndGroup(PodGroupEnd end, Time now);

  // Groups in back-off that were refused, and met no error: they are tried again though nothing may have changed.
  std::size_t refused_group_count() const;
  // The object of a group has come: pods that waited for it join their groups. Follow it with Move().
  void PodGroupAdded(const framework::PodGroupKey& group, Time now);
  // The object of a group is gone; `old_root` was its root.
  void PodGroupGone(const framework::PodGroupKey& old_root, Time now);

  // The attempt failed. `info` is what Pop returned, with the pod's newest object in `info.pod`; the caller has made
  // sure that the pod still exists and has no node. Both sets empty: an error, tried again after its own back-off. Also
  // for an attempt that failed after Done. Ends the in-flight state. False when the pod was not taken, because it, or a
  // newer pod of its name, is in the queue already.
  bool AddUnschedulable(QueuedPodInfo info, const std::set<std::string>& unschedulable_plugins,
                        const std::set<std::string>& pending_plugins, Time now);

  // The attempt needs the queue no longer: events are not recorded for this pod any more. Harmless when repeated.
  void Done(std::string_view uid);
  // The same for what Pop returned, found without its uid.
  void Done(const QueuedPodInfo& popped);

  // Something happened in the cluster: waiting pods that it may help go to activeQ or, while they back off, to the
  // back-off heap. Costs next to nothing when no plugin that refused a waiting pod has registered for the event, and
  // little for each class of waiting pods that it does not help, where the hints read the class alone. The event is
  // recorded for the pods in flight, whatever `limit` says.
  void Move(const framework::ClusterEvent& event, const EventSource& source, Time now, const MoveLimit& limit = {});

  // These pods go to activeQ at once (where PreEnqueue lets them); those in flight are tried again if they fail.
  void Activate(std::span<const std::string> uids, Time now);

  // Of a bound pod that the unschedulable time-out brought back: who had refused it and which events they wait for, for
  // the log. Empty when the same was said in the last minute.
  std::string TellRescue(const QueuedPodInfo& bound, Time now);

  // Does what is due: ends back-offs (in windows of one second), and moves pods that have been unschedulable for too
  // long (looked at every 30 seconds).
  void Tick(Time now);

  // When Tick has something to do next, whatever happens in between; nullopt: only after some other call.
  std::optional<Time> NextWake() const;

  // The pod in any place but in flight; null: it is not here. Valid until the next change.
  const framework::PodInfoPtr* FindWaiting(std::string_view uid) const;
  // What the status of a waiting pod was last told, for the caller to update; null: the pod is not here.
  StatusTold* FindTold(std::string_view uid);
  bool Contains(std::string_view uid) const { return FindWaiting(uid) != nullptr; }
  bool IsInFlight(std::string_view uid) const;
  std::optional<PodStanding> Find(std::string_view uid) const;
  // The one of that name; one in flight only if none waits. Looks at every pod where none waits.
  std::optional<PodStanding> FindNamed(std::string_view namespace_name, std::string_view name) const;
  // All pods, in flight included, by namespace and name; or a part of them.
  std::vector<PodStanding> Dump(const PodRange& range = {}) const;

  // What waits, in how many groups, and where. Looks at every waiting group.
  instruments::QueueSizes sizes() const;
  std::size_t waiting_group_count() const;
  std::size_t active_count() const;   // a group counts as one
  std::size_t backoff_count() const;  // of both heaps
  std::size_t unschedulable_count() const;
  std::size_t gated_count() const;
  std::size_t in_flight_count() const;
  std::size_t in_flight_event_count() const;
  // True when Pop has something to give.
  bool HasReadyPod() const;

  // Kept up by Add, Update and Delete; the scheduler adds what preemption nominates and deletes what it assumes.
  Nominator& nominator();
  const Nominator& nominator() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::queue
