// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/output_performer.h"

#include <chrono>
#include <utility>
#include <variant>

#include "berth/api/decode.h"
#include "berth/framework/guarded.h"
#include "berth/shell/outside/http_extender.h"
#include "berth/shell/runner/binding_pipeline.h"
#include "berth/shell/runner/status_writer.h"

namespace berth::runner {
namespace {

// Events are gathered for this time, since people read them later anyway.
constexpr Duration kEventsGather = std::chrono::milliseconds(100);

// The most writes of plugins that are under way at once. Evictions by many preemptors must not hold up bindings.
constexpr int kObjectWritesMax = 32;

client::ObjectTarget TargetOf(framework::ObjectRef&& object, std::string subresource = {}) {
  return {std::move(object.group_version), std::move(object.resource), std::move(object.namespace_name),
          std::move(object.name), std::move(subresource)};
}

std::string TraceParentOf(const tracing::TracedCallPtr& call) {
  return call == nullptr ? std::string() : call->traceparent;
}

client::ObjectTarget Traced(client::ObjectTarget target, const tracing::TracedCallPtr& call) {
  target.traceparent = TraceParentOf(call);
  return target;
}

std::shared_ptr<client::ServerPace> MakePace(client::EventLoop& loop, framework::Metrics& metrics) {
  framework::Gauge& p99 = metrics.GetGauge(
      "berth_api_server_latency_p99_seconds",
      "99th percentile of what the API server took to answer berth's writes in the last minute; 0 without any.", {});
  return std::make_shared<client::ServerPace>(
      loop, [&p99](Duration latency) { p99.Set(std::chrono::duration<double>(latency).count()); });
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

OutputPerformer::OutputPerformer(client::RestClient& rest, client::RestClient& events_rest,
                                 outside::HttpExtenders& extenders, WorkerPool& workers, Options options, Push push)
    : push_(std::move(push)),
      extenders_(extenders),
      workers_(workers),
      tracer_(options.tracer),
      writer_(rest),
      pace_(MakePace(rest.loop(), *options.metrics)),
      lanes_(std::make_shared<client::RequestLanes>(
          rest.loop(), client::RequestLanesOptions{.in_flight_max = kObjectWritesMax, .pace = pace_})) {
  status_writer_ = std::make_unique<StatusWriter>(writer_, rest.loop(), pace_);
  // Fewer events are sent while bindings are under way.
  framework::Counter& refused = options.metrics->GetCounter(
      "berth_bindings_not_sent_total",
      "Bindings that were not sent because those of their namespace had no answer while others had.", {});
  bindings_ = std::make_unique<BindingPipeline>(writer_, rest.loop(),
                                                BindingPipeline::Options{.pace = pace_, .refused = &refused},
                                                [this](bool is_busy) { recorder_->Restrain(is_busy); });
  client::EventRecorderOptions recorder;
  recorder.hostname = std::move(options.hostname);
  recorder.seed = options.seed;
  recorder.gather = kEventsGather;
  recorder.pace = pace_;
  recorder_ = std::make_unique<client::EventRecorder>(events_rest, recorder);
}

OutputPerformer::~OutputPerformer() { *alive_ = false; }

std::size_t OutputPerformer::pending_statuses() const { return status_writer_->pending(); }

std::size_t OutputPerformer::bindings_limit() const { return static_cast<std::size_t>(bindings_->limit()); }

std::size_t OutputPerformer::queued_events() const { return recorder_->Stats().queued; }

std::size_t OutputPerformer::FlushEvents(Duration limit) { return recorder_->Flush(limit); }

void OutputPerformer::Perform(scheduler::Output&& output) {
  if (auto* write = std::get_if<scheduler::Write>(&output)) {
    Write(std::move(*write));
  } else if (auto* event = std::get_if<scheduler::EmitEvent>(&output)) {
    RecordEvent(std::move(*event));
  } else if (auto* ask = std::get_if<scheduler::AskExtender>(&output)) {
    extenders_.Ask(std::move(*ask));
  } else if (auto* work = std::get_if<scheduler::Work>(&output)) {
    workers_.Run([this, operation = work->operation, run = std::move(work->work)] {
      const tracing::TracedCallPtr call =
          tracer_ == nullptr ? nullptr : tracer_->BeginCall(operation, "work", instruments::SpanKind::kInternal);
      const framework::Status status = framework::Guarded(run);
      if (call != nullptr) tracer_->EndCall(call, status.Message());
      push_(scheduler::WorkDone{operation, status});
    });
  }
}

void OutputPerformer::Write(scheduler::Write&& output) {
  const std::uint64_t operation = output.operation;
  framework::ApiWrite& write = output.write;
  if (auto* bind = std::get_if<framework::BindWrite>(&write)) {
    Bind(operation, std::move(*bind));
  } else if (auto* status = std::get_if<framework::PodStatusWrite>(&write)) {
    status_writer_->Write(std::move(*status));
  } else if (auto* read = std::get_if<framework::PodRead>(&write)) {
    ReadPod(operation, read->pod);
  } else if (auto* patch = std::get_if<framework::ObjectPatch>(&write)) {
    const std::string namespace_name = patch->object.namespace_name;
    const tracing::TracedCallPtr call = BeginCall(operation, "PATCH " + patch->object.resource);
    WriteInTurn(operation, call, namespace_name, output.is_sequel,
                [this, target = Traced(TargetOf(std::move(patch->object), std::move(patch->subresource)), call),
                 format = FormatOf(patch->type), body = std::move(patch->body)](client::ApiWriter::ReadDone done) {
                  writer_.Patch(target, format, body, std::move(done));
                });
  } else if (auto* create = std::get_if<framework::ObjectCreate>(&write)) {
    const std::string namespace_name = create->object.namespace_name;
    const tracing::TracedCallPtr call = BeginCall(operation, "POST " + create->object.resource);
    WriteInTurn(operation, call, namespace_name, output.is_sequel,
                [this, target = Traced(TargetOf(std::move(create->object)), call), body = std::move(create->body)](
                    client::ApiWriter::ReadDone done) { writer_.Create(target, body, std::move(done)); });
  } else if (auto* removal = std::get_if<framework::ObjectDelete>(&write)) {
    const std::string namespace_name = removal->object.namespace_name;
    const tracing::TracedCallPtr call = BeginCall(operation, "DELETE " + removal->object.resource);
    WriteInTurn(operation, call, namespace_name, output.is_sequel,
                [this, target = Traced(TargetOf(std::move(removal->object)), call), uid = std::move(removal->uid)](
                    client::ApiWriter::ReadDone done) { writer_.Delete(target, uid, std::move(done)); });
  } else if (auto* get = std::get_if<framework::ObjectRead>(&write)) {
    const tracing::TracedCallPtr call = BeginCall(operation, "GET " + get->object.resource);
    writer_.Get(Traced(TargetOf(std::move(get->object)), call), Answer(operation, call));
  }
}

// Null: the operation belongs to no trace.
tracing::TracedCallPtr OutputPerformer::BeginCall(std::uint64_t operation, std::string_view name) {
  return tracer_ == nullptr ? nullptr : tracer_->BeginCall(operation, name);
}

void OutputPerformer::Bind(std::uint64_t operation, framework::BindWrite&& bind) {
  const std::string uid = bind.pod.uid;
  status_writer_->Settle(uid, [this, operation, bind = std::move(bind)] {
    const tracing::TracedCallPtr call = BeginCall(operation, "POST pods/binding");
    bindings_->Bind(
        {bind.pod.namespace_name, bind.pod.name, bind.pod.uid, TraceParentOf(call)}, bind.node_name,
        [this, alive = alive_, operation, call](const Expected<void>& result) {
          if (!*alive) return;
          if (call != nullptr) tracer_->EndCall(call, result.ok() ? std::string() : result.error().message);
          push_(scheduler::WriteDone{operation, result.ok() ? std::nullopt : std::optional(result.error())});
        });
  });
}

void OutputPerformer::ReadPod(std::uint64_t operation, const framework::PodRef& pod) {
  const tracing::TracedCallPtr call = BeginCall(operation, "GET pods");
  const auto answer = [this, alive = alive_, operation, call](const Expected<std::string>& json) {
    if (!*alive) return;
    if (call != nullptr) tracer_->EndCall(call, json.ok() ? std::string() : json.error().message);
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
    push_(std::move(done));
  };
  writer_.GetPod({pod.namespace_name, pod.name, {}, TraceParentOf(call)}, answer);
}

void OutputPerformer::RecordEvent(scheduler::EmitEvent&& event) {
  client::Event record;
  record.is_warning = event.is_warning;
  record.reason = std::move(event.reason);
  record.action = std::move(event.action);
  record.note = std::move(event.note);
  record.scheduler_name = std::move(event.reporting_controller);
  record.regarding = ReferenceTo(std::move(event.regarding));
  record.regarding.kind = std::move(event.kind);
  if (event.related) record.related = ReferenceTo(std::move(*event.related));
  recorder_->Record(std::move(record));
}

void OutputPerformer::WriteInTurn(std::uint64_t operation, tracing::TracedCallPtr call,
                                  const std::string& namespace_name, bool is_sequel, SendWrite send) {
  const auto start = [alive = alive_, send = std::move(send),
                      answer = Answer(operation, std::move(call))](client::RequestLanes::Ended ended) {
    if (!*alive) return false;
    send([answer, ended = std::move(ended)](Expected<std::string> body) {
      const client::RequestEnd end = client::EndOf(body);
      answer(std::move(body));
      ended(end);
    });
    return true;
  };
  if (is_sequel) {
    lanes_->AddFirst(namespace_name, start);
  } else {
    lanes_->Add(namespace_name, start);
  }
}

client::ApiWriter::ReadDone OutputPerformer::Answer(std::uint64_t operation, tracing::TracedCallPtr call) {
  return [this, alive = alive_, operation, call = std::move(call)](Expected<std::string> body) {
    if (!*alive) return;
    if (call != nullptr) tracer_->EndCall(call, body.ok() ? std::string() : body.error().message);
    scheduler::WriteDone done{operation, std::nullopt, {}};
    if (body.ok()) {
      done.body = std::move(*body);
    } else {
      done.error = body.error();
    }
    push_(std::move(done));
  };
}

}  // namespace berth::runner
