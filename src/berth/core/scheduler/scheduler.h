// Scheduler: the deterministic core. Inputs come in through Handle(), decisions are made by ScheduleOne(), and what is
// to be done outside comes out of TakeOutputs(). It has no sockets, no threads and no clock: the same inputs, times and
// seed give the same outputs. One thread at a time; nothing in it waits.
//
//   Pop -> scheduling cycle (evaluate, assume, Reserve, Permit) -> binding cycle:
//
//   kPermit -> kPreBind -> kBind -> done
//      |           |          |  ^
//      |           |          v  | still unbound: post the same binding again
//      +-----------+------> kRead (the outcome of the write is unknown; the assumption stays)
//      |           |          |
//      +-----------+----------+--> failed: Unreserve, forget, back into the queue
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/random.h"
#include "berth/base/text_hash.h"
#include "berth/core/cache/cache.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/config/extenders.h"
#include "berth/core/queue/row_nominations.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/pod_choice.h"

namespace berth::scheduler {

struct SchedulerOptions {
  std::uint64_t seed = 0;
  queue::SchedulingQueue::Options queue;
  runtime::EvaluatorOptions evaluator;
  std::size_t decisions_max = 4096;
  PodChoice pods;
  std::vector<config::Extender> extenders;  // in the order in which they are asked (config::InCallOrder)
};

// A pod of ours that has no node.
struct UnplacedPod {
  std::string key;  // "namespace/name"
  std::string why;  // one line
};

struct Counts {
  std::uint64_t cycles = 0;
  std::uint64_t scheduled = 0;         // bindings that took effect
  std::uint64_t unschedulable = 0;     // attempts that ended with a refusal
  std::uint64_t errors = 0;            // attempts that ended with an error
  std::uint64_t bindings_unknown = 0;  // bindings whose outcome had to be read
};

class Scheduler {
 public:
  // At least one profile; scheduler names are unique and all profiles have the same queue_sort plugin. `handle` is the
  // one that the plugins were made with; it must outlive the scheduler.
  Scheduler(SchedulerOptions options, CoreHandle& handle,
            std::vector<std::unique_ptr<runtime::ProfilePlugins>> profiles);
  ~Scheduler();

  void Handle(Input input, Time now);

  // One scheduling cycle, if a pod is ready. False when none is, or while the last one waits for extenders: it ends
  // with their answers, in Handle().
  bool ScheduleOne(Time now);
  // The cycle that decisions().Newest() tells of waits for extenders.
  bool is_asking() const { return asking_ != nullptr; }
  // Gives such a cycle up; its answers are then of no use. The pod is in no queue any more.
  void CancelAsking(std::string_view why);

  // Does what is due by now: back-offs, Permit deadlines, retries.
  void Tick(Time now);
  // When Tick has something to do next; nullopt: only after an input.
  std::optional<Time> NextWake() const;

  // What is to be done outside, in order. The vector is handed over whole, to be passed back empty and reused.
  void TakeOutputs(std::vector<Output>& outputs);

  // The kinds of objects whose ObjectSet and ObjectGone the plugins need, ascending.
  std::vector<framework::ObjectKind> ObjectsRead() const;

  // What the plugins want to be told from outside: the answer to the request i is OutsideDone{i, ...}.
  struct OutsideRequest {
    std::string scheduler_name;  // of the profile
    std::string plugin;
    framework::OutsideSource source;
  };
  const std::vector<OutsideRequest>& outside_sources() const { return outside_sources_; }
  // Each of these has been answered, or has failed, once.
  bool HasHeardOutside() const { return outside_unheard_ == 0; }

  // Every pod of ours is placed, refused or gated: unless something changes outside, nothing is left to do.
  bool HasSettled() const;
  // By key.
  std::vector<UnplacedPod> Unplaced() const;

