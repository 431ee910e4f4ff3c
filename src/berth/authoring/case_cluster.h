// SPDX-License-Identifier: Apache-2.0
// A cluster in memory around the core, for the cases of `berth plugin test` and testing::SmallCluster: everything that
// the scheduler wants done outside is done at once and succeeds, and time passes as fast as it is waited for.
// Single-threaded.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "berth/authoring/plugin_case.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/plugins/registry.h"

namespace berth::authoring {

class CaseCluster {
 public:
  // The cluster of the case, its pods on their nodes; the pending ones are in the queue. Fails when a plugin cannot be
  // made.
  static Expected<std::unique_ptr<CaseCluster>> Make(const PluginCase& test, plugins::KnownPlugins plugins);
  CaseCluster(const CaseCluster&) = delete;
  CaseCluster& operator=(const CaseCluster&) = delete;

  // As the queue has it; null: it is not there.
  framework::PodInfoPtr FindPending(const api::Pod& pod) const;
  // What held the pod back before it could be scheduled; nullopt: nothing.
  std::optional<std::string> GateOf(const api::Pod& pod) const;
  // The plugins of the pod's profile, which live as long as the cluster; null: nobody schedules it.
  const runtime::ProfilePlugins* ProfileOf(const api::Pod& pod) const;
  const framework::NodeTable& nodes() const { return core_->cache().nodes(); }
  Time now() const { return now_; }

  // New ones, or others in place of those that have the same name (pods: the same uid).
  void SetNode(NodePtr node);
  void SetPod(api::Pod pod);
  void SetObject(framework::AnyObject object);
  void RemoveNode(const std::string& name);
  void RemovePod(const std::string& uid);

  // Schedules until nothing is left to do, or that much of the cluster's time has gone by. Longer than any wait at
  // Permit, when it is not said.
  void Run(Duration time_max = std::chrono::minutes(16));

  // After Run: where the pod is; empty: nowhere.
  std::string NodeOf(const api::Pod& pod) const;
  // After Run: why it is nowhere.
  std::string WhyNot(const api::Pod& pod) const;

 private:
  explicit CaseCluster(const PluginCase& test);

  // True when something was done.
  bool Perform();
  void Perform(scheduler::Write&& write);

  std::mutex decisions_mutex_;  // guards decisions_: a plugin may have threads
  std::vector<framework::PermitDecision> decisions_;
  scheduler::CoreHandle handle_;
  std::vector<const runtime::ProfilePlugins*> profiles_;  // the core's
  std::unique_ptr<scheduler::Scheduler> core_;
  std::map<std::string, PodPtr> pods_;          // by uid, as the API server would have them
  std::map<std::string, std::string> refused_;  // by uid: what its condition says
  Time now_;
  int resource_version_ = 0;
};

}  // namespace berth::authoring
