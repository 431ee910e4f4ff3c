#include "berth/shell/runner/scheduler_shell.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <utility>

#include <malloc.h>

#include "berth/api/decode.h"
#include "berth/api/decode_protobuf.h"
#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/codec/json_reader.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/framework/guarded.h"
#include "berth/framework/object_kinds.h"
#include "berth/shell/outside/http_extender.h"
#include "berth/shell/runner/binding_pipeline.h"
#include "berth/shell/runner/status_writer.h"

namespace berth::runner {

using scheduler::Input;
using scheduler::Output;

namespace {

// Events are for people to read: when few come, they are sent a few at once.
constexpr Duration kEventsGather = std::chrono::milliseconds(100);
// Decisions between two looks at the inputs.
constexpr int kDecisionsPerTurn = 64;
// What the event loop's thread does for the core before it looks at its sockets again.
constexpr std::size_t kInputsOnLoopMax = 1024;
constexpr Duration kTurnOnLoopMax = std::chrono::milliseconds(2);

client::ObjectTarget TargetOf(framework::ObjectRef&& object, std::string subresource = {}) {
  return {std::move(object.group_version), std::move(object.resource), std::move(object.namespace_name),
          std::move(object.name), std::move(subresource)};
}

client::PatchFormat FormatOf(framework::PatchType type) {
  switch (type) {
    case framework::PatchType::kMerge: return client::PatchFormat::kMerge;
    case framework::PatchType::kStrategicMerge: return client::PatchFormat::kStrategicMerge;
    case framework::PatchType::kJson: break;
  }
  return client::PatchFormat::kJson;
}

client::ObjectReference ReferenceTo(framework::PodRef&& pod) {
  return {"v1",
          "Pod",
          std::move(pod.namespace_name),
          std::move(pod.name),
          std::move(pod.uid),
          std::move(pod.resource_version)};
}

}  // namespace

SchedulerShell::SchedulerShell(client::RestClient& rest, client::RestClient& events_rest, const Clock& clock,
                               ShellOptions options)
    : rest_(rest),
      clock_(clock),
      options_(std::move(options)),
      writer_(rest),
      handle_([this](framework::PermitDecision decision) { Push(std::move(decision)); }, *options_.metrics,
              options_.read_file) {
  status_writer_ = std::make_unique<StatusWriter>(writer_, rest_.loop());
  // Events are for people to read: they stand back while pods wait to be bound.
  bindings_ = std::make_unique<BindingPipeline>(writer_, rest_.loop(), BindingPipeline::Options{},
                                                [this](bool is_busy) { recorder_->Restrain(is_busy); });
  client::EventRecorderOptions recorder;
  recorder.hostname = options_.hostname;
  recorder.seed = options_.seed;
  recorder.gather = kEventsGather;
  recorder_ = std::make_unique<client::EventRecorder>(events_rest, recorder);
}

Expected<std::unique_ptr<SchedulerShell>> SchedulerShell::Make(const config::KubeSchedulerConfiguration& configuration,
                                                               client::RestClient& rest,
                                                               client::RestClient& events_rest, const Clock& clock,
                                                               ShellOptions options) {
  std::unique_ptr<SchedulerShell> shell(new SchedulerShell(rest, events_rest, clock, std::move(options)));
  BERTH_ASSIGN_OR_RETURN(auto profiles, runtime::MakeProfiles(configuration, shell->options_.plugins, shell->handle_));
  scheduler::SchedulerOptions core;
  core.seed = shell->options_.seed;
  core.pods = shell->options_.pods;
  core.extenders = config::InCallOrder(configuration.extenders);
  core.queue.initial_backoff = std::chrono::seconds(configuration.pod_initial_backoff_seconds);
  core.queue.max_backoff = std::chrono::seconds(configuration.pod_max_backoff_seconds);
  shell->core_ = std::make_unique<scheduler::Scheduler>(core, shell->handle_, std::move(profiles));
  const auto no_client = [](const net::HttpClientOptions&) -> Expected<std::unique_ptr<net::Transport>> {
    return InvalidError("other servers cannot be asked here");
  };
  BERTH_RETURN_IF_ERROR(
      shell->MakeExtenders(core.extenders, shell->options_.make_client ? shell->options_.make_client : no_client));
  BERTH_ASSIGN_OR_RETURN(
      shell->outside_,
      outside::OutsidePoller::Make(
          shell->core_->outside_sources(), rest, shell->options_.make_client ? shell->options_.make_client : no_client,
          [pool = &shell->workers_](std::function<void()> work) { pool->Run(std::move(work)); },
          *shell->options_.metrics, core.seed,
          [pushed_to = shell.get()](std::size_t source, outside::OutsidePoller::Data data) {
            pushed_to->Push(scheduler::OutsideDone{source, std::move(data)});
          }));
  shell->MakeInformers();
  return shell;
}

SchedulerShell::~SchedulerShell() { Stop(Duration{0}); }

Expected<void> SchedulerShell::MakeExtenders(std::vector<config::Extender> extenders,
                                             const outside::OutsidePoller::MakeClient& make_client) {
  BERTH_ASSIGN_OR_RETURN(
      extenders_, outside::HttpExtenders::Make(
                      std::move(extenders), rest_.loop(), make_client,
                      [pool = &workers_](std::function<void()> work) { pool->Run(std::move(work)); }, *options_.metrics,
                      [this](scheduler::ExtenderDone done) { Push(std::move(done)); }));
  return {};
}

void SchedulerShell::MakeInformers() {
  const auto synced = [this] {
    const std::lock_guard lock(mutex_);
    if (--unsynced_ > 0) return;
    is_synced_ = true;
    is_core_due_ = true;
    changed_.notify_one();
  };
  const std::vector<framework::ObjectKind> kinds = core_->ObjectsRead();
  unsynced_ = 2 + kinds.size();

  client::Informer<api::Node>::Options node_options;
  node_options.name = "nodes";
  node_options.path = "/api/v1/nodes";
  node_options.streams_list = true;
  node_options.keeps_objects = false;  // the core has them
  node_options.seed = options_.seed;
  node_options.decode = [this](const simdjson::dom::element& object) {
    auto node = api::DecodeNode(object);
    if (node.ok()) extenders_->SetNode(**node, object);
    return node;
  };
  // Extenders are sent the objects whole, as JSON, and so they are asked for where one wants them.
  if (!extenders_->wants_nodes())
    node_options.decode_protobuf = [](std::string_view message) { return api::DecodeNodeProtobuf(message); };
  client::Informer<api::Node>::Handler node_handler;
  node_handler.on_add = [this](std::shared_ptr<const api::Node> node) { Push(scheduler::NodeSet{std::move(node)}); };
  node_handler.on_update = [this](const std::shared_ptr<const api::Node>&, std::shared_ptr<const api::Node> node) {
    Push(scheduler::NodeSet{std::move(node)});
  };
  node_handler.on_gone = [this](const client::Reflector::Identity& node) {
    extenders_->RemoveNode(node.name, node.uid);
    Push(scheduler::NodeGone{std::string(node.name)});
  };
  node_handler.on_synced = synced;
  nodes_ = std::make_unique<client::Informer<api::Node>>(rest_, std::move(node_options), std::move(node_handler));

  client::Informer<api::Pod>::Options pod_options;
  pod_options.name = "pods";
  pod_options.path = "/api/v1/pods";
  // As upstream: finished pods look like deleted ones.
  pod_options.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
  pod_options.streams_list = true;
  pod_options.keeps_objects = false;
  pod_options.seed = options_.seed + 1;
  pod_options.decode = [this](const simdjson::dom::element& object) {
    auto pod = api::DecodePod(object);
    if (pod.ok()) extenders_->SetPod(**pod, object);
    return pod;
  };
  if (!extenders_->wants_pods())
    pod_options.decode_protobuf = [](std::string_view message) { return api::DecodePodProtobuf(message); };
  client::Informer<api::Pod>::Handler pod_handler;
  pod_handler.on_add = [this](std::shared_ptr<const api::Pod> pod) { Push(scheduler::PodSet{std::move(pod)}); };
  pod_handler.on_update = [this](const std::shared_ptr<const api::Pod>&, std::shared_ptr<const api::Pod> pod) {
    Push(scheduler::PodSet{std::move(pod)});
  };
  pod_handler.on_gone = [this](const client::Reflector::Identity& pod) {
    extenders_->RemovePod(pod.uid);
    Push(scheduler::PodGone{std::string(pod.namespace_name), std::string(pod.name), std::string(pod.uid)});
  };
  pod_handler.on_synced = synced;
  pods_ = std::make_unique<client::Informer<api::Pod>>(rest_, std::move(pod_options), std::move(pod_handler));
  for (const framework::ObjectKind kind : kinds) MakeObjectInformer(kind, synced);
}

void SchedulerShell::MakeObjectInformer(framework::ObjectKind kind, std::function<void()> synced) {
  using Ptr = std::shared_ptr<const framework::AnyObject>;
  client::Informer<framework::AnyObject>::Options options;
  options.name = framework::InfoOf(kind).resource;
  options.path = framework::ListPath(kind);
  options.may_be_missing = true;
  options.streams_list = true;
  options.keeps_objects = false;
  options.seed = options_.seed + 2 + static_cast<std::uint64_t>(kind);
  options.decode = [kind](const simdjson::dom::element& object) -> Expected<Ptr> {
    BERTH_ASSIGN_OR_RETURN(auto decoded, framework::DecodeObject(kind, object));
    return std::make_shared<const framework::AnyObject>(std::move(decoded));
  };
  options.decode_protobuf = [kind](std::string_view message) -> Expected<Ptr> {
    BERTH_ASSIGN_OR_RETURN(auto decoded, framework::DecodeObjectProtobuf(kind, message));
    return std::make_shared<const framework::AnyObject>(std::move(decoded));
  };
  client::Informer<framework::AnyObject>::Handler handler;
  handler.on_add = [this](const Ptr& object) { Push(scheduler::ObjectSet{*object}); };
  handler.on_update = [this](const Ptr&, const Ptr& object) { Push(scheduler::ObjectSet{*object}); };
  handler.on_gone = [this, kind](const client::Reflector::Identity& object) {
    Push(scheduler::ObjectGone{kind, framework::KeyOf(object.namespace_name, object.name)});
  };
  handler.on_synced = std::move(synced);
  objects_.push_back(
      std::make_unique<client::Informer<framework::AnyObject>>(rest_, std::move(options), std::move(handler)));
}

bool SchedulerShell::HasSynced() const {
  const std::lock_guard lock(mutex_);
  return is_synced_;
}

void SchedulerShell::Start() {
  core_thread_ = std::thread([this] { RunCore(); });
  nodes_->Start();
  pods_->Start();
  for (const auto& informer : objects_) informer->Start();
  rest_.loop().Dispatch([this] { outside_->Start(); });
}

void SchedulerShell::Push(Input input) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return inputs_.size() < kInputsMax || is_stopped_; });
  if (is_stopped_) return;
  inputs_.push_back(std::move(input));
  if (is_core_due_) return;
  if (is_core_active_) {
    is_core_due_ = true;  // It looks before it waits.
    return;
  }
  const bool is_for_loop =
      is_synced_ && !is_draining_ && inputs_.size() <= kInputsOnLoopMax && rest_.loop().IsCurrent();
  if (!is_for_loop) {
    is_core_due_ = true;
    changed_.notify_one();
  } else if (!std::exchange(is_turn_posted_, true)) {
    rest_.loop().Post([this] { RunOnLoop(); });
  }
}

