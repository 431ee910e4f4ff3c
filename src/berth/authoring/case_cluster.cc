// SPDX-License-Identifier: Apache-2.0
#include "berth/authoring/case_cluster.h"

#include <algorithm>
#include <utility>

#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/framework/guarded.h"
#include "berth/plugins/names.h"
#include "berth/shell/plugin_files/plugin_files.h"

namespace berth::authoring {
namespace {

// The first of January 2030: a case has the same time whenever it runs.
constexpr Time kEpoch = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};
// Of the loop below: against plugins that begin something anew for ever.
constexpr int kTurnsMax = 100'000;

// A plugin alone still needs what takes pods out of the queue and binds them, unless it does that itself.
void AddSortAndBind(const std::string& name, plugins::KnownPlugins known, framework::Handle& handle,
                    config::Profile& profile) {
  const config::PluginArgs* given = profile.FindArgs(name);
  const config::PluginArgs args = given != nullptr ? *given : config::DefaultArgs(name);
  std::unique_ptr<framework::Plugin> made;
  // What is wrong with the plugin is for MakeProfiles to say.
  if (const plugins::PluginRegistration* registered = plugins::FindPlugin(known, name)) {
    static_cast<void>(framework::GuardedCall([&] {
      auto created =
          registered->create_named ? registered->create_named(name, args, handle) : registered->create(args, handle);
      if (created.ok()) made = std::move(*created);
    }));
  }
  auto& enabled = profile.plugins.multi_point.enabled;
  if (dynamic_cast<const framework::QueueSortPlugin*>(made.get()) == nullptr)
    enabled.push_back({std::string(plugins::names::kPrioritySort), 0});
  if (dynamic_cast<const framework::BindPlugin*>(made.get()) == nullptr)
    enabled.push_back({std::string(plugins::names::kDefaultBinder), 0});
}

}  // namespace

CaseCluster::CaseCluster(const PluginCase& test)
    : handle_(
          [this](framework::PermitDecision decision) {
            const std::lock_guard lock(decisions_mutex_);
            decisions_.push_back(std::move(decision));
          },
          framework::Metrics::None(), plugin_files::PluginFiles(test.files_from)),
      now_(kEpoch) {}

Expected<std::unique_ptr<CaseCluster>> CaseCluster::Make(const PluginCase& test, plugins::KnownPlugins plugins) {
  std::unique_ptr<CaseCluster> made(new CaseCluster(test));
  config::KubeSchedulerConfiguration configuration = test.configuration;
  if (!test.lone_plugin.empty()) {
    // An instance of its own, made for a look at it.
    scheduler::CoreHandle scratch([](framework::PermitDecision) {}, framework::Metrics::None(),
                                  plugin_files::PluginFiles(test.files_from));
    AddSortAndBind(test.lone_plugin, plugins, scratch, configuration.profiles.front());
  }
  BERTH_ASSIGN_OR_RETURN(auto profiles, runtime::MakeProfiles(configuration, plugins, made->handle_));
  for (const auto& profile : profiles) made->profiles_.push_back(profile.get());
  scheduler::SchedulerOptions options;
  options.seed = 1;
  made->core_ = std::make_unique<scheduler::Scheduler>(options, made->handle_, std::move(profiles));
  for (const framework::AnyObject& object : test.objects) made->SetObject(object);
  for (const NodePtr& node : test.nodes) made->SetNode(node);
  for (const PodPtr& pod : test.pods) made->SetPod(*pod);
  for (const PodPtr& pod : test.pending) made->SetPod(*pod);
  return made;
}

void CaseCluster::SetObject(framework::AnyObject object) {
  core_->Handle(scheduler::ObjectSet{std::move(object)}, now_);
}

void CaseCluster::SetNode(NodePtr node) { core_->Handle(scheduler::NodeSet{std::move(node)}, now_); }

void CaseCluster::RemoveNode(const std::string& name) { core_->Handle(scheduler::NodeGone{name}, now_); }

void CaseCluster::SetPod(api::Pod pod) {
  pod.metadata.resource_version = std::to_string(++resource_version_);
  auto object = std::make_shared<const api::Pod>(std::move(pod));
  pods_[object->metadata.uid] = object;
  core_->Handle(scheduler::PodSet{std::move(object)}, now_);
}

void CaseCluster::RemovePod(const std::string& uid) {
  const auto at = pods_.find(uid);
  if (at == pods_.end()) return;
  const api::ObjectMeta meta = at->second->metadata;
  pods_.erase(at);
  refused_.erase(uid);
  core_->Handle(scheduler::PodGone{meta.namespace_name, meta.name, meta.uid}, now_);
}

