// The binding cycle: from the chosen node to a binding that has taken effect, or to the pod being back in the queue.
#include <algorithm>
#include <chrono>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/binding.h"
#include "berth/core/scheduler/scheduler.h"

namespace berth::scheduler {

using framework::Operation;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::PodRef;
using framework::Status;
using runtime::Guarded;
using runtime::GuardedCall;
using runtime::GuardedOperation;

namespace {

constexpr Duration kPermitTimeoutMax = std::chrono::minutes(15);
constexpr Duration kReadBackoffInitial = std::chrono::milliseconds(200);
constexpr Duration kReadBackoffMax = std::chrono::seconds(10);
// An API server that has just started forbids what it has not read the rules for yet: that often, over a few seconds, a
// binding that is forbidden is tried again before it counts as failed.
constexpr int kForbiddenReadsMax = 5;
constexpr std::size_t kFreeBindingsMax = 256;

PodRef RefOf(const PodInfo& pod) { return {pod.namespace_name(), pod.name, pod.uid, pod.resource_version}; }

framework::BindWrite PlainBinding(const PodInfo& assumed) { return {RefOf(assumed), assumed.node_name}; }

// Whether the write is the binding that can be told from the pod itself.
bool IsPlain(const framework::ApiWrite& write, const PodInfo& assumed) {
  const auto* bind = std::get_if<framework::BindWrite>(&write);
  return bind != nullptr && bind->node_name == assumed.node_name && bind->pod.uid == assumed.uid &&
         bind->pod.name == assumed.name && bind->pod.namespace_name == assumed.namespace_name() &&
         bind->pod.resource_version == assumed.resource_version;
}

// A refusal with the plugin's name, an error with the place where it happened.
Status NamedFailure(std::string_view point, std::string_view plugin, const Status& status) {
  return status.IsRejected() ? status.WithPlugin(plugin)
                             : Status::Error(RunningPlugin(point, plugin, status.Message()));
}

// Of a point whose failure changes nothing for the pod.
void LogFailure(std::string_view point, std::string_view plugin, const PodInfo& pod, const Status& failed) {
  log::Warning("scheduler", "A plugin fails",
               {{"point", point}, {"plugin", plugin}, {"pod", pod.Key()}, {"error", failed.Message()}});
}

// In kube-scheduler's words, which leave out "plugin" here. A refusal is none of what the point allows.
Status PreFlightFailure(std::string_view plugin, const Status& status) {
  std::string text(plugin);
  if (status.code() == framework::Code::kError) {
    text = "running PreBindPreFlight \"" + text + "\": " + status.Message();
  } else {
    text = "PreBindPreFlight " + text + " returned \"" + std::string(ToString(status.code())) +
           "\", which is unsupported. It is supposed to return Success, Skip, or Error status";
  }
  return Status::Error(std::move(text));
}

}  // namespace

void Scheduler::StartBinding(Profile& profile, queue::QueuedPodInfo&& queued, framework::NodeIndex row) {
  auto with_node = std::make_shared<PodInfo>(*queued.pod);
  with_node->node_name = cache_.nodes().Info(row).name();
  const PodInfoPtr assumed = std::move(with_node);
  cache_.AssumePod(assumed, row);
  if (!queue_->nominator().empty()) queue_->nominator().DeleteNominated(assumed->uid);

  const auto& plugins = *profile.plugins;
  const framework::Cycle cycle = profile.evaluator.cycle();
  for (framework::ReservePlugin* plugin : plugins.reserve) {
    const Status status = Guarded([&] { return plugin->Reserve(cycle, *assumed, assumed->node_name); });
    if (status.IsSuccess()) continue;
    RejectReserved(profile, std::move(queued), assumed, NamedFailure("Reserve", plugin->Name(), status));
    return;
  }
  std::vector<PermitWait> waits;
  for (framework::PermitPlugin* plugin : plugins.permit) {
    Duration timeout{0};
    const Status status = Guarded([&] {
      framework::PermitResult result = plugin->Permit(cycle, *assumed, assumed->node_name);
      timeout = result.timeout;
      return result.status;
    });
    if (status.IsSuccess()) continue;
    if (!status.IsWait()) {
      RejectReserved(profile, std::move(queued), assumed, NamedFailure("Permit", plugin->Name(), status));
      return;
    }
    timeout = std::clamp(timeout, Duration{0}, kPermitTimeoutMax);
    waits.push_back({std::string(plugin->Name()), timeout, now_ + timeout});
  }

  Binding& binding = MakeBinding(profile, std::move(queued), assumed);
  binding.row = row;
  binding.permits = std::move(waits);
  for (const PermitWait& wait : binding.permits) deadlines_.emplace(wait.deadline, assumed->uid);

  for (framework::PreBindPlugin* plugin : plugins.pre_bind) {
    const Status status = Guarded([&] { return plugin->PreBindPreFlight(*assumed); });
    if (status.IsSkip()) continue;
    if (!status.IsSuccess()) {
      FailBinding(binding, PreFlightFailure(plugin->Name(), status), {}, {});
      return;
    }
    binding.pre_bind.push_back(plugin);
  }
  // What takes long is announced, so that others leave the room alone (NominatedNodeNameForExpectation).
  if ((!binding.permits.empty() || !binding.pre_bind.empty()) && assumed->nominated_node_name != assumed->node_name) {
    framework::PodStatusWrite write;
    write.pod = RefOf(*assumed);
    write.has_nomination = true;
    write.nominated_node_name = assumed->node_name;
    outputs_.emplace_back(Write{next_operation_++, std::move(write)});
  }
  if (binding.permits.empty()) ContinueBinding(binding);
}

Scheduler::Binding& Scheduler::MakeBinding(Profile& profile, queue::QueuedPodInfo&& queued, const PodInfoPtr& assumed) {
  std::unique_ptr<Binding> made;
  if (free_bindings_.empty()) {
    made = std::make_unique<Binding>();
  } else {
    made = std::move(free_bindings_.back());
    free_bindings_.pop_back();
  }
  Binding& binding = *made;
  binding.profile = &profile;
  binding.queued = std::move(queued);
  binding.assumed = assumed;
  bindings_.emplace(assumed->uid, std::move(made));
  return binding;
}

std::unique_ptr<Scheduler::Binding> Scheduler::TakeBinding(std::string_view uid) {
  const auto it = bindings_.find(uid);
  if (it == bindings_.end()) return nullptr;
  std::unique_ptr<Binding> binding = std::move(it->second);
  bindings_.erase(it);
  return binding;
}

void Scheduler::EndBinding(Binding& binding) {
  DropDeadlines(binding);
  ForgetOperation(binding);
  std::unique_ptr<Binding> ended = TakeBinding(binding.assumed->uid);
  if (free_bindings_.size() >= kFreeBindingsMax) return;
  *ended = Binding();
  free_bindings_.push_back(std::move(ended));
}

// Whether the chosen node is still there: in the row that it had, mostly.
bool Scheduler::HasItsNode(const Binding& binding) const {
  const cache::ColumnNodeTable& nodes = cache_.nodes();
  const std::string& name = binding.assumed->node_name;
  if (binding.row < nodes.row_count()) {
    const framework::NodeInfo& info = nodes.Info(binding.row);
    if (info.has_node() && info.name() == name) return true;
  }
  return nodes.Find(name) != framework::kNoNode;
}

// Reserve or Permit refused the node. As in upstream the message counts one node: the chosen one.
void Scheduler::RejectReserved(Profile& profile, queue::QueuedPodInfo&& queued, const PodInfoPtr& assumed,
                               const Status& status) {
  Unreserve(profile, assumed);
  Failure failure;
  failure.nomination.is_set = true;
  failure.is_refusal = status.IsRejected();
  failure.message = status.IsRejected() ? "0/1 nodes are available: 1 " + status.Message() + "." : status.Message();
  if (status.IsRejected()) {
    auto& plugins =
        status.code() == framework::Code::kPending ? failure.pending_plugins : failure.unschedulable_plugins;
    plugins.insert(std::string(status.plugin()));
  }
  HandleFailure(profile, std::move(queued), std::move(failure));
}

void Scheduler::Unreserve(Profile& profile, const PodInfoPtr& assumed) {
  const auto& reserve = profile.plugins->reserve;
  for (auto it = reserve.rbegin(); it != reserve.rend(); ++it) {
    const Status failed = GuardedCall([&] { (*it)->Unreserve(*assumed, assumed->node_name); });
    if (!failed.IsSuccess()) LogFailure("Unreserve", (*it)->Name(), *assumed, failed);
  }
  if (cache_.IsAssumed(assumed->uid)) cache_.ForgetPod(assumed->uid);
}

// Asks a plugin for an operation of this binding cycle, which it cannot end by its handle meanwhile.
template <typename Call>
Operation Scheduler::Asking(Binding& binding, Call&& call) {
  binding.is_asking = true;
  Operation operation = GuardedOperation(std::forward<Call>(call));
  binding.is_asking = false;
  return operation;
}

// Runs plugins until one has to be waited for, or the cycle ends. `binding` may be gone afterwards.
void Scheduler::ContinueBinding(Binding& binding) {
  const PodInfo& pod = *binding.assumed;
  if (binding.phase == Phase::kPermit) {
    queue_->Done(binding.queued);
    binding.phase = Phase::kPreBind;
    binding.step = 0;
  }
  if (binding.phase == Phase::kPreBind) {
    if (binding.step < binding.pre_bind.size()) {
      framework::PreBindPlugin& plugin = *binding.pre_bind[binding.step++];
      binding.plugin = plugin.Name();
      RunOperation(binding, Asking(binding, [&] { return plugin.PreBind(pod); }));
      return;
    }
    binding.phase = Phase::kBind;
    binding.step = 0;
  }
  // The node may have gone while plugins were waited for; a binding to it would strand the pod.
  if (!HasItsNode(binding)) {
    FailBinding(binding, Status::Error("node \"" + pod.node_name + "\" was deleted before the pod was bound to it"), {},
                {});
    return;
  }
  if (!options_.extenders.empty() && AskToBind(binding)) return;
  const auto& bind = binding.profile->plugins->bind;
  while (binding.step < bind.size()) {
    framework::BindPlugin& plugin = *bind[binding.step++];
    binding.plugin = plugin.Name();
    Operation operation = Asking(binding, [&] { return plugin.Bind(pod); });
    if (operation.is_done() && operation.status.IsSkip()) continue;
    RunOperation(binding, std::move(operation));
    return;
  }
  FailBinding(binding, Status::Error("no bind plugin took the pod"), {}, {});
}

void Scheduler::RunOperation(Binding& binding, Operation&& operation) {
  if (operation.is_done()) {
    OperationEnded(binding, operation.status);
  } else {
    binding.doing.is_plain_binding =
        operation.writes.size() == 1 && IsPlain(operation.writes.front(), *binding.assumed);
    EmitStep(binding.doing, std::move(operation), NewOperation(binding));
  }
}

// A step of the pod's operation has ended: the operation goes on or ends with it.
void Scheduler::StepEnded(Binding& binding, const framework::StepResult& result) {
  if (!result.error && result.status.IsSuccess() && binding.doing.next_write + 1 < binding.doing.writes.size()) {
    ++binding.doing.next_write;
    EmitWrite(binding.doing, NewOperation(binding));
    return;
  }
  if (const Operation::Next next = std::exchange(binding.doing.next, nullptr)) {
    RunOperation(binding, Asking(binding, [&] { return next(result); }));
    return;
  }
  OperationEnded(binding, result.error ? Status::Error(result.error->message) : result.status);
}

void Scheduler::OperationEnded(Binding& binding, const Status& status) {
  const bool is_bind = binding.phase == Phase::kBind;
  if (!status.IsSuccess()) {
    // An extender's failure is told in its own words.
    const std::string_view point = binding.plugin.empty() ? "" : is_bind ? "Bind" : "PreBind";
    FailBinding(binding, status, point, binding.plugin);
  } else if (is_bind) {
    FinishBinding(binding);
  } else {
    ContinueBinding(binding);
  }
}

Scheduler::Binding* Scheduler::BindingOf(std::uint64_t operation) {
  const auto it = operations_.find(operation);
  if (it == operations_.end()) return nullptr;
  Binding* const binding = it->second;
  operations_.erase(it);
  binding->operation = 0;
  return binding;
}

void Scheduler::On(WriteDone&& input) {
  framework::StepResult result{std::move(input.error), Status(), std::move(input.body), now_};
  if (BackgroundEnded(input.operation, result)) return;
  Binding* binding = BindingOf(input.operation);
  if (binding == nullptr) return;  // a status patch, or a cycle that has ended since
  const Step& doing = binding->doing;
  if (!result.error || !std::holds_alternative<framework::BindWrite>(doing.writes[doing.next_write])) {
    StepEnded(*binding, result);
    return;
  }
  const Error& error = *result.error;
  // These say nothing certain about the binding: it may have taken effect now or at an earlier try, or the API server
  // could not be reached. Giving the room away now could fill the node twice.
  const bool is_unknown = error.outcome_unknown || error.code == ErrorCode::kConflict ||
                          error.code == ErrorCode::kAlreadyExists || error.code == ErrorCode::kNotFound ||
                          error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
                          error.code == ErrorCode::kTooManyRequests;
  const bool is_forbidden = error.code == ErrorCode::kForbidden || error.code == ErrorCode::kUnauthorized;
  if (is_unknown || (is_forbidden && binding->reads < kForbiddenReadsMax)) {
    ++counts_.bindings_unknown;
    ReadBinding(*binding);
    return;
  }
  // The first time round a refusal is the last word. After an unknown outcome the binding may have been there before.
  if (binding->reads > 0) {
    binding->refusal = error.message;
    ReadBinding(*binding);
    return;
  }
  StepEnded(*binding, result);
}

void Scheduler::On(WorkDone&& input) {
  framework::StepResult result{std::nullopt, std::move(input.status), {}, now_};
  if (BackgroundEnded(input.operation, result)) return;
  if (Binding* binding = BindingOf(input.operation)) StepEnded(*binding, result);
}

// Reads the pod to learn what became of its binding; the assumption stays until it is known. The first time at once,
// then with growing delays.
void Scheduler::ReadBinding(Binding& binding) {
  const int reads = binding.reads++;
  const Duration delay =
      reads == 0 ? Duration{0} : std::min(kReadBackoffInitial * (1 << std::min(reads - 1, 6)), kReadBackoffMax);
  binding.phase = Phase::kRead;
  binding.waits_to_read = true;
  binding.retry_at = now_ + delay;
  deadlines_.emplace(binding.retry_at, binding.assumed->uid);
}

void Scheduler::On(PodReadDone&& input) {
  Binding* binding = BindingOf(input.operation);
  if (binding == nullptr) return;
  if (input.error) {
    ReadBinding(*binding);
    return;
  }
  if (!input.pod || input.pod->metadata.uid != binding->assumed->uid) {
    DropBinding(*binding);
    return;
  }
  const std::string& node = input.pod->spec.node_name;
  if (node == binding->assumed->node_name) {
    FinishBinding(*binding);
    return;
  }
  if (!node.empty()) {  // Somebody else bound it.
    const PodInfoPtr pod = MakePodInfo(*input.pod);
    DropBinding(*binding);
    SetAssignedPod(pod);
    return;
  }
  if (input.pod->metadata.deletion_time) {
    DropBinding(*binding);
    return;
  }
  // Not bound, but the lost request may still be on its way. The same binding again has the same effect whichever comes
  // first, so the room stays taken and nobody is promised it twice.
  if (!HasItsNode(*binding)) {
    FailBinding(
        *binding,
        Status::Error("node \"" + binding->assumed->node_name + "\" was deleted before the pod was bound to it"), {},
        {});
    return;
  }
  binding->phase = Phase::kBind;
  if (!binding->refusal.empty()) {
    OperationEnded(*binding, Status::Error(binding->refusal));
    return;
  }
  Step& doing = binding->doing;
  if (doing.is_plain_binding) doing.writes[doing.next_write] = PlainBinding(*binding->assumed);
  EmitWrite(doing, NewOperation(*binding));
}

void Scheduler::FinishBinding(Binding& binding) {
  const PodInfoPtr pod = binding.assumed;
  Profile& profile = *binding.profile;
  ++counts_.scheduled;
  std::string note;
  note.reserve(32 + pod->namespace_name().size() + pod->name.size() + pod->node_name.size());
  note.append("Successfully assigned ").append(pod->namespace_name()).append("/").append(pod->name);
  note.append(" to ").append(pod->node_name);
  Emit(profile, *pod, false, "Scheduled", "Binding", std::move(note));
  if (!HasItsNode(binding)) {
    // The API server does not check that a node exists: without a word the pod would stay where nothing runs it.
    Emit(profile, *pod, true, "NodeNotFound", "Binding",
         "node \"" + pod->node_name +
             "\" was deleted while the pod was being bound to it: the pod runs nowhere until it is deleted");
    log::Warning("scheduler", "Pod is bound to a node that was deleted meanwhile",
                 {{"pod", pod->Key()}, {"node", pod->node_name}});
  }
  EndBinding(binding);
  for (framework::PostBindPlugin* plugin : profile.plugins->post_bind) {
    // Informational: nothing waits for it and a failure changes nothing.
    Operation operation = GuardedOperation([&] { return plugin->PostBind(*pod); });
    if (!operation.status.IsSuccess()) LogFailure("PostBind", plugin->Name(), *pod, operation.status);
    StartBackground(std::move(operation));
  }
}

void Scheduler::DropBinding(Binding& binding) {
  const PodInfoPtr pod = binding.assumed;
  Profile& profile = *binding.profile;
  queue_->Done(binding.queued);
  EndBinding(binding);
  Unreserve(profile, pod);
  queue_->Move({framework::EventResource::kAssignedPod, framework::action::kDelete}, {.old_pod = pod}, now_);
}

void Scheduler::DropDeadlines(const Binding& binding) {
  const std::string& uid = binding.assumed->uid;
  for (const PermitWait& wait : binding.permits) deadlines_.erase({wait.deadline, uid});
  if (binding.waits_to_read) deadlines_.erase({binding.retry_at, uid});
}

// The cycle ends and the pod goes back into the queue: one that waited at Permit was in flight until now, and is held
// against the events since its Pop. Without `point` the status is not a plugin's own failure.
void Scheduler::FailBinding(Binding& binding, const Status& status, std::string_view point, std::string_view plugin) {
  ForgetOperation(binding);
  const std::unique_ptr<Binding> taken = TakeBinding(binding.assumed->uid);
  BERTH_CHECK(taken != nullptr, binding.assumed->uid);
  Profile& profile = *binding.profile;
  const PodInfoPtr assumed = binding.assumed;
  const bool is_permit = binding.phase == Phase::kPermit && point.empty();
  DropDeadlines(binding);
  Unreserve(profile, assumed);
  Failure failure;
  failure.nomination.is_set = true;
  failure.is_refusal = status.IsRejected();
  if (is_permit && status.IsRejected()) {
    failure.message = "0/1 nodes are available: 1 " + status.Message() + ".";
    failure.unschedulable_plugins.insert(std::string(plugin));
  } else {
    failure.message =
        point.empty() || status.IsRejected() ? status.Message() : RunningPlugin(point, plugin, status.Message());
  }
  const framework::ClusterEvent room{framework::EventResource::kAssignedPod, framework::action::kDelete};
  const queue::EventSource source{.old_pod = assumed};
  // Others may use the room now. A pod that was rejected must not be woken by its own leaving.
  if (!failure.is_refusal) queue_->Move(room, source, now_);
  const bool is_refusal = failure.is_refusal;
  HandleFailure(profile, std::move(binding.queued), std::move(failure));
  if (is_refusal) queue_->Move(room, source, now_, {std::nullopt, assumed->uid});
}

void Scheduler::On(framework::PermitDecision&& input) {
  const auto it = bindings_.find(input.pod_uid);
  if (it == bindings_.end() || it->second->phase != Phase::kPermit) return;
  Binding& binding = *it->second;
  const auto wait = std::find_if(binding.permits.begin(), binding.permits.end(),
                                 [&](const PermitWait& w) { return w.plugin == input.plugin; });
  if (wait == binding.permits.end()) return;
  if (!input.allow) {
    FailBinding(binding, Status::Unschedulable(input.message), {}, input.plugin);
    return;
  }
  const Time deadline = wait->deadline;
  binding.permits.erase(wait);
  // Another plugin may wait until the same moment.
  if (std::none_of(binding.permits.begin(), binding.permits.end(),
                   [deadline](const PermitWait& other) { return other.deadline == deadline; }))
    deadlines_.erase({deadline, input.pod_uid});
  if (binding.permits.empty()) ContinueBinding(binding);
}

bool Scheduler::CancelBinding(std::string_view uid, std::string_view plugin, std::string_view message) {
  const auto it = bindings_.find(uid);
  if (it == bindings_.end()) return false;
  Binding& binding = *it->second;
  if (binding.is_asking || (binding.phase != Phase::kPermit && binding.phase != Phase::kPreBind)) return false;
  // An error and not a refusal, in the words of kube-scheduler: no plugin's hint has to let the pod try again. In
  // PreBind writes may be under way; their outcomes find no binding any more, and Unreserve gives up what they were
  // for.
  if (binding.phase == Phase::kPermit) {
    FailBinding(binding, Status::Error("waiting on permit for pod: " + std::string(message)), {}, {});
  } else {
    FailBinding(binding, Status::Error(std::string(message).append(" by ").append(plugin)), "PreBind", binding.plugin);
  }
  return true;
}

}  // namespace berth::scheduler
