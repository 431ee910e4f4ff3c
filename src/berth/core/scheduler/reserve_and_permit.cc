// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/reserve_and_permit.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "berth/core/runtime/guarded.h"
#include "berth/core/scheduler/attempt_timing.h"
#include "berth/core/scheduler/plugin_errors.h"

namespace berth::scheduler {

using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;
using instruments::Point;
using runtime::Guarded;

namespace {

constexpr Duration kPermitTimeoutMax = std::chrono::minutes(15);

}  // namespace

PodInfoPtr WithNode(const PodInfo& pod, const std::string& node_name) {
  auto with_node = std::make_shared<PodInfo>(pod);
  with_node->node_name = node_name;
  return with_node;
}

Status RunReserve(CoreState& state, const Profile& profile, const framework::Cycle& cycle, const PodInfo& assumed,
                  bool is_sampled) {
  const auto& plugins = profile.plugins->reserve;
  PointTiming timing(state, profile);
  for (framework::ReservePlugin* plugin : plugins) {
    const CallTiming call(state, is_sampled);
    const Status status = Guarded([&] { return plugin->Reserve(cycle, assumed, assumed.node_name); });
    call.End(Point::kReserve, plugin->Name(), status.code());
    if (status.IsSuccess()) continue;
    timing.End(Point::kReserve, status.code());
    return NamedFailure("Reserve", plugin->Name(), status);
  }
  timing.End(Point::kReserve, plugins);
  return {};
}

PermitAnswers RunPermit(CoreState& state, const Profile& profile, const framework::Cycle& cycle, const PodInfo& assumed,
                        bool is_sampled) {
  const auto& plugins = profile.plugins->permit;
  PermitAnswers answers;
  PointTiming timing(state, profile);
  for (framework::PermitPlugin* plugin : plugins) {
    Duration timeout{0};
    const CallTiming call(state, is_sampled);
    const Status status = Guarded([&] {
      framework::PermitResult result = plugin->Permit(cycle, assumed, assumed.node_name);
      timeout = result.timeout;
      return result.status;
    });
    call.End(Point::kPermit, plugin->Name(), status.code());
    if (status.IsSuccess()) continue;
    if (!status.IsWait()) {
      timing.End(Point::kPermit, status.code());
      answers.refusal = NamedFailure("Permit", plugin->Name(), status);
      return answers;
    }
    timeout = std::clamp(timeout, Duration{0}, kPermitTimeoutMax);
    answers.waits.push_back({std::string(plugin->Name()), timeout, state.now + timeout});
  }
  if (answers.waits.empty()) {
    timing.End(Point::kPermit, plugins);
  } else {
    timing.End(Point::kPermit, framework::Code::kWait);
  }
  return answers;
}

SchedulingFailure FailureOfChosenNode(const Status& status) {
  SchedulingFailure failure;
  failure.nomination.is_set = true;
  failure.is_refusal = status.IsRejected();
  failure.message = status.IsRejected() ? "0/1 nodes are available: 1 " + status.Message() + "." : status.Message();
  if (status.IsRejected()) {
    auto& plugins =
        status.code() == framework::Code::kPending ? failure.pending_plugins : failure.unschedulable_plugins;
    plugins.insert(std::string(status.plugin()));
  }
  return failure;
}

}  // namespace berth::scheduler