  // Binding cycles under way: the shell stops calling ScheduleOne() while there are too many.
  std::size_t binding_count() const { return bindings_.size(); }
  // Operations that only wait for time to pass, such as a PreBind that waits for a volume.
  std::size_t timer_count() const { return timers_.size(); }
  const Counts& counts() const { return counts_; }
  const cache::Cache& cache() const { return cache_; }
  const queue::SchedulingQueue& queue() const { return *queue_; }
  const DecisionLog& decisions() const { return decisions_; }
  const cache::PodClasses& pod_classes() const { return classes_; }

 private:
  friend class CoreHandle;
  struct Profile;
  struct Binding;
  struct ExtenderCycle;
  // What an operation is doing: its writes one by one, its work, or waiting. Writes are given away as they come up, but
  // for bindings, which may have to be posted again.
  struct Step {
    std::vector<framework::ApiWrite> writes;
    std::size_t next_write = 0;
    framework::Operation::Next next;
    bool is_plain_binding = false;  // a binding that follows from the pod, and so was given away all the same
  };
  struct UidHash {
    std::size_t operator()(std::string_view uid) const { return HashText(uid); }
  };
  enum class Phase : std::uint8_t { kPermit, kPreBind, kBind, kRead };
  // What an attempt's failure does to the pod's nomination.
  struct NominationChange {
    bool is_set = false;
    std::string node_name;
  };
  struct Failure {
    bool is_refusal = false;  // reason Unschedulable; else SchedulerError
    std::string message;
    std::set<std::string> unschedulable_plugins;
    std::set<std::string> pending_plugins;
    NominationChange nomination;
  };

  void On(PodSet&& input);
  void On(PodGone&& input);
  void On(NodeSet&& input);
  void On(NodeGone&& input);
  void On(ObjectSet&& input);
  void On(ObjectGone&& input);
  void On(WriteDone&& input);
  void On(PodReadDone&& input);
  void On(WorkDone&& input);
  void On(OutsideDone&& input);
  void On(framework::PermitDecision&& input);
  void On(ExtenderDone&& input);

  void FindOutsideSources();
  framework::PodInfoPtr MakePodInfo(const api::Pod& pod);
  void SetAssignedPod(framework::PodInfoPtr pod);
  void SetPendingPod(framework::PodInfoPtr pod);
  void ForgetDeletedPod(const PodGone& gone);
  Profile* ProfileOf(const framework::PodInfo& pod);
  void MoveForNomination(const framework::PodInfo& pod, const framework::PodInfoPtr& source);

  // What follows from an evaluation: the binding cycle, or the pod's failure.
  void Conclude(Profile& profile, queue::QueuedPodInfo&& queued, const runtime::Outcome& outcome, Decision& decision);

  bool WantsExtenders(const framework::PodInfo& pod) const;
  void BeginAsking(Profile& profile, queue::QueuedPodInfo&& queued, Decision& decision, std::uint64_t seed);
  const runtime::Outcome& EvaluateAsked(ExtenderCycle& asking);
  void BeginFilters();
  void Ask(std::size_t extender, ExtenderVerb verb);
  void AskNextFilter();
  void FiltersAsked();
  void ForgetNominated();
  void Answered(const config::Extender& extender, ExtenderDone&& input);
  void TakeFilterAnswer(ExtenderAnswer&& answer);
  void EndAsking();
  void FailAsking(const std::string& message);
  void NoteAskedPod(const framework::PodInfoPtr& pod);
  bool AskToBind(Binding& binding);
  void ExtenderBound(Binding& binding, const Expected<ExtenderAnswer>& answer);