bool SchedulerShell::HasSettled() const {
  const std::lock_guard lock(mutex_);
  return is_settled_ && inputs_.empty();
}

std::vector<scheduler::UnplacedPod> SchedulerShell::Unplaced() {
  const std::lock_guard core_lock(core_mutex_);
  return core_->Unplaced();
}

void SchedulerShell::FlushStatuses(Duration limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto pending = std::make_shared<std::promise<std::size_t>>();
    // What the core wants written goes before.
    rest_.loop().Post([this, pending] {
      PerformOutputs();
      pending->set_value(status_writer_->pending());
    });
    auto answer = pending->get_future();
    if (answer.wait_until(deadline) != std::future_status::ready || answer.get() == 0) return;
    if (std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

scheduler::Counts SchedulerShell::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::size_t SchedulerShell::BusyBindings() const {
  const std::size_t bindings = core_->binding_count();
  return bindings - std::min(bindings, core_->timer_count());
}

std::size_t SchedulerShell::BindingsMax() const {
  return std::min(options_.bindings_max, 2 * static_cast<std::size_t>(bindings_->limit()));
}

void SchedulerShell::RunCore() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      is_core_active_ = false;
      const auto is_due = [this] { return is_stopped_ || is_core_due_; };
      while (!is_due()) {
        if (!wake_at_) {
          changed_.wait(lock);
          continue;
        }
        const Duration left = *wake_at_ - clock_.Now();
        if (left <= Duration{0}) break;
        changed_.wait_for(lock, left);
      }
      if (is_stopped_) return;
      is_core_due_ = false;
      is_core_active_ = true;
    }
    TurnResult result;
    {
      const std::lock_guard core_lock(core_mutex_);
      result = TakeTurn(Taker::kCoreThread);
    }
    room_.notify_all();
    bool has_outputs = false;
    bool must_trim = false;
    {
      const std::lock_guard lock(mutex_);
      if (result.has_more || !inputs_.empty()) is_core_due_ = true;
      has_outputs = !outputs_.empty();
      must_trim = is_synced_ && !is_core_due_ && !is_trimmed_;
      is_trimmed_ |= must_trim;
    }
    if (has_outputs) rest_.loop().Post([this] { PerformOutputs(); });
    // Lists leave a lot behind that was needed once.
    if (must_trim) malloc_trim(0);
  }
}

