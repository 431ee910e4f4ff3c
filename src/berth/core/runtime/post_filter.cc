// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/post_filter.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/check.h"
#include "berth/core/runtime/evaluation_metrics.h"
#include "berth/core/runtime/guarded.h"
#include "berth/framework/preemption_review.h"

namespace berth::runtime {

using framework::Code;
using framework::PostFilterResult;
using framework::Status;

PostFilterResult RunPostFilter(EvaluationCycle& cycle, const framework::NodeStatuses& statuses,
                               framework::FilterRunner& filters) {
  BERTH_CHECK(cycle.outcome.result == Result::kRefused);
  PostFilterResult together;
  std::vector<std::string> reasons;
  framework::Cycle for_plugins = cycle.ForPlugins();
  const bool asks_extenders = cycle.review != nullptr && !cycle.review->is_answered;
  const std::size_t counted_before = cycle.review == nullptr || asks_extenders ? 0 : cycle.review->counted;
  for_plugins.with_detail = cycle.options.with_detail || asks_extenders;
  for_plugins.is_dry_run = cycle.review != nullptr && cycle.review->is_dry_run;
  std::size_t asked = 0;
  for (const framework::PostFilterPlugin* plugin : cycle.profile.plugins.post_filter) {
    // In a dry run, plugins that would act at once are left out.
    if (for_plugins.is_dry_run && !plugin->AnswersDryRuns()) continue;
    PostFilterResult result;
    const bool is_preemption = plugin->IsPreemption();
    const bool was_counted = asked++ < counted_before;
    const Time preemption_began = is_preemption && cycle.metrics != nullptr ? cycle.metrics->BeginPreemption() : Time{};
    const Time began = cycle.sampled != nullptr ? cycle.sampled->BeginCall() : Time{};
    const Status thrown =
        GuardedCall([&] { result = plugin->PostFilter(for_plugins, cycle.pod(), statuses, filters); });
    if (!thrown.IsSuccess()) {
      result = {};
      result.status =
          Status::Error("running PostFilter plugin \"" + std::string(plugin->Name()) + "\": " + thrown.Message());
    }
    // All plugins run again after the extenders' answer. The one that waits for it is counted then.
    if (asks_extenders && result.status.IsWait()) return result;
    if (asks_extenders) cycle.review->counted = asked;
    if (cycle.metrics != nullptr && is_preemption && !was_counted)
      cycle.metrics->ObservePreemption(result, preemption_began);
    if (cycle.sampled != nullptr && !was_counted)
      cycle.sampled->EndCall(instruments::Point::kPostFilter, plugin->Name(), result.status.code(), began);
    if (result.has_nomination) {
      together.has_nomination = true;
      together.nominated_node_name = result.nominated_node_name;
    }
    const bool has_nominated = result.has_nomination && !result.nominated_node_name.empty();
    if (result.preemption || (is_preemption && has_nominated)) {
      result.preempted_by = plugin->Name();
      together.preemption = result.preemption;
      together.preempted_by = result.preempted_by;
    }
    if (result.status.IsSuccess()) {
      cycle.post_filter_message = result.success_message;
      return result;
    }
    const std::string message = result.status.Message();
    if (result.status.code() == Code::kUnschedulableAndUnresolvable || !result.status.IsRejected()) {
      result.status = result.status.WithPlugin(plugin->Name());
      cycle.post_filter_message = message;
      return result;
    }
    for (const std::string& reason : result.status.reasons()) reasons.push_back(reason);
  }
  together.status = Status(Code::kUnschedulable, reasons);
  cycle.post_filter_message = together.status.Message();
  return together;
}

}  // namespace berth::runtime
