// SPDX-License-Identifier: Apache-2.0
// The queue against a plain twin: a list of pods on which every rule is a scan. Both get the same seeded random calls
// and must agree on every pod's place after each call.
#include <algorithm>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/queue/backoff.h"
#include "berth/core/queue/queue_testing.h"
#include "berth/core/queue/update_events.h"
#include "berth/framework/fast_path.h"

namespace berth::queue {
namespace {

using framework::ClusterEvent;
using framework::EventObjects;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::QueueingHint;
using Set = std::set<std::string>;

// Agrees for some pods and some nodes.
QueueingHint Moody(const PodInfo& pod, const EventObjects& event) {
  const auto node = event.new_node == nullptr ? 0U : event.new_node->metadata.name.size();
  return (pod.name.size() + pod.name.back() + node) % 2 == 0 ? QueueingHint::kQueue : QueueingHint::kSkip;
}

// Agrees for some classes and some nodes, and always for the pod that the event is about.
QueueingHint MoodyOfClass(const PodInfo& pod, const EventObjects& event) {
  if (event.new_pod != nullptr && event.new_pod->uid == pod.uid) return QueueingHint::kQueue;
  const auto node = event.new_node == nullptr ? 0U : event.new_node->metadata.name.size();
  return (pod.labels().size() + pod.spec().tolerations.size() + node) % 2 == 0 ? QueueingHint::kQueue
                                                                               : QueueingHint::kSkip;
}

ProfileHooks MakeHooks(const Gate& a, const Gate& b) {
  ProfileHooks hooks;
  hooks.pre_enqueue = {&a, &b};
  hooks.events = {{"Fit", {events::kPodDelete, nullptr}},
                  {"Fit", {events::kNodeAdd, Moody}},
                  {"Affinity", {events::kNodeLabel, nullptr}},
                  {"Slow", {events::kNodeAdd, Moody}},
                  {"Slow", {events::kPodToleration, nullptr}},
                  {"Any", {events::kWildcard, Moody}},
                  {"GateA", {events::kGatesGone, nullptr}},
                  {"GateB", {events::kNodeLabel, Moody}},
                  {"Fit", {events::kAssignedPodAdd, MoodyOfClass, true}},
                  {"Affinity", {events::kNodeTaint, MoodyOfClass, true}},
                  {"Slow", {events::kNodeTaint, MoodyOfClass, true}}};
  return hooks;
}

struct TwinPod {
  QueuedPodInfo info;
  Place place = Place::kActive;
  Set unschedulable, pending;
  std::string gating;
  Time expiration{};
  Time flushed{};
  bool was_flushed = false;
  std::uint64_t arrival = 0;
  std::vector<std::pair<ClusterEvent, EventSource>> seen;  // in flight: the events since it was popped
};

class Twin {
 public:
  Twin(const framework::QueueSortPlugin& sort, std::map<std::string, ProfileHooks> profiles, bool wildcards_reach_gates)
      : sort_(sort), profiles_(std::move(profiles)), wildcards_reach_gates_(wildcards_reach_gates) {}

  void Add(const PodInfoPtr& pod, Time now) {
    if (pods.contains(pod->uid)) return Update(nullptr, pod, now);
    for (auto& [uid, other] : pods) {
      if (other.info.pod->name == pod->name && other.place != Place::kInFlight) {
        pods.erase(uid);
        break;
      }
    }
    TwinPod& added = pods[pod->uid];
    added.info.pod = pod;
    added.info.timestamp = now;
    added.arrival = ++arrivals_;
    ToActive(added, now, false);
  }

  void Update(const PodInfoPtr& old_pod, const PodInfoPtr& pod, Time now) {
    if (!pods.contains(pod->uid)) return Add(pod, now);
    TwinPod& p = pods[pod->uid];
    const PodInfoPtr before = old_pod ? old_pod : p.info.pod;
    const EventSource source{.old_pod = before, .new_pod = pod};
    if (p.place == Place::kInFlight) {
      for (const ClusterEvent& event : PodUpdateEvents(*before, *pod)) Record(event, source);
      return;
    }
    p.info.pod = pod;
    if (p.place != Place::kUnschedulable && p.place != Place::kGated) return;
    for (const ClusterEvent& event : PodUpdateEvents(*before, *pod)) {
      const int worth = Worth(p, event, source);
      if (worth == 0) continue;
      Requeue(p, worth, now);
      if (p.place != Place::kUnschedulable && p.place != Place::kGated) return;
    }
  }

