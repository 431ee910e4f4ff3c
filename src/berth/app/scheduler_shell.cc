#include "berth/app/scheduler_shell.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "berth/api/decode.h"
#include "berth/app/status_writer.h"
#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/codec/json_reader.h"
#include "berth/framework/object_kinds.h"
#include "berth/plugins/registry.h"
#include "berth/runtime/profile_factory.h"

namespace berth::app {

using scheduler::Input;
using scheduler::Output;

namespace {

// Decisions between two looks at the inputs.
constexpr int kDecisionsPerTurn = 64;

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
      handle_([this](framework::PermitDecision decision) { Push(std::move(decision)); }) {
  status_writer_ = std::make_unique<StatusWriter>(writer_, rest_.loop());
  client::EventRecorderOptions recorder;
  recorder.hostname = options_.hostname;
  recorder.seed = options_.seed;
  recorder_ = std::make_unique<client::EventRecorder>(events_rest, recorder);
}

Expected<std::unique_ptr<SchedulerShell>> SchedulerShell::Make(const config::KubeSchedulerConfiguration& configuration,
                                                               client::RestClient& rest,
                                                               client::RestClient& events_rest, const Clock& clock,
                                                               ShellOptions options) {
  std::unique_ptr<SchedulerShell> shell(new SchedulerShell(rest, events_rest, clock, std::move(options)));
  BERTH_ASSIGN_OR_RETURN(auto profiles, runtime::MakeProfiles(configuration, plugins::InTreePlugins(), shell->handle_));
  scheduler::SchedulerOptions core;
  core.seed = shell->options_.seed;
  core.queue.initial_backoff = std::chrono::seconds(configuration.pod_initial_backoff_seconds);
  core.queue.max_backoff = std::chrono::seconds(configuration.pod_max_backoff_seconds);
  shell->core_ = std::make_unique<scheduler::Scheduler>(core, shell->handle_, std::move(profiles));
  shell->MakeInformers();
  return shell;
}

SchedulerShell::~SchedulerShell() { Stop(Duration{0}); }

void SchedulerShell::MakeInformers() {
  const auto synced = [this] {
    {
      const std::lock_guard lock(mutex_);
      if (--unsynced_ == 0) is_synced_ = true;
    }
    changed_.notify_one();
  };
  const std::vector<framework::ObjectKind> kinds = core_->ObjectsRead();
  unsynced_ = 2 + kinds.size();

  client::Informer<api::Node>::Options node_options;
  node_options.name = "nodes";
  node_options.path = "/api/v1/nodes";
  node_options.seed = options_.seed;
  node_options.decode = [](const simdjson::dom::element& object) { return api::DecodeNode(object); };
  client::Informer<api::Node>::Handler node_handler;
  node_handler.on_add = [this](std::shared_ptr<const api::Node> node) { Push(scheduler::NodeSet{std::move(node)}); };
  node_handler.on_update = [this](const std::shared_ptr<const api::Node>&, std::shared_ptr<const api::Node> node) {
    Push(scheduler::NodeSet{std::move(node)});
  };
  node_handler.on_delete = [this](const std::shared_ptr<const api::Node>& node) {
    Push(scheduler::NodeGone{node->metadata.name});
  };
  node_handler.on_synced = synced;
  nodes_ = std::make_unique<client::Informer<api::Node>>(rest_, std::move(node_options), std::move(node_handler));

  using RecordPtr = std::shared_ptr<const PodRecord>;
  client::Informer<PodRecord>::Options pod_options;
  pod_options.name = "pods";
  pod_options.path = "/api/v1/pods";
  // As upstream: finished pods look like deleted ones.
  pod_options.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
  pod_options.seed = options_.seed + 1;
  pod_options.decode = [](const simdjson::dom::element& object) -> Expected<RecordPtr> {
    BERTH_ASSIGN_OR_RETURN(auto pod, api::DecodePod(object));
    const api::ObjectMeta& meta = pod->metadata;
    auto record = std::make_shared<PodRecord>(PodRecord{meta.namespace_name, meta.name, meta.uid, nullptr});
    record->pod = std::move(pod);
    return RecordPtr(std::move(record));
  };
  client::Informer<PodRecord>::Handler pod_handler;
  pod_handler.on_add = [this](const RecordPtr& record) { Push(scheduler::PodSet{std::move(record->pod)}); };
  pod_handler.on_update = [this](const RecordPtr&, const RecordPtr& record) {
    Push(scheduler::PodSet{std::move(record->pod)});
  };
  pod_handler.on_delete = [this](const RecordPtr& record) {
    Push(scheduler::PodGone{record->namespace_name, record->name, record->uid});
  };
  pod_handler.on_synced = synced;
  pods_ = std::make_unique<client::Informer<PodRecord>>(rest_, std::move(pod_options), std::move(pod_handler));
  for (const framework::ObjectKind kind : kinds) MakeObjectInformer(kind, synced);
}

void SchedulerShell::MakeObjectInformer(framework::ObjectKind kind, std::function<void()> synced) {
  using Ptr = std::shared_ptr<const framework::AnyObject>;
  client::Informer<framework::AnyObject>::Options options;
  options.name = framework::InfoOf(kind).resource;
  options.path = framework::ListPath(kind);
  options.may_be_missing = true;
  options.seed = options_.seed + 2 + static_cast<std::uint64_t>(kind);
  options.decode = [kind](const simdjson::dom::element& object) -> Expected<Ptr> {
    BERTH_ASSIGN_OR_RETURN(auto decoded, framework::DecodeObject(kind, object));
    return std::make_shared<const framework::AnyObject>(std::move(decoded));
  };
  client::Informer<framework::AnyObject>::Handler handler;
  handler.on_add = [this](const Ptr& object) { Push(scheduler::ObjectSet{*object}); };
  handler.on_update = [this](const Ptr&, const Ptr& object) { Push(scheduler::ObjectSet{*object}); };
  handler.on_delete = [this, kind](const Ptr& object) { Push(scheduler::ObjectGone{kind, framework::KeyOf(*object)}); };
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
}

void SchedulerShell::Push(Input input) {
  bool was_empty = false;
  {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return inputs_.size() < kInputsMax || is_stopped_; });
    if (is_stopped_) return;
    was_empty = inputs_.empty();
    inputs_.push_back(std::move(input));
  }
  if (was_empty) changed_.notify_one();
}

