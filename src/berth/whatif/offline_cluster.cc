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
  Handle(scheduler::ObjectGone{kind, key});
}

std::string OfflineCluster::NextVersion() { return api_.NextVersion(); }

std::unique_ptr<scheduler::Overlay> OfflineCluster::MakeOverlay() { return core_->MakeOverlay(CoreNow()); }

void OfflineCluster::Handle(scheduler::Input input) { core_->Handle(std::move(input), CoreNow()); }

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
            Handle(scheduler::ObjectSet{std::move(object)});
          },
          [this](framework::ObjectKind kind, const std::string& key) {
            NoteObject(kind, key);
            Handle(scheduler::ObjectGone{kind, key});
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
  Handle(scheduler::ObjectSet{std::move(object)});
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
  Handle(scheduler::NodeSet{std::move(node)});
}

void OfflineCluster::RemoveNode(const std::string& name) {
  NoteNode(name);
  RecordChange();
  Handle(scheduler::NodeGone{name});
}

void OfflineCluster::SetPod(api::Pod pod) {
  pod.metadata.resource_version = api_.NextVersion();
  Take(std::make_shared<const api::Pod>(std::move(pod)));
}

void OfflineCluster::Take(std::shared_ptr<const api::Pod> pod) {
  NotePod(pod->metadata.uid);
  RecordChange();
  pods_[pod->metadata.uid] = pod;
  Handle(scheduler::PodSet{std::move(pod)});
}

void OfflineCluster::RemovePod(const std::string& uid) {
  const auto at = pods_.find(uid);
  if (at == pods_.end()) return;
  NotePod(uid);
  const api::ObjectMeta meta = at->second->metadata;
  pods_.erase(at);
  refused_.erase(uid);
  RecordChange();
  Handle(scheduler::PodGone{meta.namespace_name, meta.name, meta.uid});
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
    core_->Tick(CoreNow());
    bool has_done = core_->ScheduleOne(CoreNow());
    has_done |= Perform();
    if (has_done) continue;
    if (core_->IsIdle() && !HasGroupsToRetry()) return;
    const std::optional<Time> wake = core_->NextWake();
    if (!wake || *wake - core_ahead_ > end) return;
    now_ = std::max(now_ + Duration{1}, *wake - core_ahead_);
  }
}

bool OfflineCluster::HasGroupsToRetry() {
  if (now_ < retried_until_) return true;
  if (!std::exchange(is_retry_due_, false)) return false;
  for (const queue::PodStanding& standing : core_->queue().Dump()) {
    if (standing.backoff_expiration && !standing.pod->pod_group_name.empty())
      retried_until_ = std::max(retried_until_, *standing.backoff_expiration - core_ahead_ + kBackoffWindow);
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
  for (framework::PermitDecision& decision : decisions) Handle(std::move(decision));
  for (scheduler::Output& output : outputs) {
    if (auto* write = std::get_if<scheduler::Write>(&output)) {
      Perform(std::move(*write));
      has_done = true;
    } else if (auto* work = std::get_if<scheduler::Work>(&output)) {
      Handle(scheduler::WorkDone{work->operation, framework::Guarded(work->work)});
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
    Handle(scheduler::WriteDone{write.operation, std::nullopt});
    SetPod(std::move(bound));
  } else if (const auto* read = std::get_if<framework::PodRead>(&write.write)) {
    const auto at = pods_.find(read->pod.uid);
    Handle(scheduler::PodReadDone{write.operation, at == pods_.end() ? nullptr : at->second, {}});
  } else if (const auto* removal = std::get_if<framework::ObjectDelete>(&write.write);
             removal != nullptr && removal->object.resource == "pods") {
    Handle(scheduler::WriteDone{write.operation, std::nullopt, "{}"});
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
      Handle(scheduler::WriteDone{write.operation, std::nullopt, std::move(*answer)});
    } else {
      Handle(scheduler::WriteDone{write.operation, answer.error()});
    }
  }
}

void OfflineCluster::Evict(const std::shared_ptr<const api::Pod>& pod) {
  // Preemption remembers whom it has evicted (PreemptionExecutor): one that is put back would not be evicted again.
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
  Handle(scheduler::PodGone{meta.namespace_name, meta.name, meta.uid});
  Handle(scheduler::PodSet{pod});
}

void OfflineCluster::Renew(const PodPtrs& waiting) {
  has_tried_ = false;
  // The queue orders pods of one priority by when they came.
  for (const auto& pod : waiting) PutBack(pod);
  core_->StartOver(options_.seed);
}

void OfflineCluster::BeginTrial(const PodPtrs& waiting) {
  BERTH_CHECK(!trial_, "a trial is under way");
  Renew(waiting);
  has_tried_ = true;
  TrialJournal& trial = trial_.emplace();
  trial.had_refused_groups = has_refused_groups_;
  trial.was_retry_due = is_retry_due_;
  trial.retried_until = retried_until_;
  trial.began = now_;
}

void OfflineCluster::GoBackTo(Time now) {
  // The queue ends back-offs in windows of a second, in which the core's time keeps its place.
  const auto second = std::chrono::seconds(1);
  core_ahead_ += (now_ - now + second - Duration{1}) / second * second;
  now_ = now;
  core_->SetWallAhead(-core_ahead_);
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
    if (before != nullptr && FindPod(uid) != before) Take(before);
  }
  for (const auto& [node, uids] : trial.orders) OrderPods(node, uids);
  evictions_.clear();
  refused_.clear();
  has_refused_groups_ = trial.had_refused_groups;
  is_retry_due_ = trial.was_retry_due;
  retried_until_ = trial.retried_until;
  std::vector<scheduler::Output> unused;
  core_->TakeOutputs(unused);
  GoBackTo(trial.began);
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
  const auto overlay = core_->MakeOverlay(CoreNow());
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
