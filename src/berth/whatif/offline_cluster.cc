// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/offline_cluster.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "berth/base/check.h"
#include "berth/core/cache/cache.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/configured_options.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/guarded.h"
#include "berth/framework/object_kinds.h"
#include "berth/whatif/replacement.h"

namespace berth::whatif {
namespace {

// Most turns of the loop in Run(), against plugins that start something again for ever. A turn decides one pod at
// least.
constexpr std::int64_t kTurnsMax = 10'000'000;

// A turn takes some ten microseconds.
constexpr std::int64_t kTurnsBetweenLooks = 64;

// The event of a pod that made room, in upstream's words: "Preempted by pod UID on node NAME", or "by podgroup UID".
constexpr std::string_view kPreempted = "Preempted";
constexpr std::string_view kPreemptedBy = "Preempted by ";
constexpr std::string_view kOnNode = " on node ";

// How much longer than planned a back-off may last: the queue ends them in windows of a second.
constexpr Duration kBackoffWindow = std::chrono::seconds(1);

}  // namespace

OfflineCluster::~OfflineCluster() = default;

void OfflineCluster::RemoveObject(framework::ObjectKind kind, const std::string& key) {
  NoteObject(kind, key);
  RecordChange();
  core_->Handle(scheduler::ObjectGone{kind, key}, now_);
}

std::string OfflineCluster::NextVersion() { return api_.NextVersion(); }

std::unique_ptr<scheduler::Overlay> OfflineCluster::MakeOverlay() { return core_->MakeOverlay(now_); }

const framework::NodeTable& OfflineCluster::nodes() const { return core_->cache().nodes(); }

OfflineCluster::OfflineCluster(OfflineOptions options)
    : options_(std::move(options)),
      handle_(
          [this](framework::PermitDecision decision) {
            const std::lock_guard lock(decisions_mutex_);
            decisions_.push_back(std::move(decision));
          },
          framework::Metrics::None(), options_.read_file),
      now_(options_.now),
      api_(ForApi()) {}

InMemoryApi::Cluster OfflineCluster::ForApi() {
  // These writes do not count as changes by themselves, only the operations that they are part of: conditions of pod
  // groups change with each try.
  return {handle_.objects(),
          [this](framework::AnyObject object) {
            NoteObject(framework::KindOf(object), framework::KeyOf(object));
            core_->Handle(scheduler::ObjectSet{std::move(object)}, now_);
          },
          [this](framework::ObjectKind kind, const std::string& key) {
            NoteObject(kind, key);
            core_->Handle(scheduler::ObjectGone{kind, key}, now_);
          },
          [this](const std::string& name) -> const api::Node* {
            const framework::NodeIndex row = nodes().Find(name);
            return row == framework::kNoNode || !nodes().Info(row).has_node() ? nullptr : &nodes().Info(row).node();
          }};
}

Expected<std::unique_ptr<OfflineCluster>> OfflineCluster::Make(OfflineOptions options) {
  std::unique_ptr<OfflineCluster> made(new OfflineCluster(std::move(options)));
  BERTH_ASSIGN_OR_RETURN(auto profiles,
                         runtime::MakeProfiles(made->options_.configuration, made->options_.plugins, made->handle_));
  for (const auto& profile : profiles) made->profiles_.push_back(profile.get());
  scheduler::SchedulerOptions core = scheduler::OptionsOf(made->options_.configuration);
  core.extenders.clear();
  core.seed = made->options_.seed;
  core.pods = made->options_.pods;
  made->core_ = std::make_unique<scheduler::Scheduler>(core, made->handle_, std::move(profiles));
  return made;
}

void OfflineCluster::Load(const ClusterState& state) {
  for (const framework::AnyObject& object : state.objects) {
    std::visit([this](const auto& each) { api_.RecordVersion(each->metadata.resource_version); }, object);
    SetObject(object);
  }
  for (const auto& node : state.nodes) SetNode(node);
  for (const auto& pod : state.pods) {
    api_.RecordVersion(pod->metadata.resource_version);
    Take(pod);
  }
}

void OfflineCluster::SetObject(framework::AnyObject object) {
  NoteObject(framework::KindOf(object), framework::KeyOf(object));
  RecordChange();
  core_->Handle(scheduler::ObjectSet{std::move(object)}, now_);
}

void OfflineCluster::Add(const std::vector<framework::AnyObject>& objects) {
  for (const framework::AnyObject& object : objects) SetObject(object);
  for (const framework::AnyObject& object : objects) {
    if (const auto* claim = std::get_if<std::shared_ptr<const api::PersistentVolumeClaim>>(&object))
      api_.BindNow(**claim);
  }
}

void OfflineCluster::SetNode(std::shared_ptr<const api::Node> node) {
  NoteNode(node->metadata.name);
  RecordChange();
  core_->Handle(scheduler::NodeSet{std::move(node)}, now_);
}

void OfflineCluster::RemoveNode(const std::string& name) {
  NoteNode(name);
  RecordChange();
  core_->Handle(scheduler::NodeGone{name}, now_);
}

void OfflineCluster::SetPod(api::Pod pod) {
  pod.metadata.resource_version = api_.NextVersion();
  Take(std::make_shared<const api::Pod>(std::move(pod)));
}

void OfflineCluster::Take(std::shared_ptr<const api::Pod> pod) {
  NotePod(pod->metadata.uid);
  RecordChange();
  pods_[pod->metadata.uid] = pod;
  core_->Handle(scheduler::PodSet{std::move(pod)}, now_);
}

void OfflineCluster::RemovePod(const std::string& uid) {
  const auto at = pods_.find(uid);
  if (at == pods_.end()) return;
  NotePod(uid);
  const api::ObjectMeta meta = at->second->metadata;
  pods_.erase(at);
  refused_.erase(uid);
  RecordChange();
  core_->Handle(scheduler::PodGone{meta.namespace_name, meta.name, meta.uid}, now_);
}

std::vector<std::string> OfflineCluster::ProfileNames() const {
  std::vector<std::string> names;
  for (const runtime::ProfilePlugins* profile : profiles_) names.push_back(profile->scheduler_name);
  return names;
}

framework::PodInfoPtr OfflineCluster::FindPending(const api::Pod& pod) const {
  const framework::PodInfoPtr* found = core_->queue().FindWaiting(pod.metadata.uid);
  return found == nullptr ? nullptr : *found;
}

std::optional<std::string> OfflineCluster::GateOf(const api::Pod& pod) const {
  const auto standing = core_->queue().Find(pod.metadata.uid);
  if (!standing || standing->place != queue::Place::kGated) return std::nullopt;
  return standing->gating_plugin + ": " + standing->gating_message;
}

const runtime::ProfilePlugins* OfflineCluster::ProfileOf(const api::Pod& pod) const {
  if (!options_.pods.Serves(pod.metadata.namespace_name)) return nullptr;
  const std::string_view annotated = scheduler::AnnotatedScheduler(options_.pods, pod);
  const std::string_view name = annotated.empty() ? pod.spec.scheduler_name : annotated;
  const auto at = std::find_if(profiles_.begin(), profiles_.end(),
                               [&](const auto* profile) { return profile->scheduler_name == name; });
  return at == profiles_.end() ? nullptr : *at;
}

void OfflineCluster::Run(Duration time_max) {
  const Time end = now_ + time_max;
  for (std::int64_t turn = 0; turn < kTurnsMax; ++turn) {
    if (turn % kTurnsBetweenLooks == 0 && options_.is_interrupted && options_.is_interrupted()) {
      was_interrupted_ = true;
      return;
    }
    core_->Tick(now_);
    bool has_done = core_->ScheduleOne(now_);
    has_done |= Perform();
    if (has_done) continue;
    if (core_->IsIdle() && !HasGroupsToRetry()) return;
    const std::optional<Time> wake = core_->NextWake();
    if (!wake || *wake > end) return;
    now_ = std::max(now_ + Duration{1}, *wake);
  }
}

bool OfflineCluster::HasGroupsToRetry() {
  if (now_ < retried_until_) return true;
  if (!std::exchange(is_retry_due_, false)) return false;
  for (const queue::PodStanding& standing : core_->queue().Dump()) {
    if (standing.backoff_expiration && !standing.pod->pod_group_name.empty())
      retried_until_ = std::max(retried_until_, *standing.backoff_expiration + kBackoffWindow);
  }
  return now_ < retried_until_;
}

bool OfflineCluster::Perform() {
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
    } else if (const auto* event = std::get_if<scheduler::EmitEvent>(&output)) {
      Note(*event);
    }
  }
  return has_done;
}