void SchedulerShell::RunOnLoop() {
  {
    const std::lock_guard lock(mutex_);
    is_turn_posted_ = false;
    if (is_stopped_ || is_core_active_ || is_core_due_) return;
  }
  TurnResult result;
  {
    const std::unique_lock core_lock(core_mutex_, std::try_to_lock);
    if (core_lock.owns_lock()) {
      result = TakeTurn(Taker::kLoop);
    } else {
      result.took_long = true;
    }
  }
  PerformOutputs();
  const std::lock_guard lock(mutex_);
  const bool has_more = result.has_more || result.took_long || !inputs_.empty();
  if (!has_more || is_core_active_ || is_core_due_) return;
  if (result.took_long || is_draining_) {
    is_core_due_ = true;
    changed_.notify_one();
  } else if (!std::exchange(is_turn_posted_, true)) {
    rest_.loop().Post([this] { RunOnLoop(); });
  }
}

SchedulerShell::TurnResult SchedulerShell::TakeTurn(Taker taker) {
  TurnResult result;
  bool can_decide = false;
  bool is_draining = false;
  {
    const std::lock_guard lock(mutex_);
    batch_.swap(inputs_);
    is_draining = is_draining_;
    can_decide = is_synced_ && !is_draining;
    is_settled_ = false;
  }
  // The core's time must not run backwards when somebody sets the clock.
  const Time now = last_turn_ = std::max(last_turn_, clock_.Now());
  if (is_draining) core_->CancelAsking("the scheduler ends");
  for (Input& input : batch_) {
    const bool was_asking = core_->is_asking();
    core_->Handle(std::move(input), now);
    // Extenders have answered, and with that a decision is made.
    if (was_asking && !core_->is_asking() && options_.on_decision) options_.on_decision(core_->decisions().Newest());
  }
  batch_.clear();
  core_->Tick(now);
  if (options_.waits_for_outside_data && !core_->HasHeardOutside()) can_decide = false;
  if (can_decide) DecideSome(taker, now, result);
  std::vector<Output> outputs;
  core_->TakeOutputs(outputs);
  const std::optional<Time> wake = core_->NextWake();

  const std::lock_guard lock(mutex_);
  if (outputs_.empty()) {
    outputs_.swap(outputs);
  } else {
    std::move(outputs.begin(), outputs.end(), std::back_inserter(outputs_));
  }
  counts_ = core_->counts();
  is_settled_ = can_decide && !result.has_more && core_->HasSettled();
  is_idle_ = is_draining_ && BusyBindings() == 0 && inputs_.empty();
  if (is_idle_) idle_.notify_all();
  const bool is_earlier = wake && (!wake_at_ || *wake < *wake_at_);
  wake_at_ = wake;
  if (is_earlier && taker == Taker::kLoop) changed_.notify_one();
  return result;
}