  void StartBinding(Profile& profile, queue::QueuedPodInfo&& queued, framework::NodeIndex row);
  void RejectReserved(Profile& profile, queue::QueuedPodInfo&& queued, const framework::PodInfoPtr& assumed,
                      const framework::Status& status);
  void ContinueBinding(Binding& binding);
  bool HasItsNode(const Binding& binding) const;
  void RunOperation(Binding& binding, framework::Operation&& operation);
  template <typename Call>
  framework::Operation Asking(Binding& binding, Call&& call);
  void StepEnded(Binding& binding, const framework::StepResult& result);
  void OperationEnded(Binding& binding, const framework::Status& status);
  void ReadBinding(Binding& binding);
  void FinishBinding(Binding& binding);
  void FailBinding(Binding& binding, const framework::Status& status, std::string_view point, std::string_view plugin);
  void DropBinding(Binding& binding);  // the pod is gone, or not ours to bind any more
  void DropDeadlines(const Binding& binding);
  void Unreserve(Profile& profile, const framework::PodInfoPtr& assumed);
  // The binding whose operation this was; it is under way no longer. Null: there is none.
  Binding* BindingOf(std::uint64_t operation);
  Binding& MakeBinding(Profile& profile, queue::QueuedPodInfo&& queued, const framework::PodInfoPtr& assumed);
  // Out of bindings_; null when it is not there.
  std::unique_ptr<Binding> TakeBinding(std::string_view uid);
  void EndBinding(Binding& binding);

  void StartEarly();
  void StartBackground(framework::Operation&& operation);
  // False when `operation` is not one of the background.
  bool BackgroundEnded(std::uint64_t operation, const framework::StepResult& result);
  void EmitStep(Step& step, framework::Operation&& operation, std::uint64_t number);
  void EmitWrite(Step& step, std::uint64_t number);
  void DropIdle();
  bool CancelBinding(std::string_view uid, std::string_view plugin, std::string_view message);
  void ClearNomination(const framework::PodInfo& pod);

  void HandleFailure(Profile& profile, queue::QueuedPodInfo&& queued, Failure&& failure);
  void Emit(const Profile& profile, const framework::PodInfo& pod, bool is_warning, std::string reason,
            std::string action, std::string note);
  // The number of the binding's next operation.
  std::uint64_t NewOperation(Binding& binding);
  // An answer to the operation under way finds the binding no more.
  void ForgetOperation(Binding& binding);

  // What profiles keep of pods that come no more goes after twice this at most.
  static constexpr Duration kIdlePeriod = std::chrono::minutes(5);

  const SchedulerOptions options_;
  CoreHandle& handle_;
  Time now_{};
  // When this period ends; nullopt: nothing is kept, and the next cycle begins one.
  std::optional<Time> idle_at_;
  bool has_cycled_ = false;  // in this period
  Random random_;
  cache::Cache cache_;
  cache::PodClasses classes_;
  std::map<std::string, std::unique_ptr<Profile>, std::less<>> profiles_;
  std::unique_ptr<queue::SchedulingQueue> queue_;
  // By the uid of Binding::assumed. Each of these pods is in the cache as well.
  absl::flat_hash_map<std::string_view, std::unique_ptr<Binding>, UidHash, std::equal_to<>> bindings_;
  std::vector<std::unique_ptr<Binding>> free_bindings_;      // to be used again, a few
  absl::flat_hash_map<std::uint64_t, Binding*> operations_;  // those under way, one a binding at most
  std::set<std::pair<Time, std::string>> deadlines_;         // Permit deadlines and retries, with the pod's uid
  // Operations of no pod's binding cycle. Each pod that preempts has one at most.
  absl::flat_hash_map<std::uint64_t, Step> background_;
  std::set<std::pair<Time, std::uint64_t>> timers_;  // operations that wait
  std::uint64_t next_operation_ = 1;
  std::vector<Output> outputs_;
  Profile* latest_profile_ = nullptr;  // that ProfileOf found
  std::vector<OutsideRequest> outside_sources_;
  // Parallel to these: who asked, and which of its sources it is.
  std::vector<std::pair<framework::OutsideDataReader*, std::size_t>> outside_readers_;
  std::vector<bool> outside_heard_;  // parallel, too
  std::size_t outside_unheard_ = 0;
  std::unique_ptr<ExtenderCycle> asking_;  // null: no cycle waits for extenders
  queue::RowNominations nominations_;
  DecisionLog decisions_;
  Counts counts_;
};

}  // namespace berth::scheduler