void OfflineCluster::Perform(scheduler::Write&& write) {
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
  } else if (const auto* removal = std::get_if<framework::ObjectDelete>(&write.write);
             removal != nullptr && removal->object.resource == "pods") {
    core_->Handle(scheduler::WriteDone{write.operation, std::nullopt, "{}"}, now_);
    const auto at = pods_.find(removal->uid);
    if (at != pods_.end()) Evict(std::shared_ptr<const api::Pod>(at->second));
  } else if (const auto* status = std::get_if<framework::PodStatusWrite>(&write.write)) {
    if (status->has_condition) refused_[status->pod.uid] = status->condition_message;
    if (!status->has_condition || pod_groups() == nullptr) return;
    const framework::PodInfoPtr* const pending = core_->queue().FindWaiting(status->pod.uid);
    has_refused_groups_ |= pending != nullptr && !(*pending)->pod_group_name.empty();
  } else {
    auto answer = api_.Do(write.write);
    if (answer.ok()) {
      core_->Handle(scheduler::WriteDone{write.operation, std::nullopt, std::move(*answer)}, now_);
    } else {
      core_->Handle(scheduler::WriteDone{write.operation, answer.error()}, now_);
    }
  }
}

void OfflineCluster::Evict(const std::shared_ptr<const api::Pod>& pod) {
  // The preemptor is tried again once the pod has gone, and the clock goes on with it.
  if (trial_) trial_->Spoil();
  evictions_.push_back({pod, {}});
  if (!options_.evicted_pods_stay) return RemovePod(pod->metadata.uid);
  api::Pod leaving = *pod;
  leaving.metadata.deletion_time = now_;
  leaving.status.conditions.push_back({"DisruptionTarget", "True", "PreemptionByScheduler", {}});
  SetPod(std::move(leaving));
}

