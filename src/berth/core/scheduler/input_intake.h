// SPDX-License-Identifier: Apache-2.0
// InputIntake: applies inputs to the core. Objects of the API server go into cache, queue and stores; outcomes of
// operations go to the part that waits for them; waiting pods that an input may help are woken. Within turns only. It
// makes no decisions.
//
// A new kind of input is a struct in io.h and an On() here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/scheduler/background_operations.h"
#include "berth/core/scheduler/bookings.h"
#include "berth/core/scheduler/core_interfaces.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/idle_sweep.h"
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/outside_sources.h"
#include "berth/core/scheduler/pod_group_intake.h"
#include "berth/core/scheduler/unclaimed_pods.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

class InputIntake {
 public:
  // All arguments must outlive it.
  InputIntake(CoreState& state, SchedulingCycleInputs& scheduling, BindingCycleInputs& bindings,
              BackgroundOperations& background, IdleSweep& idle_sweep)
      : state_(state),
        scheduling_(scheduling),
        bindings_(bindings),
        background_(background),
        idle_sweep_(idle_sweep),
        groups_(state),
        outside_(state),
        unclaimed_(state.profiles.Names()) {}

  void Take(Input&& input);
  // Time is an input, too: ends the operations whose wait is over.
  void TakeTime();
  // Answers the writes among the outputs that are about stand-ins (bookings.h), and takes them out. Where no room is
  // promised it is not called.
  void TakeOwnWrites(std::vector<Output>& outputs);
  std::optional<Time> NextWake() const { return unclaimed_.NextWake(); }

  const OutsideSources& outside() const { return outside_; }

 private:
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
  void On(BookingsKept&& input);
  void On(BookingAsked&& input);
  void On(BookingEnded&& input);

  void SetAssignedPod(const framework::PodInfoPtr& pod);
  void SetPendingPod(const framework::PodInfoPtr& pod);
  void ReportSetAside(const framework::PodInfo& pod);
  bool ReportUnusable(const framework::PodInfo& pod, const std::string& why);
  void TakeNamed(const std::optional<cache::NamedPodGroups::Change>& change);
  void ReportUnclaimed();
  void RemovePod(std::string_view uid);
  void TakePodOut(std::string_view uid);
  void RecordGone(const framework::PodInfo& pod);
  void Handled(const framework::ClusterEvent& event);

  CoreState& state_;
  SchedulingCycleInputs& scheduling_;
  BindingCycleInputs& bindings_;
  BackgroundOperations& background_;
  IdleSweep& idle_sweep_;
  PodGroupIntake groups_;
  OutsideSources outside_;
  UnclaimedPods unclaimed_;
  Bookings kept_rooms_{state_};
  Time began_{};  // of the input, by the stopwatch
};

}  // namespace berth::scheduler