  void Delete(const std::string& uid) {
    if (pods.contains(uid) && pods[uid].place != Place::kInFlight) pods.erase(uid);
  }

  std::string Pop(Time now) {
    FlushBackoff(now);
    for (const Place place : {Place::kActive, Place::kBackoff}) {
      TwinPod* best = nullptr;
      for (auto& [uid, p] : pods) {
        if (p.place == place && (best == nullptr || Before(p, *best))) best = &p;
      }
      if (best == nullptr) continue;
      best->place = Place::kInFlight;
      best->seen.clear();
      best->unschedulable.clear();
      best->pending.clear();
      ++best->info.attempts;
      return best->info.pod->uid;
    }
    return "";
  }

  bool AddUnschedulable(QueuedPodInfo info, const Set& unschedulable, const Set& pending, Time now) {
    const std::string uid = info.pod->uid;
    const bool is_known = pods.contains(uid);
    if (is_known && pods[uid].place != Place::kInFlight) return false;
    for (const auto& [other_uid, other] : pods) {
      if (other_uid == uid || other.info.pod->name != info.pod->name || other.place == Place::kInFlight) continue;
      pods.erase(uid);
      return false;
    }
    TwinPod& p = pods[uid];
    const auto seen = std::move(p.seen);
    if (unschedulable.empty() && pending.empty()) {
      ++info.consecutive_errors_count;
    } else {
      ++info.unschedulable_count;
      info.consecutive_errors_count = 0;
    }
    info.timestamp = now;
    p = TwinPod{.info = info, .place = Place::kUnschedulable, .unschedulable = unschedulable, .pending = pending};
    p.arrival = ++arrivals_;
    int worth = 1;
    if (is_known && !(unschedulable.empty() && pending.empty())) {
      worth = 0;
      for (const auto& [event, source] : seen) worth = std::max(worth, Worth(p, event, source));
    }
    if (worth != 0) Requeue(p, worth, now);
    return true;
  }

  void Done(const std::string& uid) {
    if (pods.contains(uid) && pods[uid].place == Place::kInFlight) pods.erase(uid);
  }

  void Move(const ClusterEvent& event, const EventSource& source, Time now, const MoveLimit& limit) {
    if (!IsOfInterest(event)) return;
    for (auto& [uid, p] : pods) {
      if (p.place != Place::kUnschedulable && p.place != Place::kGated) continue;
      if (limit.priority_max && p.info.pod->priority() > *limit.priority_max) continue;
      if (uid == limit.excluded_uid) continue;
      if (p.place == Place::kGated && !GateWants(p.gating, event)) continue;
      if (const int worth = Worth(p, event, source); worth != 0) Requeue(p, worth, now);
    }
    Record(event, source);
  }

  void Activate(const std::string& uid, Time now) {
    if (!pods.contains(uid)) return;
    TwinPod& p = pods[uid];
    if (p.place == Place::kActive) return;
    if (p.place == Place::kInFlight) return Record(events::kWildcard, {.new_pod = p.info.pod});
    ToActive(p, now, p.place == Place::kBackoff || p.place == Place::kErrorBackoff);
  }

  void Tick(Time now) {
    FlushBackoff(now);
    const auto window = now.time_since_epoch() / 30s;
    if (window <= window_) return;
    window_ = window;
    bool has_moved = false;
    for (auto& [uid, p] : pods) {
      const bool waits =
          p.place == Place::kUnschedulable || (p.place == Place::kGated && GateWants(p.gating, ClusterEvent()));
      if (!waits || now - std::max(p.info.timestamp, p.flushed) <= 5min) continue;
      p.was_flushed = true;
      if (wildcards_reach_gates_) p.flushed = now;
      Requeue(p, 1, now);
      has_moved = true;
    }
    if (has_moved) Record(events::kWildcard, {});
  }

  std::map<std::string, TwinPod> pods;

