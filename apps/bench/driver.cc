// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "berth/core/cache/cache.h"

namespace berth::bench {
namespace {

// On the driver's clock: the duration of one cycle or one pod's arrival; and how long there may be no progress.
constexpr Duration kTick{10};
constexpr Time kLongAgo{std::chrono::seconds(1'700'000'000)};
// Longer than the interval after which the core drops unused data.
constexpr Duration kIdle = std::chrono::minutes(6);
constexpr Duration kPatience = std::chrono::minutes(15);

}  // namespace

Driver::Driver(scheduler::Scheduler& core, const Workload& workload, Observer* observer)
    : core_(core),
      workload_(workload),
      observer_(observer),
      sources_{PodSource(Group::kExisting, workload.existing, workload.scheduler_name),
               PodSource(Group::kMeasured, workload.measured, workload.scheduler_name),
               PodSource(Group::kSide, workload.side, workload.scheduler_name)} {
  placements_.nodes = workload.shape.nodes;
  placements_.zones = workload.shape.zones;
}

int& Driver::NodeOf(Group group, int i) {
  std::vector<int>& of = placements_.of[static_cast<int>(group)];
  const auto at = static_cast<std::size_t>(i);
  if (at >= of.size()) of.resize(at + 1, kNowhere);
  return of[at];
}

const std::shared_ptr<api::Pod>& Driver::AssignedPod(Group group, int i, int node) {
  const auto& pod = Source(group).Make(i);
  pod->spec.node_name = NodeName(node);
  if (group == Group::kExisting) pod->status.start_time = kLongAgo + kTick * i;
  return pod;
}

void Driver::SetNode(int i) { core_.Handle(scheduler::NodeSet{MakeNode(workload_, i)}, now_); }
void Driver::RemoveNode(int i) { core_.Handle(scheduler::NodeGone{NodeName(i)}, now_); }

void Driver::AddPod(Group group, int i) {
  NodeOf(group, i) = kNowhere;
  core_.Handle(scheduler::PodSet{Source(group).Make(i)}, now_);
}

void Driver::RemovePod(Group group, int i) {
  NodeOf(group, i) = kNowhere;
  statuses_.erase(StatusKey(static_cast<int>(group), i));
  const api::ObjectMeta& meta = Source(group).Make(i)->metadata;
  core_.Handle(scheduler::PodGone{meta.namespace_name, meta.name, meta.uid}, now_);
}

void Driver::SetObject(framework::AnyObject object) {
  if (observer_ != nullptr) observer_->ObjectChanged(object);
  core_.Handle(scheduler::ObjectSet{std::move(object)}, now_);
}

void Driver::RemoveObject(framework::ObjectKind kind, const std::string& key) {
  if (observer_ != nullptr) observer_->ObjectRemoved(kind, key);
  core_.Handle(scheduler::ObjectGone{kind, key}, now_);
}

void Driver::Prepare() {
  const Shape& shape = workload_.shape;
  for (const framework::AnyObject& object : workload_.objects) SetObject(object);
  for (int i = 0; i < shape.nodes; ++i) SetNode(i);
  for (int i = 0; i < shape.existing; ++i) {
    const int node = workload_.home ? workload_.home(i) : i % shape.nodes;
    NodeOf(Group::kExisting, i) = node;
    core_.Handle(scheduler::PodSet{AssignedPod(Group::kExisting, i, node)}, now_);
  }
  for (int i = 0; i < workload_.side_count; ++i) AddPod(Group::kSide, i);
  // The existing pending pods are tried before the measured pods arrive.
  while (core_.ScheduleOne(now_)) Settle();
  Settle();
  // In a real cluster this would have come from the watch before the run.
  result_ = {};
}

RunResult Driver::Run(const Meter& meter) {
  const int pods = workload_.shape.pods;
  result_.cycles_us.reserve(static_cast<std::size_t>(pods) + static_cast<std::size_t>(pods) / 4);
  NodeOf(Group::kMeasured, pods - 1) = kNowhere;
  statuses_.reserve(static_cast<std::size_t>(workload_.side_count));
  last_progress_ = now_;
  result_.before = meter.Read();
  for (int i = 0; i < pods; ++i) {
    AddPod(Group::kMeasured, i);
    now_ += Duration{1};
  }
  while (result_.bound < static_cast<std::uint64_t>(pods) && result_.failure.empty()) {
    if (observer_ != nullptr) observer_->BeforeCycle(core_, now_);
    const double start = NowMicroseconds();
    const bool has_run = core_.ScheduleOne(now_);
    const double end = NowMicroseconds();
    if (!has_run) {
      if (!LetTimePass()) break;
      continue;
    }
    result_.cycles_us.push_back(static_cast<float>(end - start));
    if (observer_ != nullptr) observer_->AfterCycle(core_);
    now_ += kTick;
    Settle();
    StepIfDue();
  }
  Settle();
  result_.after = meter.Read();
  result_.unconfirmed = core_.cache().assumed_count() + core_.binding_count();
  std::sort(result_.cycles_us.begin(), result_.cycles_us.end());
  return std::move(result_);
}

void Driver::Clear() {
  for (int i = 0; i < workload_.shape.pods; ++i) RemovePod(Group::kMeasured, i);
  Settle();
  // Data about the removed pods is kept for a while.
  for (int i = 0; i < 3; ++i) {
    now_ += kIdle;
    core_.Tick(now_);
    Settle();
  }
}

void Driver::StepIfDue() {
  if (workload_.step_cycles == 0 || ++cycles_ % workload_.step_cycles != 0) return;
  workload_.step(*this, steps_++);
  Settle();
}

// Advances the clock to the core's next timer. Returns false when there is none, or nothing comes of it.
bool Driver::LetTimePass() {
  const std::optional<Time> wake = core_.NextWake();
  if (!wake || *wake - last_progress_ > kPatience) return false;
  now_ = std::max(now_ + Duration{1}, *wake);
  core_.Tick(now_);
  Settle();
  return true;
}

// Outputs may cause further outputs: the Scheduled event follows the binding's success.
void Driver::Settle() {
  for (;;) {
    core_.TakeOutputs(outputs_);
    if (traces_ != nullptr && traces_->HasNews()) {
      spans_.clear();
      operations_.clear();
      traces_->TakeInto(spans_, operations_);
    }
    if (outputs_.empty()) {
      const std::optional<Time> wake = core_.NextWake();
      if (!wake || *wake > now_) return;
      core_.Tick(now_);
      continue;
    }
    for (scheduler::Output& output : outputs_) {
      if (auto* write = std::get_if<scheduler::Write>(&output)) {
        Answer(*write);
      } else if (auto* work = std::get_if<scheduler::Work>(&output)) {
        core_.Handle(scheduler::WorkDone{work->operation, work->work()}, now_);
      } else {
        result_.events += std::get<scheduler::EmitEvent>(output).reason == "Scheduled" ? 1 : 0;
      }
    }
  }
}

void Driver::Answer(scheduler::Write& write) {
  if (const auto* bind = std::get_if<framework::BindWrite>(&write.write)) {
    core_.Handle(scheduler::WriteDone{write.operation, {}}, now_);
    Bound(*bind);
  } else if (const auto* status = std::get_if<framework::PodStatusWrite>(&write.write)) {
    StatusWritten(*status);
  } else if (const auto* patch = std::get_if<framework::ObjectPatch>(&write.write);
             patch != nullptr && (patch->object.resource == "pods" || patch->object.resource == "podgroups")) {
    core_.Handle(scheduler::WriteDone{write.operation, {}}, now_);
    if (patch->object.resource == "pods") ApplyVictimPatch(*patch);
  } else if (const auto* deletion = std::get_if<framework::ObjectDelete>(&write.write);
             deletion != nullptr && deletion->object.resource == "pods") {
    core_.Handle(scheduler::WriteDone{write.operation, {}}, now_);
    ++result_.victims;
    RemovePod(PodSource::GroupOf(deletion->object.name), NumberIn(deletion->object.name));
  } else {
    result_.failure = "a write that no workload causes";
  }
}

void Driver::Bound(const framework::BindWrite& bind) {
  const Group group = PodSource::GroupOf(bind.pod.name);
  const int i = NumberIn(bind.pod.name);
  if (!statuses_.empty()) statuses_.erase(StatusKey(static_cast<int>(group), i));
  core_.Handle(scheduler::PodSet{AssignedPod(group, i, NumberIn(bind.node_name))}, now_);
  int& node = NodeOf(group, i);
  if (node != kNowhere) result_.failure = bind.pod.name + " was bound twice";
  node = NumberIn(bind.node_name);
  if (group == Group::kMeasured) ++result_.bound;
  last_progress_ = now_;
}

void Driver::StatusWritten(const framework::PodStatusWrite& write) {
  const Group group = PodSource::GroupOf(write.pod.name);
  const int i = NumberIn(write.pod.name);
  PendingStatus& status = statuses_[StatusKey(static_cast<int>(group), i)];
  if (write.has_condition) {
    status.condition = api::PodCondition{write.condition_type, write.condition_status, write.condition_reason,
                                         write.condition_message};
  }
  if (write.has_nomination) status.nominated_node_name = write.nominated_node_name;
  const auto& pod = Source(group).Make(i);
  if (status.condition) pod->status.conditions.push_back(*status.condition);
  pod->status.nominated_node_name = status.nominated_node_name;
  core_.Handle(scheduler::PodSet{pod}, now_);
}

void Driver::ApplyVictimPatch(const framework::ObjectPatch& patch) {
  const Group group = PodSource::GroupOf(patch.object.name);
  const int i = NumberIn(patch.object.name);
  const int node = NodeOf(group, i);
  if (node == kNowhere) return;
  const auto& pod = AssignedPod(group, i, node);
  pod->status.conditions.push_back({"DisruptionTarget", "True", "PreemptionByScheduler", ""});
  core_.Handle(scheduler::PodSet{pod}, now_);
}

}  // namespace berth::bench
