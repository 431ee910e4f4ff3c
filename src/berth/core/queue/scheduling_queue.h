// SPDX-License-Identifier: Apache-2.0
// SchedulingQueue: the pods that wait to be scheduled. activeQ holds ready pods, two back-off heaps hold pods that
// failed a moment ago, and unschedulable pods wait for an event that may help them. Upstream: backend/queue.
//
// It belongs to the deterministic core: it reads no clock and never blocks. `now` must not decrease between calls.
// Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
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
#include "berth/core/queue/pod_range.h"
#include "berth/core/queue/queue_options.h"
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

// The PreEnqueue plugins and event registrations of one profile. The plugins must outlive the queue.
struct ProfileHooks {
  std::vector<const framework::PreEnqueuePlugin*> pre_enqueue;
  std::vector<Registration> events;
};

// Hashes of what was last written about a pod and may not have come back from the API server yet; 0: nothing.
struct LastWrittenStatus {
  std::size_t condition = 0;
  std::size_t nomination = 0;  // nominatedNodeName
  // Whether it was written again since the last attempt, after an older write had overwritten it.
  bool was_repeated = false;
  // A pod of higher priority took the nomination away, and the pod's object does not show that yet.
  bool has_lost_nomination = false;
};

// A pod as Pop returns it. After a failed attempt it is passed to AddUnschedulable.
struct QueuedPodInfo {
  framework::PodInfoPtr pod;
  Time timestamp{};                               // when it was added or last failed
  std::int32_t attempts = 0;                      // number of Pops
  std::int32_t unschedulable_count = 0;           // attempts that a plugin refused
  std::int32_t consecutive_errors_count = 0;      // attempts that ended with an error since the last refusal
  std::optional<Time> initial_attempt_timestamp;  // when it first entered activeQ
  // The rejectors of a pod that the flush of unschedulable pods moved. Null: an event or a back-off moved it.
  RejectorSet* flushed_from = nullptr;
  bool is_pod_group = false;  // the pod stands for a group: TakePoppedGroup() returns the members
  LastWrittenStatus last_written;
  // For metrics: stopwatch time of the last Pop, and whether single plugins are timed in this attempt.
  Time attempt_began{};
  bool is_sampled = false;
  // Identifies the queue's record of a pod in flight.
  const void* record = nullptr;
  std::uint64_t record_sequence = 0;
};

// A root group that Pop returned.
struct QueuedPodGroup {
  framework::PodGroupKey root;
  QueuedPodInfo own;                   // the group's timestamps and counters; its pod stands for the group
  std::vector<QueuedPodInfo> members;  // in the order in which they are tried; members of one PodGroup are adjacent
};

// The outcome of a group's cycle.
enum class PodGroupEnd : std::uint8_t {
  kScheduled,
  kRefused,
  kRefusedForNow,  // backs off as after a first refusal
  kError
};

// The objects of an event, kept alive while a pod in flight may need them. Those that do not apply are null.
struct EventSource {
  framework::PodInfoPtr old_pod;
  framework::PodInfoPtr new_pod;
  std::shared_ptr<const api::Node> old_node;
  std::shared_ptr<const api::Node> new_node;
  std::optional<framework::AnyObject> old_object;  // of kinds other than Pod and Node
  std::optional<framework::AnyObject> new_object;
  std::string outside_plugin{};                        // the plugin whose outside data changed
  std::vector<framework::PodInfoPtr> old_node_pods{};  // the pods on a deleted node

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

// Restricts a move to some of the waiting pods.
struct MoveLimit {
  std::optional<std::int32_t> priority_max;  // only pods of at most this priority
  std::string_view excluded_uid;             // all pods except this one
};

enum class Place : std::uint8_t { kActive, kBackoff, kErrorBackoff, kUnschedulable, kGated, kInFlight };

// A pod's state in the queue, as dumps and explanations show it.
struct PodStanding {
  framework::PodInfoPtr pod;
  Place place = Place::kActive;
  Time timestamp{};
  std::optional<Time> backoff_expiration;          // in kBackoff and kErrorBackoff
  std::vector<std::string> unschedulable_plugins;  // sorted; includes the gating plugin
  std::vector<std::string> pending_plugins;        // sorted
  std::string gating_plugin;                       // in kGated
  std::string gating_message;                      // in kGated: the gating plugin's message
  bool lacks_pod_group = false;                    // in kGated: its PodGroup, or a group above it, does not exist
};

class SchedulingQueue {
 public:
  using Options = QueueOptions;

  // Limit on events kept for pods in flight. When it is reached, all are dropped, and every pod that was in flight is
  // tried again after its back-off if its attempt fails.
  static constexpr std::size_t kInFlightEventsMax = 16384;

  // `profiles` is keyed by schedulerName. `sort` and the plugins must outlive the queue.
  SchedulingQueue(Options options, const framework::QueueSortPlugin& sort,
                  absl::flat_hash_map<std::string, ProfileHooks> profiles);
  ~SchedulingQueue();
  SchedulingQueue(const SchedulingQueue&) = delete;
  SchedulingQueue& operator=(const SchedulingQueue&) = delete;

  // Starts counting and timing, which has no other effect. Must be called before the first pod is added; both arguments
  // must outlive the queue.
  void SetMetrics(instruments::SchedulerMetrics& metrics, instruments::Stopwatch& stopwatch);