scheduler::Counts SchedulerShell::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::size_t SchedulerShell::BusyBindings() const {
  const std::size_t bindings = core_->binding_count();
  return bindings - std::min(bindings, core_->timer_count());
}

void SchedulerShell::RunCore() {
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  bool has_more = false;  // a pod may be ready
  bool can_decide = false;
  bool has_seen_draining = false;
  Time last{};
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      counts_ = core_->counts();
      is_idle_ = is_draining_ && BusyBindings() == 0 && inputs_.empty();
      if (is_idle_) idle_.notify_all();
      const auto is_due = [&] {
        return is_stopped_ || !inputs_.empty() || (is_synced_ && !is_draining_ && !can_decide) ||
               is_draining_ != has_seen_draining;
      };
      if (!has_more && !is_due()) {
        if (const auto wake = core_->NextWake()) {
          const Duration left = *wake - clock_.Now();
          if (left > Duration{0}) changed_.wait_for(lock, left, is_due);
        } else {
          changed_.wait(lock, is_due);
        }
      }
      if (is_stopped_) return;
      inputs.swap(inputs_);
      can_decide = is_synced_ && !is_draining_;
      has_seen_draining = is_draining_;
    }
    room_.notify_all();
    // The core's time must not run backwards when somebody sets the clock.
    const Time now = last = std::max(last, clock_.Now());
    for (Input& input : inputs) core_->Handle(std::move(input), now);
    inputs.clear();
    core_->Tick(now);
    has_more = false;
    if (can_decide) {
      for (int i = 0; i < kDecisionsPerTurn && BusyBindings() < options_.bindings_max; ++i) {
        has_more = core_->ScheduleOne(now);
        if (!has_more) break;
        if (options_.on_decision) options_.on_decision(core_->decisions().Newest());
      }
      // With the bindings at their bound only an input or a timer can make room.
      if (BusyBindings() >= options_.bindings_max) has_more = false;
    }
    core_->TakeOutputs(outputs);
    if (outputs.empty()) continue;
    rest_.loop().Post(
        [this, batch = std::make_shared<std::vector<Output>>(std::move(outputs))] { Perform(std::move(*batch)); });
    outputs.clear();
  }
}

void SchedulerShell::Perform(std::vector<Output>&& outputs) {
  for (Output& output : outputs) {
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
      recorder_->Record(std::move(record));
    } else if (auto* work = std::get_if<scheduler::Work>(&output)) {
      workers_.Run([this, operation = work->operation, run = std::move(work->work)] {
        framework::Status status;
        try {
          status = run();
        } catch (const std::exception& e) {
          status = framework::Status::Error(std::string("panic: ") + e.what());
        }
        Push(scheduler::WorkDone{operation, std::move(status)});
      });
    }
  }
}

void SchedulerShell::PerformWrite(std::uint64_t operation, framework::ApiWrite&& write) {
  if (auto* bind = std::get_if<framework::BindWrite>(&write)) {
    const std::string uid = bind->pod.uid;
    status_writer_->Settle(uid, [this, operation, bind = std::move(*bind)] {
      writer_.Bind({bind.pod.namespace_name, bind.pod.name, bind.pod.uid}, bind.node_name,
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
  if (pods_) pods_->Stop();
  if (nodes_) nodes_->Stop();
  for (const auto& informer : objects_) informer->Stop();
  if (core_thread_.joinable()) core_thread_.join();
}

}  // namespace berth::app
