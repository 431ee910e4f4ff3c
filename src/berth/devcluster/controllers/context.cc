// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/context.h"

#include "berth/base/log.h"

namespace berth::controllers {
namespace {

constexpr Duration kLogInterval = std::chrono::seconds(5);

}  // namespace

Context::Context(client::RestClient& r, client::RestClient& events_rest, const ControllersOptions& o)
    : rest(r), loop(r.loop()), options(o), recorder_(events_rest, {.hostname = o.hostname, .seed = o.seed + 1}) {}

const OwnerKind* Context::FindOwnerKind(const api::OwnerReference& owner) {
  for (const OwnerKind* each : {&kReplicaSets, &kJobs, &kDaemonSets, &kStatefulSets}) {
    if (owner.kind == each->kind && owner.api_version == ApiVersionOf(each->kind)) return each;
  }
  return nullptr;
}

const ObjectIndex<WorkloadView>* Context::OwnersOf(const api::OwnerReference& owner) const {
  const OwnerKind* kind = FindOwnerKind(owner);
  if (kind == &kReplicaSets) return &replica_sets;
  if (kind == &kJobs) return &jobs;
  if (kind == &kDaemonSets) return &daemon_sets;
  if (kind == &kStatefulSets) return &stateful_sets;
  return nullptr;
}

Context::Answer Context::WhenAlive(Answer answer) {
  return [weak = weak_from_this(), answer = std::move(answer)](Expected<net::Response> response) {
    const auto self = weak.lock();
    if (self && !self->is_stopped) answer(std::move(response));
  };
}

void Context::Send(std::string method, std::string path, const json::object& body, std::string_view content_type,
                   Answer answer) {
  net::Request request;
  request.method = std::move(method);
  request.target = std::move(path);
  request.body = codec::WriteJson(body);
  if (!content_type.empty()) request.headers.push_back({"Content-Type", std::string(content_type)});
  rest.Do(std::move(request), {.tries = 1}, WhenAlive(std::move(answer)));
}

void Context::Read(std::string path, std::string_view accept, Answer answer) {
  net::Request request;
  request.target = std::move(path);
  if (!accept.empty()) request.headers.push_back({"Accept", std::string(accept)});
  rest.Do(std::move(request), {}, WhenAlive(std::move(answer)));
}

void Context::Delete(std::string path, const ObjectView& object, DeleteMode mode, Answer answer) {
  json::object preconditions{{"uid", object.uid}};
  if (mode.is_version_strict) preconditions["resourceVersion"] = object.resource_version;
  json::object body{{"apiVersion", "v1"},
                    {"kind", "DeleteOptions"},
                    {"propagationPolicy", View(mode.propagation)},
                    {"preconditions", std::move(preconditions)}};
  if (mode.is_immediate) body["gracePeriodSeconds"] = 0;
  Send("DELETE", std::move(path), body, {}, std::move(answer));
}

Context::Answer Context::AfterCollecting(std::string key, std::function<void(bool)> done) {
  return [this, key = std::move(key), done = std::move(done)](Expected<net::Response> response) {
    if (response.ok()) {
      ++objects_collected;
      return done(true);
    }
    if (response.error().code == ErrorCode::kNotFound) return done(true);
    // A conflict: it changed, so look at it again.
    if (response.error().code != ErrorCode::kConflict) CountFailure("collecting", key, response.error());
    done(false);
  };
}

void Context::Enter(std::function<void()> work) {
  if (entered_ >= options.in_flight_max) {
    waiting_.push_back(std::move(work));
    return;
  }
  ++entered_;
  work();
}

void Context::Leave() {
  --entered_;
  if (waiting_.empty()) return;
  // Posted: works that end at once must not pile up on the stack.
  ++entered_;
  loop.Post([weak = weak_from_this(), work = std::move(waiting_.front())] {
    const auto self = weak.lock();
    if (self && !self->is_stopped) work();
  });
  waiting_.pop_front();
}

void Context::RecordEvent(const ObjectView& regarding, std::string_view kind, std::string_view reporter,
                          bool is_warning, std::string_view reason, std::string note, const std::string& pod) {
  client::Event event;
  event.is_warning = is_warning;
  event.reason = reason;
  event.action = reason;
  event.note = std::move(note);
  event.regarding = {
      std::string(ApiVersionOf(kind)), std::string(kind), regarding.namespace_name, regarding.name, regarding.uid,
      regarding.resource_version};
  // Events that differ in their note alone count as repetitions of one.
  if (!pod.empty()) event.related = client::ObjectReference{"v1", "Pod", regarding.namespace_name, pod, {}, {}};
  event.scheduler_name = reporter;
  recorder_.Record(std::move(event));
}

void Context::CountFailure(std::string_view doing, const std::string& key, const Error& error) {
  ++failures;
  if (failure_logged_at_ && loop.Now() - *failure_logged_at_ < kLogInterval) return;
  failure_logged_at_ = loop.Now();
  log::Warning("controllers", "Will try again",
               {{"while", std::string(doing) + ' ' + key}, {"err", error.message}, {"failures", failures.load()}});
}

}  // namespace berth::controllers