 private:
  const ProfileHooks* HooksOf(const TwinPod& p) const {
    const auto hooks = profiles_.find(p.info.pod->spec().scheduler_name);
    return hooks == profiles_.end() ? nullptr : &hooks->second;
  }
  bool IsOfInterest(const ClusterEvent& event) const {
    if (event.IsWildcard()) return true;
    for (const auto& [name, hooks] : profiles_) {
      for (const auto& r : hooks.events) {
        if (ClusterEvent::Matches(r.event.event, event)) return true;
      }
    }
    return false;
  }
  bool GateWants(const std::string& gating, const ClusterEvent& event) const {
    if (wildcards_reach_gates_ && event.IsWildcard()) return true;
    for (const auto& [name, hooks] : profiles_) {
      for (const auto& r : hooks.events) {
        if (r.plugin == gating && ClusterEvent::Matches(r.event.event, event)) return true;
      }
    }
    return false;
  }
  // 0: stays. 1: after back-off. 2: immediately.
  int Worth(const TwinPod& p, const ClusterEvent& event, const EventSource& source) const {
    if (event.IsWildcard()) {
      if (source.new_node != nullptr) return 0;
      return source.new_pod == nullptr || source.new_pod->uid == p.info.pod->uid ? 1 : 0;
    }
    const ProfileHooks* hooks = HooksOf(p);
    if (hooks == nullptr) return 1;
    int worth = 0;
    for (const auto& r : hooks->events) {
      if (!ClusterEvent::Matches(r.event.event, event)) continue;
      if (!p.unschedulable.contains(r.plugin) && !p.pending.contains(r.plugin)) continue;
      if (r.event.hint && r.event.hint(*p.info.pod, source.View()) == QueueingHint::kSkip) continue;
      worth = std::max(worth, p.pending.contains(r.plugin) ? 2 : 1);
    }
    return worth;
  }
  void Record(const ClusterEvent& event, const EventSource& source) {
    for (auto& [uid, p] : pods) {
      if (p.place == Place::kInFlight) p.seen.emplace_back(event, source);
    }
  }
  bool IsOpen(TwinPod& p) {
    if (const ProfileHooks* hooks = HooksOf(p)) {
      auto plugins = hooks->pre_enqueue;
      std::ranges::partition(plugins, [&](const auto* plugin) { return plugin->Name() == p.gating; });
      for (const auto* plugin : plugins) {
        if (plugin->PreEnqueue(*p.info.pod).IsSuccess()) continue;
        p.gating = plugin->Name();
        p.unschedulable.insert(p.gating);
        p.place = Place::kGated;
        return false;
      }
    }
    p.gating.clear();
    return true;
  }
  void ToActive(TwinPod& p, Time now, bool is_from_backoff) {
    if (!is_from_backoff && !IsOpen(p)) return;
    p.place = Place::kActive;
    if (!p.info.initial_attempt_timestamp) p.info.initial_attempt_timestamp = now;
  }
  void Requeue(TwinPod& p, int worth, Time now) {
    const int count =
        p.info.consecutive_errors_count > 0 ? p.info.consecutive_errors_count : p.info.unschedulable_count;
    const Time expiration = Backoff{1s, 10s}.Expiration(p.info.timestamp, count);
    if (worth == 2 || Backoff::IsOver(expiration, now)) return ToActive(p, now, false);
    if (!IsOpen(p)) return;
    p.place = p.unschedulable.empty() && p.pending.empty() ? Place::kErrorBackoff : Place::kBackoff;
    p.expiration = expiration;
  }
  void FlushBackoff(Time now) {
    for (auto& [uid, p] : pods) {
      const bool is_backing_off = p.place == Place::kBackoff || p.place == Place::kErrorBackoff;
      if (is_backing_off && Backoff::IsOver(p.expiration, now)) ToActive(p, now, true);
    }
  }
  bool Before(const TwinPod& a, const TwinPod& b) const {
    if (a.place == Place::kBackoff && a.expiration != b.expiration) return a.expiration < b.expiration;
    const framework::QueuedPod qa{*a.info.pod, a.info.timestamp}, qb{*b.info.pod, b.info.timestamp};
    if (sort_.Less(qa, qb) || sort_.Less(qb, qa)) return sort_.Less(qa, qb);
    return a.arrival < b.arrival;
  }

