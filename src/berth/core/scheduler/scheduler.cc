#include "berth/core/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "berth/base/check.h"
#include "berth/core/scheduler/asking.h"
#include "berth/core/scheduler/binding.h"

namespace berth::scheduler {

using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;
using runtime::Result;

std::string RunningPlugin(std::string_view point, std::string_view plugin, std::string_view message) {
  std::string text = "running ";
  return text.append(point).append(" plugin \"").append(plugin).append("\": ").append(message);
}

namespace {

std::vector<std::string> AnnotationsRead(const std::vector<std::unique_ptr<runtime::ProfilePlugins>>& profiles) {
  std::set<std::string> keys;
  for (const auto& profile : profiles) {
    for (const auto& plugin : profile->owned) {
      const auto* reader = dynamic_cast<const framework::AnnotationReader*>(plugin.get());
      if (reader == nullptr) continue;
      AskOnce(*plugin, "the annotations of pods that it reads", [&] {
        for (std::string& key : reader->PodAnnotationsRead()) keys.insert(std::move(key));
      });
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options, CoreHandle& handle,
                     std::vector<std::unique_ptr<runtime::ProfilePlugins>> profiles)
    : options_(options),
      handle_(handle),
      random_(options.seed),
      classes_(AnnotationsRead(profiles)),
      decisions_(options.decisions_max) {
  BERTH_CHECK(!profiles.empty());
  BERTH_CHECK(handle.scheduler_ == nullptr, "the handle has a scheduler already");
  handle.scheduler_ = this;
  const framework::QueueSortPlugin* sort = profiles.front()->queue_sort;
  BERTH_CHECK(sort != nullptr);
  absl::flat_hash_map<std::string, queue::ProfileHooks> hooks;
  for (auto& plugins : profiles) {
    queue::ProfileHooks& own = hooks[plugins->scheduler_name];
    own.pre_enqueue = plugins->pre_enqueue;
    // Extenders cannot say what they wait for.
    if (!options_.extenders.empty()) {
      own.events.push_back({std::string(runtime::kExtenderName),
                            {{framework::EventResource::kWildcard, framework::action::kAll}, nullptr}});
    }
    // Of each plugin that can refuse a pod, once.
    std::vector<const framework::Plugin*> refusing;
    const auto add = [&](const auto& list) {
      for (const auto* plugin : list) {
        const framework::Plugin* base = plugin;
        if (std::find(refusing.begin(), refusing.end(), base) == refusing.end()) refusing.push_back(base);
      }
    };
    add(plugins->pre_enqueue);
    add(plugins->pre_filter);
    add(plugins->filter);
    add(plugins->reserve);
    add(plugins->permit);
    for (const framework::Plugin* plugin : refusing) {
      for (queue::Registration& registration : queue::RegistrationsOf(*plugin))
        own.events.push_back(std::move(registration));
    }
    std::string name = plugins->scheduler_name;
    profiles_.emplace(std::move(name), std::make_unique<Profile>(std::move(plugins), options_.evaluator));
  }
  queue_ = std::make_unique<queue::SchedulingQueue>(options_.queue, *sort, std::move(hooks));
  FindOutsideSources();
}

Scheduler::~Scheduler() { handle_.scheduler_ = nullptr; }

std::vector<framework::ObjectKind> Scheduler::ObjectsRead() const {
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

Scheduler::Profile* Scheduler::ProfileOf(const PodInfo& pod) {
  const std::string& wanted = pod.spec().scheduler_name;
  const std::string_view name = wanted.empty() ? api::kDefaultSchedulerName : std::string_view(wanted);
  if (latest_profile_ != nullptr && latest_profile_->plugins->scheduler_name == name) return latest_profile_;
  const auto it = profiles_.find(name);
  return it == profiles_.end() ? nullptr : latest_profile_ = it->second.get();
}

void Scheduler::Handle(Input input, Time now) {
  now_ = now;
  std::visit([this](auto&& value) { On(std::move(value)); }, std::move(input));
}

// Refused pods back off in a heap from which Pop takes them as soon as activeQ is empty; those that met an error wait
// there. A nominated pod waits for its victims to go.
bool Scheduler::HasSettled() const {
  return asking_ == nullptr && bindings_.empty() && background_.empty() && queue_->active_count() == 0 &&
         queue_->backoff_count() == 0 && queue_->nominator().empty();
}

std::vector<UnplacedPod> Scheduler::Unplaced() const {
  std::map<std::string, std::string> found;
  for (const queue::PodStanding& standing : queue_->Dump()) {
    std::string& why = found[standing.pod->Key()];
    const Decision* decision = decisions_.Find(standing.pod->uid);
    if (standing.place == queue::Place::kGated) {
      why = standing.gating_plugin + ": " + standing.gating_message;
    } else if (asking_ && asking_->queued.pod->uid == standing.pod->uid) {
      why = "extenders are being asked";
    } else if (decision != nullptr && !decision->message.empty()) {
      why = decision->message;
    } else if (standing.pod->scheduled_condition && !standing.pod->scheduled_condition->message.empty()) {
      why = standing.pod->scheduled_condition->message;
    } else {
      why = "has not been tried";
    }
  }
  for (const auto& [uid, binding] : bindings_)
    found[binding->assumed->Key()] = "is still being bound to " + binding->assumed->node_name;
  std::vector<UnplacedPod> unplaced;
  unplaced.reserve(found.size());
  for (auto& [key, why] : found) unplaced.push_back({key, std::move(why)});
  return unplaced;
}

void Scheduler::TakeOutputs(std::vector<Output>& outputs) {
  outputs.clear();
  outputs.swap(outputs_);
}

std::uint64_t Scheduler::NewOperation(Binding& binding) {
  ForgetOperation(binding);
  binding.operation = next_operation_++;
  operations_.emplace(binding.operation, &binding);
  return binding.operation;
}

void Scheduler::ForgetOperation(Binding& binding) {
  if (binding.operation != 0) operations_.erase(binding.operation);
  binding.operation = 0;
}

void Scheduler::Emit(const Profile& profile, const PodInfo& pod, bool is_warning, std::string reason,
                     std::string action, std::string note) {
  outputs_.emplace_back(EmitEvent{{pod.namespace_name(), pod.name, pod.uid, pod.resource_version},
                                  profile.plugins->scheduler_name,
                                  is_warning,
                                  std::move(reason),
                                  std::move(action),
                                  std::move(note)});
}

bool Scheduler::ScheduleOne(Time now) {
  now_ = now;
  if (asking_) return false;
  std::optional<queue::QueuedPodInfo> popped = queue_->Pop(now);
  if (!popped) return false;
  ++counts_.cycles;
  const PodInfoPtr pod = popped->pod;
  Profile* profile = ProfileOf(*pod);
  BERTH_CHECK(profile != nullptr, pod->Key(), pod->spec().scheduler_name);
  Decision& decision = decisions_.Append();
  decision.cycle = counts_.cycles;
  decision.time = now;
  decision.attempt = popped->attempts;
  decision.pod = pod;
  if (pod->deletion_time) {
    decision.message = "skip schedule deleting pod: " + pod->Key();
    Emit(*profile, *pod, true, "FailedScheduling", "Scheduling", decision.message);
    queue_->Done(pod->uid);
    return true;
  }
  if (cache_.FindPod(pod->uid) != nullptr) {
    decision.message = "the pod is assumed or bound already";
    queue_->Done(pod->uid);
    return true;
  }
  nominations_.Update(queue_->nominator(), cache_.nodes());
  const std::uint64_t seed = random_.Next();
  has_cycled_ = true;
  if (!idle_at_) idle_at_ = now + kIdlePeriod;
  decision.seed = seed;
  if (!options_.extenders.empty() && WantsExtenders(*pod)) {
    BeginAsking(*profile, std::move(*popped), decision, seed);
    return true;
  }
  const runtime::Outcome& outcome = profile->evaluator.Evaluate(pod, cache_.nodes(), &nominations_.rows(), seed, now);
  Conclude(*profile, std::move(*popped), outcome, decision);
  return true;
}

void Scheduler::Conclude(Profile& profile, queue::QueuedPodInfo&& queued, const runtime::Outcome& outcome,
                         Decision& decision) {
  decision.node_count = static_cast<std::uint32_t>(outcome.node_count);
  decision.feasible_count = static_cast<std::uint32_t>(outcome.feasible_count);
  if (outcome.result != Result::kError) decision.refusals = profile.evaluator.RefusalCounts();
  if (outcome.result == Result::kFeasible) {
    decision.node_name = cache_.nodes().Info(outcome.node).name();
    decision.total = outcome.total;
    StartBinding(profile, std::move(queued), outcome.node);
    return;
  }

  Failure failure;
  failure.nomination.is_set = true;  // cleared, unless PostFilter says otherwise
  if (outcome.result == Result::kError) {
    failure.message = outcome.error;
  } else {
    failure.is_refusal = true;
    failure.unschedulable_plugins = outcome.unschedulable_plugins;
    if (outcome.result == Result::kRefused && !profile.plugins->post_filter.empty()) {
      const framework::PostFilterResult result = profile.evaluator.RunPostFilter();
      failure.nomination = {result.has_nomination, result.nominated_node_name};
    }
    failure.message = profile.evaluator.Message();
  }
  decision.message = failure.message;
  HandleFailure(profile, std::move(queued), std::move(failure));
}

std::optional<Time> Scheduler::NextWake() const {
  std::optional<Time> wake = queue_->NextWake();
  if (!deadlines_.empty() && (!wake || deadlines_.begin()->first < *wake)) wake = deadlines_.begin()->first;
  if (!timers_.empty() && (!wake || timers_.begin()->first < *wake)) wake = timers_.begin()->first;
  if (idle_at_ && (!wake || *idle_at_ < *wake)) wake = idle_at_;
  return wake;
}

void Scheduler::DropIdle() {
  for (const auto& [name, profile] : profiles_) profile->evaluator.DropIdle();
  classes_.Sweep();
  idle_at_.reset();
  // Once more without a cycle in between, and nothing is left.
  if (has_cycled_) idle_at_ = now_ + kIdlePeriod;
  has_cycled_ = false;
}

void Scheduler::Tick(Time now) {
  now_ = now;
  queue_->Tick(now);
  if (idle_at_ && *idle_at_ <= now) DropIdle();
  StartEarly();
  // What begins meanwhile is for the next Tick: an operation that goes on and on must not hold up all others.
  const std::pair<Time, std::uint64_t> end{now, next_operation_};
  while (!timers_.empty() && *timers_.begin() < end) {
    const std::uint64_t operation = timers_.begin()->second;
    timers_.erase(timers_.begin());
    if (BackgroundEnded(operation, {.now = now})) continue;
    if (Binding* binding = BindingOf(operation)) StepEnded(*binding, {.now = now});
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const std::string uid = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    const auto it = bindings_.find(uid);
    if (it == bindings_.end()) continue;
    Binding& binding = *it->second;
    if (binding.waits_to_read && binding.retry_at <= now) {
      binding.waits_to_read = false;
      const PodInfo& pod = *binding.assumed;
      outputs_.emplace_back(
          Write{NewOperation(binding), framework::PodRead{{pod.namespace_name(), pod.name, pod.uid, {}}}});
      continue;
    }
    if (binding.phase != Phase::kPermit) continue;
    for (const PermitWait& wait : binding.permits) {
      if (wait.deadline > now) continue;
      const std::string plugin = wait.plugin;
      FailBinding(binding,
                  Status::Unschedulable("rejected due to timeout after waiting " + FormatGoDuration(wait.timeout) +
                                        " at plugin " + plugin),
                  {}, plugin);
      break;
    }
  }
}

}  // namespace berth::scheduler
