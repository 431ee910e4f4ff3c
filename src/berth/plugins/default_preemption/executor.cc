// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/executor.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "berth/base/log.h"
#include "berth/codec/document_memory.h"
#include "berth/codec/json.h"
#include "berth/core/instruments/plugin_metrics.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

using framework::ObjectRef;
using framework::Operation;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::PodRef;
using framework::StepResult;

namespace {

// client-go's retry.DefaultBackoff: 10 ms, then five times as much.
Duration DelayBefore(int tries, const Error& error) {
  constexpr Duration kFirst = std::chrono::milliseconds(10);
  constexpr Duration kAskedMax = std::chrono::seconds(10);
  Duration delay = kFirst;
  for (int i = 1; i < tries; ++i) delay *= 5;
  const Duration asked = std::chrono::milliseconds(error.retry_after_ms);
  return std::max(delay, std::min(asked, kAskedMax));
}

bool IsPassing(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInternal:
    case ErrorCode::kDeniedByAdmission:
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kTooManyRequests: return true;
    default: return error.outcome_unknown;
  }
}

PodRef RefTo(const PodInfo& pod) { return {pod.namespace_name(), pod.name, pod.uid, pod.resource_version}; }
ObjectRef ObjectOf(const PodInfo& pod) { return {"v1", "pods", pod.namespace_name(), pod.name}; }

// A strategic merge patch of the status that tells why the victim has to go. With the uid in it, the API server refuses
// to patch another pod of that name.
std::string ConditionPatch(const PodInfo& victim, const std::string& scheduler_name, const std::string& kind,
                           Time wall_now) {
  codec::DocumentMemory memory;
  codec::json::value patch(memory.storage());
  codec::json::object& root = patch.emplace_object();
  root["metadata"].emplace_object()["uid"] = victim.uid;
  codec::json::array& conditions = root["status"].emplace_object()["conditions"].emplace_array();
  codec::json::object& condition = conditions.emplace_back(nullptr).emplace_object();
  condition["type"] = "DisruptionTarget";
  condition["status"] = "True";
  condition["reason"] = "PreemptionByScheduler";
  condition["message"] = scheduler_name + ": preempting to accommodate a higher priority " + kind;
  condition["lastProbeTime"] = nullptr;
  // Where the condition is there already, it keeps its time.
  if (!victim.is_preempted) condition["lastTransitionTime"] = FormatRfc3339(wall_now);
  if (victim.generation > 0) condition["observedGeneration"] = victim.generation;
  return codec::WriteJson(patch);
}

}  // namespace

struct PreemptionExecutor::Job {
  PodRef preemptor;  // of a group: one of its pods
  std::string kind = "pod";
  std::string preemptor_uid;         // by which it is known; of a group the group's own
  std::vector<std::string> members;  // of a group: their uids
  std::string scheduler_name;
  std::int32_t priority = 0;
  std::string node_name;
  std::vector<PodInfoPtr> victims;
  Time began{};
  std::size_t outstanding = 0;  // evictions under way
  std::size_t evicted = 0;      // pods that this job has evicted
  bool is_last = false;         // the last victim's eviction has begun
  bool has_failed = false;
  bool is_gated = false;  // PreEnqueue refused the preemptor meanwhile
};

std::vector<PodInfoPtr> PreemptionExecutor::ToEvict(const std::vector<PodInfoPtr>& victims) {
  std::vector<PodInfoPtr> left;
  for (const PodInfoPtr& victim : victims) {
    if (!victim->deletion_time) left.push_back(victim);
  }
  return left;
}

void PreemptionExecutor::Preempt(const PodInfo& preemptor, std::string_view node_name,
                                 std::vector<PodInfoPtr> victims) {
  auto job = std::make_shared<Job>();
  job->preemptor = RefTo(preemptor);
  job->scheduler_name = preemptor.spec().scheduler_name;
  job->priority = preemptor.priority();
  job->node_name = node_name;
  job->victims = std::move(victims);
  job->preemptor_uid = preemptor.uid;
  StartJob(job);
}

void PreemptionExecutor::PreemptForGroup(const GroupPreemptor& group,
                                         std::span<const framework::PodGroupMember> members,
                                         std::vector<PodInfoPtr> victims) {
  const PodInfo& member = *members.front().pod;
  auto job = std::make_shared<Job>();
  job->preemptor = RefTo(member);
  job->kind = group.kind;
  job->preemptor_uid = group.uid;
  job->scheduler_name = member.spec().scheduler_name;
  job->priority = group.priority;
  job->node_name = "cluster";
  for (const framework::PodGroupMember& each : members) job->members.push_back(each.pod->uid);
  job->victims = std::move(victims);
  StartJob(job);
}

void PreemptionExecutor::StartJob(const JobPtr& job) {
  ForgetTheGone();
  running_[job->preemptor_uid] = job;
  // Not within the scheduling cycle that decided it: that one still reads nominations and nodes.
  handle_.Start(Operation::After(Duration{0}, [self = shared_from_this(), job](const StepResult& result) {
    self->Begin(job, result);
    return Operation::Done();
  }));
}

