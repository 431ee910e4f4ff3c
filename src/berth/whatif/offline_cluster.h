// SPDX-License-Identifier: Apache-2.0
// OfflineCluster: a cluster in memory around the core: everything that the scheduler wants done outside is done at once
// and succeeds (in_memory_api.h), and time passes as fast as it is waited for. Nothing of it reaches a real cluster.
// Plugins may have threads; all else is one thread's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/pod_choice.h"
#include "berth/framework/pod_groups.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/cluster_use.h"
#include "berth/whatif/in_memory_api.h"
#include "berth/whatif/trial_journal.h"

namespace berth::runtime {
struct ProfilePlugins;
}  // namespace berth::runtime

namespace berth::scheduler {
class Overlay;
class Scheduler;
}  // namespace berth::scheduler

namespace berth::whatif {

struct OfflineOptions {
  // HTTP extenders are not asked.
  config::KubeSchedulerConfiguration configuration;
  config::KnownPlugins plugins;
  // Reads plugins' files, for framework::Handle::ReadFile. Empty: they can read none.
  std::function<Expected<framework::FileText>(const std::string&)> read_file;
  Time now{};  // the time of day at the beginning
  std::uint64_t seed = 1;
  scheduler::PodChoice pods{};
  // Pods that make room for others are being deleted until RemovePod(); otherwise they go at once.
  bool evicted_pods_stay = false;
  // Asked now and then by Run(); true: it returns, and WasInterrupted() is true from then on. Empty: nobody interrupts.
  std::function<bool()> is_interrupted = {};
};

class OfflineCluster {
 public:
  // A pod that made room for another one.
  struct Eviction {
    std::shared_ptr<const api::Pod> pod;
    std::string preemptor_uid;  // of a pod or a pod group; empty: not known
  };

  // An empty cluster. Fails when a plugin cannot be made.
  static Expected<std::unique_ptr<OfflineCluster>> Make(OfflineOptions options);
  ~OfflineCluster();
  OfflineCluster(const OfflineCluster&) = delete;
  OfflineCluster& operator=(const OfflineCluster&) = delete;

  // Adds all of the state. Pods without a node are then in the queue, and are not decided before Run().
  void Load(const ClusterState& state);
  // Adds an object, or replaces the one of the same name (a pod: of the same uid). A pod gets a resourceVersion of this
  // cluster.
  void SetNode(std::shared_ptr<const api::Node> node);
  void SetPod(api::Pod pod);
  void SetObject(framework::AnyObject object);
  void RemoveNode(const std::string& name);
  void RemovePod(const std::string& uid);
  void RemoveObject(framework::ObjectKind kind, const std::string& key);
  // A resourceVersion above all others of this cluster, for an object that is changed.
  std::string NextVersion();
  // Adds new objects; claims that wait for no pod are bound, as the volume controller and provisioners would do it.
  void Add(const std::vector<framework::AnyObject>& objects);

  // Schedules until nothing is left to do, or that much of the cluster's time has gone by. Longer than any wait at
  // Permit, when it is not said.
  void Run(Duration time_max = std::chrono::minutes(16));
  // Schedules what is due until that time has come, which must not be before now().
  void AdvanceTo(Time end) {
    Run(end - now_);
    now_ = end;
  }
  bool WasInterrupted() const { return was_interrupted_; }

  // For those who keep a loaded cluster and try something on it again and again. What is done between BeginTrial() and
  // EndTrial() is taken back, and the time that has gone by with it. A trial begins as on a cluster that was loaded
  // just now: `waiting`, all pods without a node, are in the queue in that order, and of nodes that are equally good
  // the same one is chosen. One at a time.
  using PodPtrs = std::vector<std::shared_ptr<const api::Pod>>;
  void BeginTrial(const PodPtrs& waiting);
  // False: not all could be taken back, and the cluster is of no use any more.
  [[nodiscard]] bool EndTrial();
  // The same beginning for who asks without a trial.
  void Renew(const PodPtrs& waiting);
  bool HasTried() const { return has_tried_; }
  // Puts the pods of a node into the order of these uids, as if they had come in it: of equally good victims the first
  // one goes. Uids of other pods are passed over.
  void OrderPods(const std::string& node, const std::vector<std::string>& uids);
  // Whatever time it is later; does nothing before now().
  void SetTime(Time now) { now_ = std::max(now_, now); }

