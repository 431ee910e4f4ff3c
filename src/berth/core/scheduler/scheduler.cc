// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/scheduler.h"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <map>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "berth/core/scheduler/background_operations.h"
#include "berth/core/scheduler/binding_cycles.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/idle_sweep.h"
#include "berth/core/scheduler/input_intake.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/core/scheduler/pod_group_conditions.h"
#include "berth/core/scheduler/pod_group_cycle.h"
#include "berth/core/scheduler/scheduling_cycle.h"

namespace berth::scheduler {

namespace {

// Connects the handle to the core for the lifetime of this object.
struct JoinedHandle {
  JoinedHandle(CoreHandle& joined, const CoreHandle::Core& core) : handle(joined) { handle.Join(core); }
  ~JoinedHandle() { handle.Leave(); }
  JoinedHandle(const JoinedHandle&) = delete;
  JoinedHandle& operator=(const JoinedHandle&) = delete;

  CoreHandle& handle;
};

constexpr Duration kSizesNotedEvery = std::chrono::seconds(1);
// With more waiting groups than this, metrics of sizes are updated at intervals only.
constexpr std::size_t kGroupsCountedAtOnce = 100;

}  // namespace

// Members are in order of construction: the intake asks plugins for their sources, and these may use the handle.
struct Scheduler::Parts {
  Parts(SchedulerOptions&& options, CoreHandle& core_handle, ProfileSet::Owned&& profiles)
      : state(std::move(options), core_handle.release(), core_handle.mutable_objects(), std::move(profiles)),
        joined(core_handle, {state, background, bindings}) {
    if (state.pod_groups != nullptr) scheduling.SetPodGroupCycle(group_cycle);
  }

  // Updates the gauges that are not written as things happen; at intervals while many pods are decided.
  void ObserveSizes() {
    const bool is_busy = state.queue.active_count() > 0 || state.queue.waiting_group_count() > kGroupsCountedAtOnce;
    if (is_busy && state.now - sizes_noted < kSizesNotedEvery) return;
    sizes_noted = state.now;
    const auto set = [](GaugeCell& gauge, std::size_t size) { gauge.Set(static_cast<double>(size)); };
    instruments::SizeCells& sizes = state.metrics.sizes;
    sizes.SetQueued(state.queue.sizes());
    set(sizes.in_flight, state.queue.in_flight_count());
    set(sizes.nodes, state.cache.nodes().node_count());
    set(sizes.pods, state.cache.pod_count());
    set(sizes.assumed_pods, state.cache.assumed_count());
    set(sizes.binding, bindings.size());
    set(sizes.prioritizing, scheduling.prioritizing_count());
    for (const auto& [name, profile] : state.profiles.by_name()) profile->evaluator.FlushMetrics();
  }

