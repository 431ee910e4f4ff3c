// SPDX-License-Identifier: Apache-2.0
// PreemptionExecutor: evicts the victims of a preemption beside scheduling, as upstream's executor does with
// SchedulerAsyncPreemption: nominations of less important pods for the node are cleared; then all victims but the last
// at once; then the last one. What fails activates the preemptor, which would otherwise wait for pods that stay.
//
//   Preempt -> (next input) -> all but the last -> the last -> end
//                                    | one failed      | failed
//                                    +-----------------+--> Activate the preemptor
//
// A pod is evicted once, by whoever comes first: other preemptors that have chosen it wait for the same answers.
//
// Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_group_post_filter.h"

namespace berth::plugins {

class PreemptionExecutor final : public std::enable_shared_from_this<PreemptionExecutor> {
 public:
  // How often a write is tried that fails for a passing reason.
  static constexpr int kTriesMax = 4;

  // `handle` must outlive all operations that are started. Owned by shared_ptr: operations under way keep it.
  explicit PreemptionExecutor(framework::Handle& handle) : handle_(handle) {}

  // The victims that Preempt has to evict: those that are not being deleted already.
  static std::vector<framework::PodInfoPtr> ToEvict(const std::vector<framework::PodInfoPtr>& victims);

  // `victims` as ToEvict() gives them, at least one.
  void Preempt(const framework::PodInfo& preemptor, std::string_view node_name,
               std::vector<framework::PodInfoPtr> victims);

  // Preempts for a group. `members` are its waiting pods, at least one; events name the first as the preemptor. When
  // the group should be tried again, those members are activated that are still there.
  struct GroupPreemptor {
    std::string uid;
    std::string kind;  // "podgroup" or "compositepodgroup", as messages name it
    std::int32_t priority = 0;
  };
  void PreemptForGroup(const GroupPreemptor& group, std::span<const framework::PodGroupMember> members,
                       std::vector<framework::PodInfoPtr> victims);

  // Whether the pod's, or the group's, victims are still being evicted. False already when the last one is gone or
  // going, though the answer to its DELETE may not be there: the event of its end is what brings the preemptor back.
  bool IsRunning(std::string_view preemptor_uid) const;
  // As IsRunning, but the asker is not held back: it is not activated when the evictions end.
  bool IsEvicting(std::string_view preemptor_uid) const;
  // Whether the API server has taken the deletion of this victim. It may take a while until the pod is seen to go.
  bool HasDeleted(std::string_view victim_uid) const;
  std::size_t running_count() const { return running_.size(); }

 private:
  struct Job;
  using JobPtr = std::shared_ptr<Job>;
  using PodInfoPtr = framework::PodInfoPtr;
  // Metrics of preemptions that have ended; null: not looked up yet.
  struct EndedCells {
    framework::Counter* count = nullptr;
    framework::Histogram* duration = nullptr;
  };
  // How an eviction ends: kDeleted by the API server, which said so; kLeft otherwise, be it that it was not bound.
  enum class End : std::uint8_t { kDeleted, kLeft, kFailed };
  // The eviction of one victim, from its first write until the watch shows that it is gone.
  struct Eviction {
    bool is_deleted = false;
    std::vector<JobPtr> waiting;  // other jobs that want it gone
  };

  void StartJob(const JobPtr& job);
  // `at`: the step that has just ended, with the time.
  void Begin(const JobPtr& job, const framework::StepResult& at);
  void Evict(const JobPtr& job, const PodInfoPtr& victim, const framework::StepResult& at);
  framework::Operation WriteCondition(const JobPtr& job, const PodInfoPtr& victim, Time wall_now, int tries);
  framework::Operation Delete(const JobPtr& job, const PodInfoPtr& victim, int tries, bool may_be_done);
  void Announce(Job& job, const framework::PodInfo& victim, bool is_in_memory);
  bool IsGoing(const PodInfoPtr& victim) const;
  void Failed(const JobPtr& job, const framework::PodInfo& victim, std::string_view doing, const Error& error,
              const framework::StepResult& at);
  void EndEviction(const JobPtr& job, std::string_view victim_uid, End how, const framework::StepResult& at);
  void Evicted(const JobPtr& job, const framework::StepResult& at);
  void ForgetTheGone();
  void EndJob(const JobPtr& job, Time now);

  framework::Handle& handle_;
  EndedCells succeeded_cells_;
  EndedCells failed_cells_;
  framework::Histogram* victims_ = nullptr;  // scheduler_preemption_victims; null: not looked up yet
  StringHashMap<JobPtr> running_;        // by the preemptor's uid: at most one for each pod that waits for its victims
  StringHashMap<Eviction> evictions_;    // by the victim's uid
  std::size_t evictions_looked_at_ = 0;  // how many there were when those that are gone were forgotten
};

}  // namespace berth::plugins
