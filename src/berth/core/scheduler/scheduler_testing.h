// SPDX-License-Identifier: Apache-2.0
// The harness of the scheduler's tests: a core with a fake clock, whose outputs are read as lines of text and answered
// by the test; and plugins for the binding cycle with scripted behaviour. Tests only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/cache/cache.h"
#include "berth/core/config/default.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/output_lines_testing.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/core/scheduler/scheduler_options.h"
#include "berth/plugins/registry.h"
#include "berth/testing/builders.h"

namespace berth::scheduler {

using namespace std::chrono_literals;

struct Profiles : std::vector<std::unique_ptr<runtime::ProfilePlugins>> {
  std::unique_ptr<CoreHandle> handle = std::make_unique<CoreHandle>([](framework::PermitDecision) {});
};

// The default profile, under each of these names.
inline Profiles DefaultProfiles(const std::vector<std::string>& names = {"default-scheduler"}) {
  Profiles profiles;
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  configuration.profiles.resize(names.size(), configuration.profiles.front());
  for (std::size_t i = 0; i < names.size(); ++i) configuration.profiles[i].scheduler_name = names[i];
  auto made = runtime::MakeProfiles(configuration, plugins::InTreePlugins(), *profiles.handle);
  BERTH_CHECK(made.ok(), made.error().message);
  static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = std::move(*made);
  return profiles;
}

// A plugin with every point from Reserve on. It records each call. A point answers with its function; without one it
// succeeds (Bind: skips).
class Actor final : public framework::ReservePlugin,
                    public framework::PermitPlugin,
                    public framework::PreBindPlugin,
                    public framework::BindPlugin,
                    public framework::PostBindPlugin {
 public:
  Actor(std::string name, Lines& calls) : name_(std::move(name)), calls_(calls) {}
  std::string_view Name() const override { return name_; }

  framework::Status Reserve(const framework::Cycle&, const framework::PodInfo& pod, std::string_view node) override {
    Note("Reserve", node);
    return reserve ? reserve(pod) : framework::Status();
  }
  void Unreserve(const framework::PodInfo&, std::string_view node) override {
    Note("Unreserve", node);
    if (unreserve) unreserve();
  }
  framework::PermitResult Permit(const framework::Cycle&, const framework::PodInfo& pod,
                                 std::string_view node) override {
    Note("Permit", node);
    return permit ? permit(pod) : framework::PermitResult();
  }
  framework::Status PreBindPreFlight(const framework::PodInfo&) override {
    return pre_flight ? pre_flight() : pre_bind ? framework::Status() : framework::Status::Skip();
  }
  framework::Operation PreBind(const framework::PodInfo& pod) override {
    Note("PreBind", pod.node_name);
    return pre_bind ? pre_bind(pod) : framework::Operation::Done();
  }
  framework::Operation Bind(const framework::PodInfo& pod) override {
    Note("Bind", pod.node_name);
    return bind ? bind(pod) : framework::Operation::Done(framework::Status::Skip());
  }
  framework::Operation PostBind(const framework::PodInfo& pod) override {
    Note("PostBind", pod.node_name);
    return post_bind ? post_bind(pod) : framework::Operation::Done();
  }

  std::function<framework::Status(const framework::PodInfo&)> reserve;
  std::function<void()> unreserve;
  std::function<framework::PermitResult(const framework::PodInfo&)> permit;
  std::function<framework::Status()> pre_flight;
  std::function<framework::Operation(const framework::PodInfo&)> pre_bind;
  std::function<framework::Operation(const framework::PodInfo&)> bind;
  std::function<framework::Operation(const framework::PodInfo&)> post_bind;

 private:
  void Note(std::string_view point, std::string_view node) {
    calls_.push_back(name_ + "." + std::string(point) + " " + std::string(node));
  }

  std::string name_;
  Lines& calls_;
};

// Appends the actor at each of its points, but puts its Bind before the last Bind plugin.
inline Actor& Enable(runtime::ProfilePlugins& profile, const std::shared_ptr<Actor>& actor) {
  profile.owned.push_back(actor);
  profile.reserve.push_back(actor.get());
  profile.permit.push_back(actor.get());
  profile.pre_bind.push_back(actor.get());
  profile.bind.insert(profile.bind.end() - 1, actor.get());
  profile.post_bind.push_back(actor.get());
  return *actor;
}

// Options with which a core waits for answers practically forever.
inline SchedulerOptions PatientOptions() {
  return {
      .seed = 1, .binding_late_after = std::chrono::hours(1000), .binding_reported_after = std::chrono::hours(1000)};
}

// The lines of a failed attempt whose node had been announced: the status write clears the nomination.
inline Lines TakenBack(Lines lines) {
  lines.front() += " nominates ";
  return lines;
}

class Harness {
 public:
  explicit Harness(Profiles profiles = DefaultProfiles(), SchedulerOptions options = PatientOptions())
      : handle(std::move(profiles.handle)), core(options, *handle, std::move(profiles)) {}