  CoreState state;
  BackgroundOperations background{state.outputs, state.operations};
  BindingCycles bindings{state, background};
  IdleSweep idle_sweep{state};
  SchedulingCycle scheduling{state, bindings, idle_sweep};
  PodGroupConditions group_conditions{state, background};
  PodGroupCycle group_cycle{state, bindings, group_conditions};
  JoinedHandle joined;
  InputIntake intake{state, scheduling, bindings, background, idle_sweep};
  Time sizes_noted{};
};

Scheduler::Scheduler(SchedulerOptions options, CoreHandle& handle,
                     std::vector<std::unique_ptr<runtime::ProfilePlugins>> profiles)
    : parts_(std::make_unique<Parts>(std::move(options), handle, std::move(profiles))) {}

Scheduler::~Scheduler() = default;

void Scheduler::StartOver(std::uint64_t seed) {
  parts_->scheduling.StartOver(seed);
  // What plugins keep stays: it follows the node table and the classes, whatever was asked.
  for (const auto& [name, profile] : parts_->state.profiles.by_name()) profile->RenewEvaluator();
}

void Scheduler::SetWallAhead(Duration ahead) { parts_->state.wall_ahead = ahead; }

void Scheduler::Handle(Input input, Time now) {
  parts_->state.SetNow(now);
  parts_->intake.Take(std::move(input));
}

bool Scheduler::ScheduleOne(Time now) {
  parts_->state.SetNow(now);
  return parts_->scheduling.ScheduleOne();
}

void Scheduler::Tick(Time now) {
  parts_->state.SetNow(now);
  parts_->state.queue.Tick(now);
  parts_->idle_sweep.Tick();
  parts_->joined.handle.StartEarly();
  parts_->intake.TakeTime();
  parts_->bindings.Tick();
}

std::optional<Time> Scheduler::NextWake() const {
  std::optional<Time> wake;
  for (const std::optional<Time> next :
       {parts_->state.queue.NextWake(), parts_->bindings.NextWake(), parts_->state.operations.NextWake(),
        parts_->idle_sweep.NextWake(), parts_->intake.NextWake()}) {
    if (next && (!wake || *next < *wake)) wake = next;
  }
  return wake;
}

void Scheduler::TakeOutputs(std::vector<Output>& outputs) {
  parts_->ObserveSizes();
  parts_->state.outputs.TakeInto(outputs);
  if (parts_->state.bookings != nullptr) parts_->intake.TakeOwnWrites(outputs);
}

bool Scheduler::IsWaitingForExtenders() const { return parts_->scheduling.waiting_pod() != nullptr; }

void Scheduler::CancelExtenderCycle(std::string_view why) { parts_->scheduling.CancelWaiting(why); }

std::unique_ptr<Overlay> Scheduler::MakeOverlay(Time now) {
  parts_->state.SetNow(now);
  return std::make_unique<Overlay>(parts_->state);
}

std::vector<framework::ObjectKind> Scheduler::ObjectsRead() const { return parts_->state.profiles.ObjectsRead(); }

const std::vector<OutsideRequest>& Scheduler::outside_sources() const { return parts_->intake.outside().requests(); }

bool Scheduler::HasHeardOutside() const { return parts_->intake.outside().HaveAllAnswered(); }

// Refused pods back off in a heap from which Pop takes them as soon as activeQ is empty. Pods that met an error back
// off in a separate place, as refused groups do. A nominated pod waits for its victims to go.
bool Scheduler::IsIdle() const {
  const queue::SchedulingQueue& queue = parts_->state.queue;
  return !IsWaitingForExtenders() && parts_->bindings.empty() && parts_->background.empty() &&
         queue.active_count() == 0 && queue.backoff_count() == queue.refused_group_count() && queue.nominator().empty();
}

std::vector<UnboundPod> Scheduler::Unbound(const queue::PodRange& range) const {
  using Name = std::pair<std::string, std::string>;
  const framework::PodInfo* const waiting = parts_->scheduling.waiting_pod();
  const absl::flat_hash_map<std::string_view, std::string_view> decided = parts_->state.decisions.Messages();
  std::map<Name, std::string> found;
  for (const queue::PodStanding& standing : parts_->state.queue.Dump(range)) {
    std::string& why = found[{standing.pod->namespace_name(), standing.pod->name}];
    const auto message = decided.find(standing.pod->uid);
    if (standing.place == queue::Place::kGated) {
      why = standing.gating_plugin + ": " + standing.gating_message;
    } else if (waiting != nullptr && waiting->uid == standing.pod->uid) {
      why = "extenders are being asked";
    } else if (message != decided.end() && !message->second.empty()) {
      why = message->second;
    } else if (standing.pod->scheduled_condition && !standing.pod->scheduled_condition->message.empty()) {
      why = standing.pod->scheduled_condition->message;
    } else {
      why = "has not been tried";
    }
  }
  for (const framework::PodInfoPtr& pod : parts_->bindings.AssumedPods()) {
    Name name(pod->namespace_name(), pod->name);
    if (name > Name(range.after_namespace, range.after_name))
      found[std::move(name)] = "is still being bound to " + pod->node_name;
  }
  std::vector<UnboundPod> unbound;
  for (auto& [name, why] : found) {
    if (unbound.size() == range.count_max) break;
    unbound.push_back({name.first + "/" + name.second, std::move(why)});
  }
  return unbound;
}

std::vector<PermitWaiter> Scheduler::AtPermit(std::size_t count_max) const {
  std::vector<PermitWaiter> waiters;
  for (const BindingCycle* const cycle : parts_->bindings.AtPermit(count_max)) {
    PermitWaiter& waiter = waiters.emplace_back();
    waiter.uid = cycle->assumed->uid;
    waiter.node_name = cycle->assumed->node_name;
    for (const PermitWait& wait : cycle->permits) waiter.plugins.push_back(wait.plugin);
  }
  return waiters;
}

std::size_t Scheduler::binding_count() const { return parts_->bindings.size(); }
std::size_t Scheduler::busy_binding_count() const { return parts_->bindings.busy_count(); }
Counts Scheduler::counts() const {
  Counts counts = parts_->state.counts;
  counts.in_doubt = parts_->bindings.in_doubt_count();
  return counts;
}
const cache::Cache& Scheduler::cache() const { return parts_->state.cache; }
const queue::SchedulingQueue& Scheduler::queue() const { return parts_->state.queue; }
const DecisionLog& Scheduler::decisions() const { return parts_->state.decisions; }
const cache::PodClasses& Scheduler::pod_classes() const { return parts_->state.classes; }

}  // namespace berth::scheduler