void SchedulerShell::DecideSome(Taker taker, Time now, TurnResult& result) {
  const Time begin = clock_.Now();
  for (int i = 0; i < kDecisionsPerTurn && BusyBindings() < BindingsMax(); ++i) {
    result.has_more = core_->ScheduleOne(now);
    if (!result.has_more) return;
    if (options_.on_decision && !core_->is_asking()) options_.on_decision(core_->decisions().Newest());
    if (taker == Taker::kLoop && clock_.Now() - begin > kTurnOnLoopMax) {
      result.took_long = true;
      break;
    }
  }
  // With the bindings at their bound only an input or a timer can make room.
  if (BusyBindings() >= BindingsMax()) result.has_more = false;
}

void SchedulerShell::PerformOutputs() {
  std::vector<Output> outputs;
  {
    const std::lock_guard lock(mutex_);
    outputs.swap(outputs_);
  }
  for (Output& output : outputs) Perform(std::move(output));
}

void SchedulerShell::Perform(Output&& output) {
  if (auto* write = std::get_if<scheduler::Write>(&output)) {
    PerformWrite(write->operation, std::move(write->write));
  } else if (auto* event = std::get_if<scheduler::EmitEvent>(&output)) {
    client::Event record;
    record.is_warning = event->is_warning;
    record.reason = std::move(event->reason);
    record.action = std::move(event->action);
    record.note = std::move(event->note);
    record.scheduler_name = std::move(event->reporting_controller);
    record.regarding = ReferenceTo(std::move(event->regarding));
    record.regarding.kind = std::move(event->kind);
    recorder_->Record(std::move(record));
  } else if (auto* ask = std::get_if<scheduler::AskExtender>(&output)) {
    extenders_->Ask(std::move(*ask));
  } else if (auto* work = std::get_if<scheduler::Work>(&output)) {
    workers_.Run([this, operation = work->operation, run = std::move(work->work)] {
      Push(scheduler::WorkDone{operation, framework::Guarded(run)});
    });
  }
}