  // An overlay for questions that change nothing.
  std::unique_ptr<scheduler::Overlay> MakeOverlay();

  const OfflineOptions& options() const { return options_; }
  const scheduler::Scheduler& core() const { return *core_; }
  const framework::Objects& objects() const { return handle_.objects(); }
  // Null: pods are scheduled one by one.
  const framework::PodGroups* pod_groups() const { return handle_.pod_groups(); }
  const framework::NodeTable& nodes() const;
  // To be brought up to date by who looks.
  NodeUseTable& node_uses() { return node_uses_; }
  Time now() const { return now_; }
  // The plugins of the pod's profile, which live as long as the cluster; null: nobody schedules it.
  const runtime::ProfilePlugins* ProfileOf(const api::Pod& pod) const;
  // The names of the schedulers that its profiles stand for.
  std::vector<std::string> ProfileNames() const;
  // The pod as the queue has it; null: it is not there.
  framework::PodInfoPtr FindPending(const api::Pod& pod) const;
  // What held the pod back before it could be scheduled; nullopt: nothing.
  std::optional<std::string> GateOf(const api::Pod& pod) const;

  // The pod as the API server would show it; null: there is none.
  std::shared_ptr<const api::Pod> FindPod(const std::string& uid) const {
    const auto at = pods_.find(uid);
    return at == pods_.end() ? nullptr : at->second;
  }

  // After Run: where the pod is; empty: nowhere.
  std::string NodeOf(const api::Pod& pod) const;
  std::string NodeOf(const std::string& uid) const;
  // After Run: why it is nowhere.
  std::string WhyNot(const api::Pod& pod) const;
  // In the order in which they went.
  const std::vector<Eviction>& evictions() const { return evictions_; }

 private:
  explicit OfflineCluster(OfflineOptions options);

  InMemoryApi::Cluster ForApi();
  // The core's time never goes back.
  Time CoreNow() const { return now_ + core_ahead_; }
  void Handle(scheduler::Input input);
  void GoBackTo(Time now);
  void Take(std::shared_ptr<const api::Pod> pod);
  // True when something was done.
  bool Perform();
  void Perform(scheduler::Write&& write);
  bool HasGroupsToRetry();
  void NotePod(const std::string& uid);
  void NoteNode(const std::string& name);
  void NoteObject(framework::ObjectKind kind, const std::string& key);
  // The core is told as if the pod had just come.
  void PutBack(const std::shared_ptr<const api::Pod>& pod);
  void RecordChange() { is_retry_due_ |= has_refused_groups_; }
  void Evict(const std::shared_ptr<const api::Pod>& pod);
  void Note(const scheduler::EmitEvent& event);

  const OfflineOptions options_;
  std::mutex decisions_mutex_;  // guards decisions_: a plugin may have threads
  std::vector<framework::PermitDecision> decisions_;
  scheduler::CoreHandle handle_;
  std::vector<const runtime::ProfilePlugins*> profiles_;  // the core's
  std::unique_ptr<scheduler::Scheduler> core_;
  std::map<std::string, std::shared_ptr<const api::Pod>> pods_;  // by uid, as the API server would have them
  std::map<std::string, std::string> refused_;                   // by uid: what its condition says
  std::vector<Eviction> evictions_;
  Time now_;
  Duration core_ahead_{0};  // how far the core's time is ahead of it: what trials have taken, in whole seconds
  // A refused pod group waits for nothing but its back-off. It is tried again after what changed behind its refusal.
  bool has_refused_groups_ = false;
  bool is_retry_due_ = false;
  Time retried_until_{};  // then all of them have been tried since it was due
  bool was_interrupted_ = false;
  std::optional<TrialJournal> trial_;  // nullopt: no trial is under way
  bool has_tried_ = false;             // since the last Renew()
  NodeUseTable node_uses_;
  InMemoryApi api_;
};

}  // namespace berth::whatif