  void Set(const testing::NodeBuilder& node) { core.Handle(NodeSet{node.Build()}, now); }
  void RemoveNode(const std::string& name) { core.Handle(NodeGone{name}, now); }
  void Set(const testing::PodBuilder& pod) { core.Handle(PodSet{Object(pod)}, now); }
  void Remove(const testing::PodBuilder& pod) {
    const api::ObjectMeta& meta = pod.Build().metadata;
    core.Handle(PodGone{meta.namespace_name, meta.name, meta.uid}, now);
  }
  std::shared_ptr<const api::Pod> Object(const testing::PodBuilder& pod) {
    auto object = std::make_shared<api::Pod>(pod.Build());
    object->metadata.resource_version = std::to_string(++resource_version_);
    return object;
  }

  // Lets time pass, handles what is due, and schedules all pods that are ready.
  void Run(Duration after = Duration{0}) {
    const Time end = now + after;
    for (;;) {
      core.Tick(now);
      while (core.ScheduleOne(now)) {
      }
      const std::optional<Time> wake = core.NextWake();
      if (!wake || *wake > end || now >= end) break;
      now = std::max(now + Duration{1}, *wake);
    }
    now = end;
    core.Tick(now);
    while (core.ScheduleOne(now)) {
    }
  }

  // The outputs since the last call, one line each (output_lines_testing.h). The next answer is for the last write or
  // work among them.
  Lines Take() {
    Lines lines;
    std::vector<Output> outputs;
    core.TakeOutputs(outputs);
    for (Output& output : outputs) {
      lines.push_back(LineOf(output));
      if (auto* ask = std::get_if<AskExtender>(&output)) {
        asked.push_back(ask->operation);
      } else if (auto* todo = std::get_if<Work>(&output)) {
        work = std::move(todo->work);
        operation = todo->operation;
      } else if (auto* write = std::get_if<Write>(&output)) {
        if (!std::holds_alternative<framework::PodStatusWrite>(write->write)) operation = write->operation;
      }
    }
    return lines;
  }

  void Answer(std::optional<Error> error = std::nullopt, std::string body = "") {
    core.Handle(WriteDone{operation, std::move(error), std::move(body)}, now);
  }
  void LoseAnswer() { Answer(Error{ErrorCode::kTimeout, "no answer", true}); }
  void AnswerRead(std::shared_ptr<const api::Pod> pod) { core.Handle(PodReadDone{operation, std::move(pod), {}}, now); }
  void FailRead() { core.Handle(PodReadDone{operation, nullptr, Error{ErrorCode::kUnavailable, "down"}}, now); }
  void AnswerWork() { core.Handle(WorkDone{operation, work()}, now); }
  void Decide(const testing::PodBuilder& pod, std::string plugin, bool allow, std::string message = "") {
    core.Handle(framework::PermitDecision{pod.Build().metadata.uid, std::move(plugin), allow, std::move(message)}, now);
  }

  bool IsIdle() const {
    return core.binding_count() == 0 && core.cache().assumed_count() == 0 && core.queue().Dump().empty();
  }

  Time now{std::chrono::seconds(1'000'000'020)};
  std::unique_ptr<CoreHandle> handle;
  Scheduler core;
  std::uint64_t operation = 0;
  std::vector<std::uint64_t> asked;  // open requests to extenders, by operation
  framework::Operation::Work work;

 private:
  int resource_version_ = 0;
};

}  // namespace berth::scheduler