bool PreemptionExecutor::IsEvicting(std::string_view preemptor_uid) const {
  const auto it = running_.find(preemptor_uid);
  return it != running_.end() && (!it->second->is_last || !IsGoing(it->second->victims.back()));
}

bool PreemptionExecutor::IsRunning(std::string_view preemptor_uid) const {
  const bool is_running = IsEvicting(preemptor_uid);
  if (is_running) running_.find(preemptor_uid)->second->is_gated = true;
  return is_running;
}

bool PreemptionExecutor::HasDeleted(std::string_view victim_uid) const {
  const auto it = evictions_.find(victim_uid);
  return it != evictions_.end() && it->second.is_deleted;
}

// True when the watch has shown that the victim left or is being deleted.
bool PreemptionExecutor::IsGoing(const PodInfoPtr& victim) const {
  const PodInfoPtr known = handle_.FindAssignedPod(victim->uid);
  return known == nullptr || known->deletion_time;
}

void PreemptionExecutor::Begin(const JobPtr& job, const StepResult& at) {
  job->began = at.now;
  for (const PodInfoPtr& nominated : handle_.NominatedPods(job->node_name)) {
    if (nominated->priority() < job->priority) handle_.ClearNomination(*nominated);
  }
  job->is_last = job->victims.size() == 1;
  const std::size_t count = job->is_last ? 1 : job->victims.size() - 1;
  job->outstanding = count;
  for (std::size_t i = 0; i < count; ++i) Evict(job, job->victims[i], at);
}

void PreemptionExecutor::Evict(const JobPtr& job, const PodInfoPtr& victim, const StepResult& at) {
  // A pod whose binding has not begun is taken back in memory, and tries again elsewhere.
  if (handle_.CancelBinding(victim->uid, names::kDefaultPreemption, "preempted")) {
    Announce(*job, *victim, true);
    Evicted(job, at);
    return;
  }
  if (IsGoing(victim)) return Evicted(job, at);
  const auto [it, is_first] = evictions_.try_emplace(victim->uid);
  if (is_first) {
    handle_.Start(WriteCondition(job, victim, at.wall_now, 1));
  } else if (it->second.is_deleted) {
    Evicted(job, at);
  } else {
    it->second.waiting.push_back(job);
  }
}

Operation PreemptionExecutor::WriteCondition(const JobPtr& job, const PodInfoPtr& victim, Time wall_now, int tries) {
  framework::ObjectPatch patch{ObjectOf(*victim), "status", framework::PatchType::kStrategicMerge,
                               ConditionPatch(*victim, job->scheduler_name, job->kind, wall_now)};
  return Operation::Write(std::move(patch), [self = shared_from_this(), job, victim, tries](const StepResult& result) {
    // Somebody else may have been faster.
    const bool is_going = self->IsGoing(victim);
    if (!result.error && !is_going) return self->Delete(job, victim, 1, false);
    if (is_going || result.error->code == ErrorCode::kNotFound) {
      self->EndEviction(job, victim->uid, End::kLeft, result);
      return Operation::Done();
    }
    const Error& error = *result.error;
    if ((IsPassing(error) || error.code == ErrorCode::kConflict) && tries < kTriesMax) {
      return Operation::After(DelayBefore(tries, error), [self, job, victim, tries](const StepResult& later) {
        return self->WriteCondition(job, victim, later.wall_now, tries + 1);
      });
    }
    // A conflict that stays may be another pod of the victim's name; the DELETE asks for the uid and finds out.
    if (error.code == ErrorCode::kConflict) return self->Delete(job, victim, 1, false);
    self->Failed(job, *victim, "writing its condition", error, result);
    return Operation::Done();
  });
}

// `may_be_done`: the answer to an earlier DELETE was lost.
Operation PreemptionExecutor::Delete(const JobPtr& job, const PodInfoPtr& victim, int tries, bool may_be_done) {
  return Operation::Write(
      framework::ObjectDelete{ObjectOf(*victim), victim->uid},
      [self = shared_from_this(), job, victim, tries, may_be_done](const StepResult& result) {
        if (result.error) {
          const Error& error = *result.error;
          // A conflict means another pod of its name, if the victim is not here any more. While it is, a webhook may
          // have refused, or another write come between, and then it still holds its room.
          const bool is_conflict = error.code == ErrorCode::kConflict;
          const bool is_gone = error.code == ErrorCode::kNotFound ||
                               (is_conflict && self->handle_.FindAssignedPod(victim->uid) == nullptr);
          if (!is_gone && (is_conflict || IsPassing(error)) && tries < kTriesMax) {
            const bool is_unknown = may_be_done || error.outcome_unknown;
            return Operation::After(DelayBefore(tries, error), [self, job, victim, tries, is_unknown](const auto&) {
              return self->Delete(job, victim, tries + 1, is_unknown);
            });
          }
          if (!is_gone) {
            self->Failed(job, *victim, "deleting it", error, result);
            return Operation::Done();
          }
        }
        // A victim that somebody else deleted was not evicted by the preemptor, so no event says so.
        if (!result.error || may_be_done) self->Announce(*job, *victim, false);
        self->EndEviction(job, victim->uid, result.error ? End::kLeft : End::kDeleted, result);
        return Operation::Done();
      });
}