framework::PodInfoPtr CaseCluster::FindPending(const api::Pod& pod) const {
  const framework::PodInfoPtr* found = core_->queue().FindWaiting(pod.metadata.uid);
  return found == nullptr ? nullptr : *found;
}

std::optional<std::string> CaseCluster::GateOf(const api::Pod& pod) const {
  const auto standing = core_->queue().Find(pod.metadata.uid);
  if (!standing || standing->place != queue::Place::kGated) return std::nullopt;
  return standing->gating_plugin + ": " + standing->gating_message;
}

const runtime::ProfilePlugins* CaseCluster::ProfileOf(const api::Pod& pod) const {
  const auto at = std::find_if(profiles_.begin(), profiles_.end(),
                               [&](const auto* profile) { return profile->scheduler_name == pod.spec.scheduler_name; });
  return at == profiles_.end() ? nullptr : *at;
}

void CaseCluster::Run(Duration time_max) {
  const Time end = now_ + time_max;
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    core_->Tick(now_);
    bool has_done = core_->ScheduleOne(now_);
    has_done |= Perform();
    if (has_done) continue;
    if (core_->IsIdle()) return;
    const std::optional<Time> wake = core_->NextWake();
    if (!wake || *wake > end) return;
    now_ = std::max(now_ + Duration{1}, *wake);
  }
}

bool CaseCluster::Perform() {
  std::vector<scheduler::Output> outputs;
  core_->TakeOutputs(outputs);
  std::vector<framework::PermitDecision> decisions;
  {
    const std::lock_guard lock(decisions_mutex_);
    decisions.swap(decisions_);
  }
  bool has_done = !decisions.empty();
  for (framework::PermitDecision& decision : decisions) core_->Handle(std::move(decision), now_);
  for (scheduler::Output& output : outputs) {
    if (auto* write = std::get_if<scheduler::Write>(&output)) {
      Perform(std::move(*write));
      has_done = true;
    } else if (auto* work = std::get_if<scheduler::Work>(&output)) {
      core_->Handle(scheduler::WorkDone{work->operation, framework::Guarded(work->work)}, now_);
      has_done = true;
    }
  }
  return has_done;
}

void CaseCluster::Perform(scheduler::Write&& write) {
  if (const auto* bind = std::get_if<framework::BindWrite>(&write.write)) {
    const auto at = pods_.find(bind->pod.uid);
    if (at == pods_.end()) return;
    api::Pod bound = *at->second;
    bound.spec.node_name = bind->node_name;
    core_->Handle(scheduler::WriteDone{write.operation, std::nullopt}, now_);
    SetPod(std::move(bound));
  } else if (const auto* read = std::get_if<framework::PodRead>(&write.write)) {
    const auto at = pods_.find(read->pod.uid);
    core_->Handle(scheduler::PodReadDone{write.operation, at == pods_.end() ? nullptr : at->second, {}}, now_);
  } else if (const auto* removal = std::get_if<framework::ObjectDelete>(&write.write)) {
    core_->Handle(scheduler::WriteDone{write.operation, std::nullopt, "{}"}, now_);
    // A pod that makes room for another one goes at once.
    if (removal->object.resource == "pods") RemovePod(removal->uid);
  } else if (const auto* status = std::get_if<framework::PodStatusWrite>(&write.write)) {
    if (status->has_condition) refused_[status->pod.uid] = status->condition_message;
  } else {
    core_->Handle(scheduler::WriteDone{write.operation, std::nullopt, "{}"}, now_);
  }
}

std::string CaseCluster::NodeOf(const api::Pod& pod) const {
  const framework::PodInfoPtr* found = core_->cache().FindPod(pod.metadata.uid);
  return found == nullptr ? std::string() : (*found)->node_name;
}

std::string CaseCluster::WhyNot(const api::Pod& pod) const {
  if (const auto gate = GateOf(pod)) return *gate;
  if (const auto at = refused_.find(pod.metadata.uid); at != refused_.end()) return at->second;
  const std::string key = pod.metadata.namespace_name + "/" + pod.metadata.name;
  for (scheduler::UnboundPod& unbound : core_->Unbound()) {
    if (unbound.key == key) return std::move(unbound.why);
  }
  return ProfileOf(pod) == nullptr ? "no profile is called " + pod.spec.scheduler_name : "it is gone";
}

}  // namespace berth::authoring
