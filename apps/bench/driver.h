// SPDX-License-Identifier: Apache-2.0
// Driver: plays the API server for a scheduler's core. It answers each write at once and correctly, and controls the
// clock. Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/core/instruments/pod_traces.h"
#include "berth/core/scheduler/scheduler.h"
#include "meter.h"
#include "workloads.h"

namespace berth::bench {

// Observes a run, outside of the measured time.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void BeforeCycle(const scheduler::Scheduler& core, Time now) = 0;
  virtual void AfterCycle(const scheduler::Scheduler& core) = 0;
  virtual void ObjectChanged(const framework::AnyObject& object) = 0;
  virtual void ObjectRemoved(framework::ObjectKind kind, const std::string& key) = 0;
};

struct RunResult {
  Reading before;                // before the measured pods are added
  Reading after;                 // after the last confirmation
  std::vector<float> cycles_us;  // duration of each ScheduleOne, ascending
  std::uint64_t bound = 0;       // number of measured pods
  std::uint64_t events = 0;      // "Scheduled" events of all pods
  std::uint64_t victims = 0;
  std::uint64_t unconfirmed = 0;  // decisions that were not confirmed
  std::string failure;            // why the run ended early; empty: it did not
};

class Driver final : public Feed {
 public:
  // All arguments must outlive the driver. `observer` may be null.
  Driver(scheduler::Scheduler& core, const Workload& workload, Observer* observer);
  // The core's spans, which are taken after each turn and dropped. It must outlive the driver.
  void TakeSpansOf(instruments::PodTraces& traces) { traces_ = &traces; }

  // Adds nodes, objects, and the pods that exist before the measured ones.
  void Prepare();
  // Adds the measured pods and schedules until all are bound, or no progress is made.
  RunResult Run(const Meter& meter);
  // Removes all measured pods.
  void Clear();

  const Placements& placements() const { return placements_; }

  void SetNode(int i) override;
  void RemoveNode(int i) override;
  void AddPod(Group group, int i) override;
  void RemovePod(Group group, int i) override;
  void SetObject(framework::AnyObject object) override;
  void RemoveObject(framework::ObjectKind kind, const std::string& key) override;

 private:
  // The status that the scheduler wrote for a pending pod.
  struct PendingStatus {
    std::optional<api::PodCondition> condition;
    std::string nominated_node_name;
  };
  using StatusKey = std::pair<int, int>;  // group, number

  int& NodeOf(Group group, int i);
  PodSource& Source(Group group) { return sources_[static_cast<std::size_t>(group)]; }
  const std::shared_ptr<api::Pod>& AssignedPod(Group group, int i, int node);
  void Settle();
  void Answer(scheduler::Write& write);
  void Bound(const framework::BindWrite& bind);
  void StatusWritten(const framework::PodStatusWrite& write);
  void ApplyVictimPatch(const framework::ObjectPatch& patch);
  bool LetTimePass();
  void StepIfDue();

  scheduler::Scheduler& core_;
  const Workload& workload_;
  Observer* const observer_;
  instruments::PodTraces* traces_ = nullptr;  // null: no pod is traced
  std::vector<instruments::Span> spans_;
  std::vector<instruments::TracedOperation> operations_;
  std::array<PodSource, kGroupCount> sources_;
  Time now_{std::chrono::seconds(1'700'000'100)};
  Time last_progress_ = now_;
  Placements placements_;
  absl::flat_hash_map<StatusKey, PendingStatus> statuses_;
  std::vector<scheduler::Output> outputs_;
  int cycles_ = 0;
  int steps_ = 0;
  RunResult result_;
};

}  // namespace berth::bench