void PreemptionExecutor::Announce(Job& job, const PodInfo& victim, bool is_in_memory) {
  ++job.evicted;
  framework::PodEvent event;
  event.regarding = RefTo(victim);
  event.reporting_controller = job.scheduler_name;
  event.reason = "Preempted";
  event.action = "Preempting";
  event.note = "Preempted by " + job.kind + " " + job.preemptor_uid + " on node " + job.node_name;
  if (is_in_memory) event.note += " (in kube-scheduler memory).";
  if (handle_.release().relates_victims_to_preemptor) event.related = job.preemptor;
  handle_.Emit(std::move(event));
}

void PreemptionExecutor::Failed(const JobPtr& job, const PodInfo& victim, std::string_view doing, const Error& error,
                                const StepResult& at) {
  log::Warning("plugins", "Could not preempt a pod",
               {{"pod", victim.Key()},
                {"preemptor", job->preemptor.namespace_name + "/" + job->preemptor.name},
                {"doing", doing},
                {"err", error.message}});
  EndEviction(job, victim.uid, End::kFailed, at);
}

// Ends the eviction for all jobs that wait for it.
void PreemptionExecutor::EndEviction(const JobPtr& job, std::string_view victim_uid, End how, const StepResult& at) {
  std::vector<JobPtr> jobs{job};
  const auto it = evictions_.find(victim_uid);
  if (it != evictions_.end()) {
    it->second.is_deleted = how == End::kDeleted;
    std::ranges::move(std::exchange(it->second.waiting, {}), std::back_inserter(jobs));
    if (how != End::kDeleted) evictions_.erase(it);
  }
  for (const JobPtr& each : jobs) {
    each->has_failed |= how == End::kFailed;
    Evicted(each, at);
  }
}

// Evictions that have ended stay known until the pod is gone: whoever chooses it meanwhile finds it here.
void PreemptionExecutor::ForgetTheGone() {
  constexpr std::size_t kFewMax = 64;
  if (evictions_.size() < std::max(kFewMax, 2 * evictions_looked_at_)) return;
  absl::erase_if(evictions_, [this](const auto& each) {
    return each.second.is_deleted && handle_.FindAssignedPod(each.first) == nullptr;
  });
  evictions_looked_at_ = evictions_.size();
}

// The job has one victim less to wait for, whatever became of that victim.
void PreemptionExecutor::Evicted(const JobPtr& job, const StepResult& at) {
  if (--job->outstanding > 0) return;
  // The last victim is evicted once all others have gone: evicting it would be in vain if one of them stayed.
  if (job->is_last || job->has_failed) {
    EndJob(job, at.now);
    return;
  }
  job->is_last = true;
  job->outstanding = 1;
  Evict(job, job->victims.back(), at);
}

void PreemptionExecutor::EndJob(const JobPtr& job, Time now) {
  // Upstream takes the label's value and the duration down when its goroutine begins (defer evaluates its arguments at
  // once), so that it counts successes of no length only. What the metrics are for is counted here.
  EndedCells& cells = job->has_failed ? failed_cells_ : succeeded_cells_;
  if (cells.count == nullptr) {
    const std::string_view result = job->has_failed ? "error" : "success";
    framework::Metrics& metrics = handle_.metrics();
    cells.count = &instruments::CounterOf(metrics, "scheduler_preemption_goroutines_execution_total", {result});
    cells.duration = &instruments::HistogramOf(metrics, "scheduler_preemption_goroutines_duration_seconds", {result});
  }
  cells.count->Add();
  cells.duration->Observe(instruments::Seconds(now - job->began));
  if (handle_.release().has_pod_groups) {
    instruments::HistogramOf(handle_.metrics(), "scheduler_preemption_execution_duration_seconds",
                             {job->kind, job->has_failed ? "error" : "success"})
        .Observe(instruments::Seconds(now - job->began));
  }
  if (job->members.empty() && job->evicted > 0) {
    if (victims_ == nullptr)
      victims_ = &instruments::HistogramOf(handle_.metrics(), "scheduler_preemption_victims", {});
    victims_->Observe(static_cast<double>(job->evicted));
  }
  // The preemptor may have been let go when its last victim went, and preempt again already.
  const auto it = running_.find(job->preemptor_uid);
  const bool is_latest = it != running_.end() && it->second == job;
  if (is_latest) running_.erase(it);
  // The events that would have brought the preemptor back may have come while it was held back, or did not count while
  // victims were to be evicted, and one that failed with an error waits for none. Upstream leaves such a pod to the
  // next event. Victims that are still there bring it back when they go.
  const auto is_gone = [this](const PodInfoPtr& victim) { return handle_.FindAssignedPod(victim->uid) == nullptr; };
  if (!job->has_failed && !job->is_gated && !(is_latest && std::ranges::all_of(job->victims, is_gone))) return;
  if (job->members.empty()) return handle_.Activate(job->preemptor.uid);
  for (const std::string& uid : job->members) handle_.Activate(uid);
}

}  // namespace berth::plugins