void OfflineCluster::Note(const scheduler::EmitEvent& event) {
  if (event.reason != kPreempted || !event.note.starts_with(kPreemptedBy)) return;
  const auto eviction = std::find_if(evictions_.rbegin(), evictions_.rend(), [&](const Eviction& each) {
    return each.pod->metadata.uid == event.regarding.uid;
  });
  if (eviction == evictions_.rend()) return;
  std::string_view by = std::string_view(event.note).substr(kPreemptedBy.size());
  by = by.substr(0, by.find(kOnNode));
  eviction->preemptor_uid = by.substr(std::min(by.find(' '), by.size() - 1) + 1);
}

void OfflineCluster::NotePod(const std::string& uid) {
  if (!trial_) return;
  const std::shared_ptr<const api::Pod> before = FindPod(uid);
  trial_->NotePod(uid, before);
  if (before == nullptr || before->spec.node_name.empty() || trial_->orders.contains(before->spec.node_name)) return;
  const framework::NodeIndex row = nodes().Find(before->spec.node_name);
  if (row == framework::kNoNode) return;
  std::vector<std::string>& order = trial_->orders[before->spec.node_name];
  for (const framework::PodInfoPtr& pod : nodes().Info(row).pods()) order.push_back(pod->uid);
}

void OfflineCluster::NoteNode(const std::string& name) {
  if (!trial_) return;
  const framework::NodeIndex row = nodes().Find(name);
  const bool is_there = row != framework::kNoNode && nodes().Info(row).has_node();
  trial_->NoteNode(name, is_there ? nodes().Info(row).node_ptr() : nullptr);
  // Among equals the draw is by the number of rows, which new nodes change.
  const bool was_there = std::ranges::any_of(
      trial_->nodes, [&](const auto& change) { return change.first == name && change.second != nullptr; });
  if (!is_there && !was_there) trial_->Spoil();
}

void OfflineCluster::NoteObject(framework::ObjectKind kind, const std::string& key) {
  if (!trial_ || trial_->added_objects.contains({kind, key})) return;
  if (framework::IsNull(handle_.mutable_objects().Get(kind, key))) {
    trial_->added_objects.insert({kind, key});
  } else {
    trial_->Spoil();
  }
}

void OfflineCluster::PutBack(const std::shared_ptr<const api::Pod>& pod) {
  const api::ObjectMeta& meta = pod->metadata;
  core_->Handle(scheduler::PodGone{meta.namespace_name, meta.name, meta.uid}, now_);
  core_->Handle(scheduler::PodSet{pod}, now_);
}

