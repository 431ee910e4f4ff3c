// SPDX-License-Identifier: Apache-2.0
// BindingCycles: runs the binding cycle of each assumed pod: Permit, PreBind, Bind, and the read that follows an
// unknown outcome (binding_cycle.h has a diagram of the phases). Within turns only. It never blocks: the work of
// plugins goes out as operations, and their outcomes resume the cycle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/core/scheduler/background_operations.h"
#include "berth/core/scheduler/binding_table.h"
#include "berth/core/scheduler/core_interfaces.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/framework/operation.h"

namespace berth::scheduler {

class BindingCycles final : public BindingStarter, public BindingCycleInputs {
 public:
  // PostBind's operations run in `background`. Both arguments must outlive it.
  BindingCycles(CoreState& state, BackgroundOperations& background)
      : state_(state),
        background_(background),
        table_(state.options.binding_late_after, state.options.binding_reported_after) {}

  void StartBinding(Profile& profile, queue::QueuedPodInfo&& queued, const framework::PodInfoPtr& assumed,
                    framework::NodeIndex row, std::vector<PermitWait>&& permits) override;

  void PodAssigned(const framework::PodInfoPtr& pod) override;
  void PodStillPending(const framework::PodInfoPtr& pod) override;
  void PodDeleted(std::string_view uid) override;
  void PermitDecided(const framework::PermitDecision& decision) override;
  void WriteEnded(std::uint64_t operation, framework::StepResult&& result) override;
  void StepEnded(std::uint64_t operation, const framework::StepResult& result) override;
  framework::PodInfoPtr PodWasRead(PodReadDone&& input) override;
  void TakeExtenderAnswer(ExtenderDone&& input) override;

  // framework::Handle::CancelBinding.
  bool Cancel(std::string_view uid, std::string_view plugin, std::string_view message);

  // Returns the reason for which the pod must wait when too many bindings of its namespace are without an answer or
  // have an unknown outcome.
  std::optional<Throttled> Throttle(const framework::PodInfo& pod) override;

  void AllowPermitted(const std::string& uid, const std::string& plugin) override {
    PermitDecided({uid, plugin, true, {}});
  }

  // Ends the Permit waits that have timed out, posts the reads that are due, and reports writes without an answer.
  void Tick();
  std::optional<Time> NextWake() const { return table_.NextDeadline(); }

  std::size_t size() const { return table_.size(); }
  std::size_t busy_count() const { return table_.busy_count(); }
  std::size_t in_doubt_count() const { return table_.in_doubt_count(); }
  bool empty() const { return table_.empty(); }
  std::vector<framework::PodInfoPtr> AssumedPods() const { return table_.AssumedPods(); }
  std::vector<const BindingCycle*> AtPermit(std::size_t count_max) const { return table_.AtPermit(count_max); }

 private:
  bool FindPreBindPlugins(BindingCycle& cycle);
  void Continue(BindingCycle& cycle);
  void StartBind(BindingCycle& cycle);
  bool AskExtenderToBind(BindingCycle& cycle);
  template <typename Call>
  framework::Operation CallPlugin(BindingCycle& cycle, Call&& call);
  void RunOperation(BindingCycle& cycle, framework::Operation&& operation);
  void EndStep(BindingCycle& cycle, const framework::StepResult& result);
  void EndOperation(BindingCycle& cycle, const framework::Status& status);
  std::uint64_t NewOperation(BindingCycle& cycle, bool is_wait = false);

  void OutcomeIsUnknown(BindingCycle& cycle, const std::string& why, bool says_much);
  void ReadPodLater(BindingCycle& cycle);
  void ReportTrouble(BindingCycle& cycle, std::string message);
  void PostBindingAgain(BindingCycle& cycle);
  void EndPermitTimeouts(BindingCycle& cycle);

  void ObserveCall(BindingCycle& cycle, framework::Code code);
  void ObserveFailure(const BindingCycle& cycle, framework::Code code);
  void ObserveSuccess(const BindingCycle& cycle);
  void ObserveRescue(const queue::QueuedPodInfo& queued);
  void Finish(BindingCycle& cycle);
  void Fail(BindingCycle& cycle, const framework::Status& status, std::string_view point, std::string_view plugin);
  void FailForLostNode(BindingCycle& cycle);
  void Drop(BindingCycle& cycle);
  bool HasItsNode(const BindingCycle& cycle) const;
  std::size_t RoomForInDoubt(std::string_view namespace_name) const;
  void ActivateThrottled(const std::string& namespace_name);

  CoreState& state_;
  BackgroundOperations& background_;
  BindingTable table_;
  StringHashMap<std::set<std::string>> throttled_;  // uids of waiting pods, by namespace; some of the pods may be gone
};

}  // namespace berth::scheduler