  // From now on pods that name a PodGroup are scheduled as groups. Must be called before the first pod is added;
  // `groups` must outlive the queue.
  void SetPodGroups(const framework::PodGroups& groups);

  // Adds a pending pod to activeQ, unless a PreEnqueue plugin gates it. A queued pod of the same name with another uid
  // is dropped. A pod that is here already is updated.
  void Add(framework::PodInfoPtr pod, Time now);

  // Replaces a pending pod's object. `old_pod` may be null. A pod that is not here is added.
  void Update(const framework::PodInfoPtr& old_pod, framework::PodInfoPtr new_pod, Time now);

  // The pod is gone, has a node, or belongs to another scheduler now. A pod in flight stays so until Done or
  // AddUnschedulable. If the pod was the reason why its group is gated, the group's gate is checked again.
  void Delete(std::string_view uid, Time now);

  // Returns the next pod to schedule: the head of activeQ or, if that is empty, the head of the back-off heap of
  // refused pods, even if its back-off is not over. The pod is in flight until Done or AddUnschedulable.
  std::optional<QueuedPodInfo> Pop(Time now);

  // Returns the group that Pop has just returned (QueuedPodInfo::is_pod_group), with its members, each of which is in
  // flight until Done or AddUnschedulable. To be called once for each such Pop. EndGroup must follow before the next
  // Pop.
  QueuedPodGroup TakePoppedGroup();
  // Ends the group's cycle. Members that came back during the cycle form the group that waits again; if there are none,
  // it leaves the queue.
  void EndGroup(PodGroupEnd end, Time now);

  // Groups in back-off after a refusal, not an error: they are tried again though nothing may have changed.
  std::size_t refused_group_count() const;
  // The object of a group was added: pods that waited for it join their groups. Call Move() afterwards.
  void PodGroupAdded(const framework::PodGroupKey& group, Time now);
  // The object of a group was deleted; `old_root` was its root.
  void PodGroupGone(const framework::PodGroupKey& old_root, Time now);

  // Puts back a pod whose attempt failed. `info` is what Pop returned, with the pod's newest object in `info.pod`; the
  // pod must exist and have no node. If both sets are empty, the attempt met an error, which has a back-off of its own.
  // The attempt may also have failed after Done. Ends the in-flight state. Returns false, and does not take the pod,
  // when it or a newer pod of its name is in the queue already.
  bool AddUnschedulable(QueuedPodInfo info, const std::set<std::string>& unschedulable_plugins,
                        const std::set<std::string>& pending_plugins, Time now);

  // Ends the in-flight state: no more events are recorded for this pod. May be called repeatedly.
  void Done(std::string_view uid);
  // The same, with a lookup that is faster than by uid.
  void Done(const QueuedPodInfo& popped);

  // An event happened: waiting pods that it may help move to activeQ or, while their back-off lasts, to the back-off
  // heap. It costs almost nothing if no plugin that refused a waiting pod has registered for the event. If hints depend
  // on the class only, it costs one hint for each class that is not helped. The event is recorded for all pods in
  // flight, regardless of `limit`.
  void Move(const framework::ClusterEvent& event, const EventSource& source, Time now, const MoveLimit& limit = {});

  // Moves these pods to activeQ, unless PreEnqueue refuses; pods in flight are tried again if they fail.
  void Activate(std::span<const std::string> uids, Time now);

  // For a bound pod that the flush of unschedulable pods had moved: a text for the log with the plugins that had
  // refused it and the events that they registered for. Empty if the same text was returned within the last minute.
  std::string DescribeRescue(const QueuedPodInfo& bound, Time now);

  // Ends back-offs (in windows of one second), and flushes pods that have been unschedulable for too long (every 30
  // seconds).
  void Tick(Time now);

  // When Tick has something to do next, if nothing else happens; nullopt: only after another call.
  std::optional<Time> NextWake() const;

  // The pod in any place except in flight; null: it is not here. Valid until the next change.
  const framework::PodInfoPtr* FindWaiting(std::string_view uid) const;
  // What was last written about a waiting pod, for the caller to update; null: the pod is not here.
  LastWrittenStatus* FindLastWritten(std::string_view uid);
  bool Contains(std::string_view uid) const { return FindWaiting(uid) != nullptr; }
  bool IsInFlight(std::string_view uid) const;
  std::optional<PodStanding> Find(std::string_view uid) const;
  // A pod in flight is found only if no pod of that name waits. Scans all pods if none waits.
  std::optional<PodStanding> FindNamed(std::string_view namespace_name, std::string_view name) const;
  // All pods, including those in flight, sorted by namespace and name; or a range of them.
  std::vector<PodStanding> Dump(const PodRange& range = {}) const;

  // Numbers of pods and groups by place. Scans the waiting groups.
  instruments::QueueSizes sizes() const;
  std::size_t waiting_group_count() const;
  std::size_t active_count() const;   // a group counts as one
  std::size_t backoff_count() const;  // both heaps
  std::size_t unschedulable_count() const;
  std::size_t gated_count() const;
  std::size_t in_flight_count() const;
  std::size_t in_flight_event_count() const;
  // Whether Pop would return a pod.
  bool HasReadyPod() const;

  // Updated by Add, Update and Delete. The scheduler adds nominations of preemption and removes assumed pods.
  Nominator& nominator();
  const Nominator& nominator() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::queue