  const framework::QueueSortPlugin& sort_;
  std::map<std::string, ProfileHooks> profiles_;
  const bool wildcards_reach_gates_;
  std::uint64_t arrivals_ = 0;
  std::int64_t window_ = 0;
};

std::string Describe(const PodStanding& s) {
  std::ostringstream out;
  out << s.pod->uid << " place=" << static_cast<int>(s.place) << " gate=" << s.gating_plugin << " rejectors=";
  for (const auto& name : s.unschedulable_plugins) out << name << ',';
  for (const auto& name : s.pending_plugins) out << '+' << name;
  out << " priority=" << s.pod->priority() << " t=" << s.timestamp.time_since_epoch().count();
  if (s.backoff_expiration) out << " until=" << s.backoff_expiration->time_since_epoch().count();
  return out.str();
}
std::string Describe(const TwinPod& p) {
  PodStanding s{.pod = p.info.pod, .place = p.place, .timestamp = p.info.timestamp};
  s.unschedulable_plugins.assign(p.unschedulable.begin(), p.unschedulable.end());
  s.pending_plugins.assign(p.pending.begin(), p.pending.end());
  if (p.place == Place::kGated) s.gating_plugin = p.gating;
  if (p.place == Place::kBackoff || p.place == Place::kErrorBackoff) s.backoff_expiration = p.expiration;
  return Describe(s);
}

std::string Describe(const SchedulingQueue& queue) {
  std::vector<std::string> lines;
  for (const PodStanding& s : queue.Dump()) {
    // A pod in flight is shown as it was popped; its timestamp is then the caller's.
    lines.push_back(Describe(s));
  }
  std::ranges::sort(lines);
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}
std::string Describe(const Twin& twin) {
  std::vector<std::string> lines;
  for (const auto& [uid, p] : twin.pods) lines.push_back(Describe(p));
  std::ranges::sort(lines);
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

// Pods of equal classes share one class object.
PodInfoPtr ShareClass(const PodInfoPtr& pod, std::vector<PodInfoPtr>& models) {
  const auto model = std::ranges::find_if(models, [&](const PodInfoPtr& other) {
    return other->spec() == pod->spec() && other->labels() == pod->labels();
  });
  if (model == models.end()) return models.emplace_back(pod);
  auto shared = std::make_shared<PodInfo>(*pod);
  shared->pod_class = (*model)->pod_class;
  return shared;
}

// The order of PrioritySort, declared by IsPriorityThenTime().
class ByKey final : public framework::FastQueueSort {
 public:
  std::string_view Name() const override { return "PrioritySort"; }
  bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const override { return plain_.Less(a, b); }
  bool IsPriorityThenTime() const override { return true; }

 private:
  PriorityThenTime plain_;
};

class QueueProperty : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(QueueProperty, AgreesWithItsTwin) {
  Random random(GetParam());
  const auto chance = [&](std::uint64_t percent) { return random.Below(100) < percent; };
  const PriorityThenTime asked;
  const ByKey by_key;
  const framework::QueueSortPlugin& sort = GetParam() % 2 == 0 ? static_cast<const framework::QueueSortPlugin&>(asked)
                                                               : static_cast<const framework::QueueSortPlugin&>(by_key);
  Gate gate_a("GateA"), gate_b("GateB");
  bool is_b_shut = false;
  gate_b.extra = [&](const PodInfo& pod) { return is_b_shut && pod.name.back() % 3 == 0; };
  const ProfileHooks hooks = MakeHooks(gate_a, gate_b);
  ProfileHooks other = hooks;
  other.events.resize(3);
  const bool wildcards_reach_gates = GetParam() % 4 < 2;
  SchedulingQueue queue({.wildcards_reach_gated_pods = wildcards_reach_gates}, sort,
                        {{"default-scheduler", hooks}, {"other", other}});
  Twin twin(sort, {{"default-scheduler", hooks}, {"other", other}}, wildcards_reach_gates);

  Time now = kStart + 123456us;
  std::vector<QueuedPodInfo> popped;  // some of them are done already
  std::map<std::string, PodInfoPtr> newest;
  std::vector<PodInfoPtr> models;
  const auto sketch = [&] {
    const std::string name = "p" + std::to_string(random.Below(24));
    PodSketch pod{.name = name, .priority = static_cast<std::int32_t>(random.Below(3))};
    pod.uid = name + (chance(10) ? "-again" : "");
    if (chance(20)) pod.scheduler_name = chance(80) ? "other" : "stranger";
    if (chance(15)) pod.gates = {chance(50) ? "GateA" : "GateB"};
    if (chance(20)) pod.labels = {{"x", std::to_string(random.Below(3))}};
    pod.tolerations = static_cast<int>(random.Below(2));
    // Fields that do not change during a pod's life.
    if (const auto known = newest.find(pod.uid); known != newest.end()) {
      pod.scheduler_name = known->second->spec().scheduler_name;
    }
    return ShareClass(MakePodInfo(pod), models);
  };
  const auto plugins = [&](std::uint64_t percent) {
    Set set;
    for (const char* name : {"Fit", "Affinity", "Slow", "Any", "Extender"}) {
      if (chance(percent)) set.insert(name);
    }
    return set;
  };
  const std::vector<ClusterEvent> all_events = {events::kNodeAdd,        events::kNodeLabel,         events::kNodeTaint,
                                                events::kAssignedPodAdd, events::kAssignedPodDelete, events::kWildcard};

  for (int step = 0; step < 700; ++step) {
    const std::uint64_t action = random.Below(100);
    if (action < 18) {
      const PodInfoPtr pod = sketch();
      newest[pod->uid] = pod;
      queue.Add(pod, now);
      twin.Add(pod, now);
    } else if (action < 36) {
      const auto mine = queue.Pop(now);
      ASSERT_EQ(mine ? mine->pod->uid : "", twin.Pop(now)) << "step " << step;
      if (mine) {
        ASSERT_EQ(mine->attempts, twin.pods[mine->pod->uid].info.attempts);
        ASSERT_EQ(mine->initial_attempt_timestamp, twin.pods[mine->pod->uid].info.initial_attempt_timestamp);
        ASSERT_EQ(mine->flushed_from != nullptr, twin.pods[mine->pod->uid].was_flushed);
        popped.push_back(*mine);
      }
    } else if (action < 56 && !popped.empty()) {
      const auto chosen = popped.begin() + static_cast<std::ptrdiff_t>(random.Below(popped.size()));
      QueuedPodInfo info = *chosen;
      popped.erase(chosen);
      if (chance(50)) info.pod = newest[info.pod->uid];
      const Set unschedulable = chance(20) ? Set{} : plugins(25);
      const Set pending = chance(25) ? Set{"Slow"} : Set{};
      ASSERT_EQ(queue.AddUnschedulable(info, unschedulable, pending, now),
                twin.AddUnschedulable(info, unschedulable, pending, now));
    } else if (action < 64 && !popped.empty()) {
      const std::size_t chosen = random.Below(popped.size());
      chance(50) ? queue.Done(popped[chosen]) : queue.Done(popped[chosen].pod->uid);
      twin.Done(popped[chosen].pod->uid);
      if (chance(60)) popped.erase(popped.begin() + static_cast<std::ptrdiff_t>(chosen));
    } else if (action < 74) {
      EventSource source;
      const ClusterEvent event = all_events[random.Below(all_events.size())];
      if (event.resource == framework::EventResource::kNode) source.new_node = MakeNode(chance(50) ? "n" : "nn");
      if (event.resource != framework::EventResource::kNode && chance(30)) source.new_pod = sketch();
      const MoveLimit limit{.priority_max = chance(30) ? std::optional<std::int32_t>(1) : std::nullopt,
                            .excluded_uid = chance(30) ? "p3" : ""};
      queue.Move(event, source, now, limit);
      twin.Move(event, source, now, limit);
    } else if (action < 82) {
      const PodInfoPtr pod = sketch();
      const PodInfoPtr before = newest.contains(pod->uid) && chance(50) ? newest[pod->uid] : nullptr;
      newest[pod->uid] = pod;
      queue.Update(before, pod, now);
      twin.Update(before, pod, now);
    } else if (action < 88) {
      const std::string uid = sketch()->uid;
      queue.Delete(uid, now);
      twin.Delete(uid);
    } else if (action < 90) {
      const std::string uid = sketch()->uid;
      queue.Activate(std::vector{uid}, now);
      twin.Activate(uid, now);
    } else if (action < 92) {
      is_b_shut = !is_b_shut;
    } else {
      now += chance(10)   ? Duration(6min)
             : chance(50) ? Duration(random.Below(3'000'000))
                          : Duration(random.Below(40'000'000));
      const std::string before = Describe(queue);
      const auto wake = queue.NextWake();
      queue.Tick(now);
      twin.Tick(now);
      if (Describe(queue) != before) {
        ASSERT_TRUE(wake && *wake <= now) << "step " << step;
      }
    }
    ASSERT_EQ(Describe(queue), Describe(twin)) << "step " << step << " action " << action;

    // The metrics count every pod once, in one place.
    std::size_t recorded = 0;
    for (const auto& [uid, p] : twin.pods)
      recorded = std::max(recorded, p.place == Place::kInFlight ? p.seen.size() : 0);
    ASSERT_EQ(queue.in_flight_event_count(), recorded);
    ASSERT_EQ(queue.active_count() + queue.backoff_count() + queue.unschedulable_count() + queue.gated_count() +
                  queue.in_flight_count(),
              twin.pods.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, QueueProperty, ::testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace berth::queue