void OfflineCluster::Renew(const PodPtrs& waiting) {
  if (!std::exchange(has_tried_, false)) return;
  // The queue orders pods of one priority by when they came.
  for (const auto& pod : waiting) PutBack(pod);
  core_->StartOver(options_.seed);
}

void OfflineCluster::BeginTrial() {
  BERTH_CHECK(!trial_, "a trial is under way");
  core_->StartOver(options_.seed);
  has_tried_ = true;
  TrialJournal& trial = trial_.emplace();
  trial.had_refused_groups = has_refused_groups_;
  trial.was_retry_due = is_retry_due_;
  trial.retried_until = retried_until_;
}

bool OfflineCluster::EndTrial() {
  BERTH_CHECK(trial_, "no trial is under way");
  // A trial that was interrupted may have left bindings that are under way.
  for (std::int64_t turn = 0; was_interrupted_ && turn < kTurnsMax && Perform(); ++turn) {
  }
  const TrialJournal trial = *std::exchange(trial_, std::nullopt);
  if (trial.is_spoilt || core_->binding_count() > 0) return false;
  was_interrupted_ = false;
  for (const auto& [uid, before] : trial.pods) {
    if (FindPod(uid) != before) RemovePod(uid);
  }
  // In reverse, so that each node gets the row that it had.
  for (auto at = trial.nodes.rbegin(); at != trial.nodes.rend(); ++at) {
    if (at->second == nullptr) {
      RemoveNode(at->first);
    } else {
      SetNode(at->second);
    }
  }
  for (const auto& [kind, key] : trial.added_objects) {
    if (!framework::IsNull(handle_.mutable_objects().Get(kind, key))) RemoveObject(kind, key);
  }
  for (const auto& [uid, before] : trial.pods) {
    refused_.erase(uid);
    if (before != nullptr && FindPod(uid) != before) Take(before);
  }
  for (const auto& [node, uids] : trial.orders) OrderPods(node, uids);
  evictions_.clear();
  has_refused_groups_ = trial.had_refused_groups;
  is_retry_due_ = trial.was_retry_due;
  retried_until_ = trial.retried_until;
  std::vector<scheduler::Output> unused;
  core_->TakeOutputs(unused);
  return true;
}

void OfflineCluster::OrderPods(const std::string& node, const std::vector<std::string>& uids) {
  const framework::NodeIndex row = nodes().Find(node);
  if (row == framework::kNoNode) return;
  const std::vector<framework::PodInfoPtr> now = nodes().Info(row).pods();
  std::vector<framework::PodInfoPtr> wanted;
  for (const std::string& uid : uids) {
    const auto at = std::ranges::find(now, uid, [](const auto& pod) -> const std::string& { return pod->uid; });
    if (at != now.end()) wanted.push_back(*at);
  }
  for (const framework::PodInfoPtr& pod : now) {
    if (std::ranges::find(wanted, pod) == wanted.end()) wanted.push_back(pod);
  }
  if (wanted == now) return;
  // No plugin is called: nothing else has changed.
  const auto overlay = core_->MakeOverlay(now_);
  for (const framework::PodInfoPtr& pod : now) overlay->RemovePod(pod->uid);
  for (const framework::PodInfoPtr& pod : wanted) overlay->AddPod(pod);
  overlay->Keep();
}

std::string OfflineCluster::NodeOf(const api::Pod& pod) const { return NodeOf(pod.metadata.uid); }

std::string OfflineCluster::NodeOf(const std::string& uid) const {
  const framework::PodInfoPtr* found = core_->cache().FindPod(uid);
  return found == nullptr ? std::string() : (*found)->node_name;
}

std::string OfflineCluster::WhyNot(const api::Pod& pod) const {
  if (const auto gate = GateOf(pod)) return *gate;
  if (const auto at = refused_.find(pod.metadata.uid); at != refused_.end()) return at->second;
  const std::string key = pod.metadata.namespace_name + "/" + pod.metadata.name;
  for (scheduler::UnboundPod& unbound : core_->Unbound()) {
    if (unbound.key == key) return std::move(unbound.why);
  }
  return ProfileOf(pod) == nullptr ? NoProfileCalled(pod.spec.scheduler_name) : "it is gone";
}

}  // namespace berth::whatif