void SchedulerShell::PerformWrite(std::uint64_t operation, framework::ApiWrite&& write) {
  if (auto* bind = std::get_if<framework::BindWrite>(&write)) {
    const std::string uid = bind->pod.uid;
    status_writer_->Settle(uid, [this, operation, bind = std::move(*bind)] {
      bindings_->Bind(
          {bind.pod.namespace_name, bind.pod.name, bind.pod.uid}, bind.node_name,
          [this, operation](const Expected<void>& result) {
            Push(scheduler::WriteDone{operation, result.ok() ? std::nullopt : std::optional(result.error())});
          });
    });
  } else if (auto* status = std::get_if<framework::PodStatusWrite>(&write)) {
    status_writer_->Write(std::move(*status));
  } else if (auto* read = std::get_if<framework::PodRead>(&write)) {
    PerformRead(operation, read->pod);
  } else if (auto* patch = std::get_if<framework::ObjectPatch>(&write)) {
    writer_.Patch(TargetOf(std::move(patch->object), std::move(patch->subresource)), FormatOf(patch->type),
                  std::move(patch->body), Answer(operation));
  } else if (auto* create = std::get_if<framework::ObjectCreate>(&write)) {
    writer_.Create(TargetOf(std::move(create->object)), std::move(create->body), Answer(operation));
  } else if (auto* removal = std::get_if<framework::ObjectDelete>(&write)) {
    writer_.Delete(TargetOf(std::move(removal->object)), removal->uid, Answer(operation));
  } else if (auto* get = std::get_if<framework::ObjectRead>(&write)) {
    writer_.Get(TargetOf(std::move(get->object)), Answer(operation));
  }
}

client::ApiWriter::ReadDone SchedulerShell::Answer(std::uint64_t operation) {
  return [this, operation](Expected<std::string> body) {
    scheduler::WriteDone done{operation, std::nullopt, {}};
    if (body.ok()) {
      done.body = std::move(*body);
    } else {
      done.error = body.error();
    }
    Push(std::move(done));
  };
}

void SchedulerShell::PerformRead(std::uint64_t operation, const framework::PodRef& pod) {
  writer_.GetPod(pod.namespace_name, pod.name, [this, operation](const Expected<std::string>& json) {
    scheduler::PodReadDone done{operation, nullptr, {}};
    if (json.ok()) {
      auto decoded = api::DecodePod(*json);
      if (decoded.ok()) {
        done.pod = std::move(*decoded);
      } else {
        done.error = decoded.error();
      }
    } else if (json.error().code != ErrorCode::kNotFound) {
      done.error = json.error();
    }
    Push(std::move(done));
  });
}

void SchedulerShell::Stop(Duration grace) {
  {
    std::unique_lock lock(mutex_);
    if (is_stopped_) return;
    is_draining_ = true;
    is_core_due_ = true;
    changed_.notify_all();
    if (core_thread_.joinable() && grace > Duration{0}) {
      const auto deadline = std::chrono::steady_clock::now() + grace;
      // The core's thread reports when the last binding has ended.
      idle_.wait_until(lock, deadline, [this] { return is_idle_; });
    }
  }
  if (core_thread_.joinable() && grace > Duration{0}) {
    // The core's last outputs, events among them, may still be on their way through the loop to the recorder.
    const auto performed = std::make_shared<std::promise<void>>();
    rest_.loop().Post([performed] { performed->set_value(); });
    performed->get_future().wait_for(grace);
    if (const std::size_t left = recorder_->Flush(grace); left > 0) {
      log::Warning("app", "Events were not sent before the end", {{"count", left}});
    }
  }
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  room_.notify_all();
  if (outside_) outside_->Stop();
  if (extenders_) extenders_->Stop();
  if (pods_) pods_->Stop();
  if (nodes_) nodes_->Stop();
  for (const auto& informer : objects_) informer->Stop();
  if (core_thread_.joinable()) core_thread_.join();
}

}  // namespace berth::runner
