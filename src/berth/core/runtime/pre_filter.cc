// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/pre_filter.h"

#include <algorithm>
#include <set>

#include "berth/base/go_text.h"
#include "berth/core/runtime/evaluation_metrics.h"
#include "berth/core/runtime/guarded.h"
#include "berth/core/runtime/kept_evaluation.h"

namespace berth::runtime {

using framework::Code;
using framework::CycleState;
using framework::PreFilterResult;
using framework::Status;

namespace {

// The answers of one cycle's PreFilter plugins together, as upstream adds them up.
struct Answers {
  Status refused;
  std::set<std::string> narrowing;  // plugins that named nodes
};

// Of an answer that refuses the pod or names nodes. False: nobody else needs to be asked.
bool Add(const PreFilterResult& result, std::string_view plugin, EvaluationCycle& cycle, Answers& answers) {
  if (!result.status.IsSuccess()) {
    answers.refused = result.status.WithPlugin(plugin);
    if (result.status.code() != Code::kUnschedulableAndUnresolvable) return true;
    answers.narrowing
        .clear();  // As upstream: the plugins that narrowed the search before do not count as rejectors then.
    return false;
  }
  std::set<std::string>& narrowing = answers.narrowing;
  narrowing.insert(std::string(plugin));
  std::optional<std::set<std::string>>& narrowed_to = cycle.outcome.narrowed_to;
  if (!narrowed_to) {
    narrowed_to = result.node_names;
  } else {
    std::erase_if(*narrowed_to, [&](const std::string& name) { return !result.node_names->contains(name); });
  }
  if (!narrowed_to->empty()) return true;
  const std::vector<std::string> names(narrowing.begin(), narrowing.end());
  answers.refused = Status::UnschedulableAndUnresolvable(
      names.size() == 1 ? "node(s) didn't satisfy plugin " + names.front()
                        : "node(s) didn't satisfy plugin(s) " + GoList(names) + " simultaneously");
  return false;
}

void Refuse(EvaluationCycle& cycle, const Answers& answers) {
  Outcome& outcome = cycle.outcome;
  outcome.result = Result::kRefused;
  outcome.pre_filter_status = answers.refused;
  cycle.absent_status = answers.refused;
  outcome.unschedulable_plugins = answers.narrowing;
  if (!answers.refused.plugin().empty()) outcome.unschedulable_plugins.insert(std::string(answers.refused.plugin()));
}

}  // namespace

bool RunPreFilter(EvaluationCycle& cycle) {
  const auto& plugins = cycle.profile.pre_filters;
  KeptEvaluation& kept = *cycle.kept;
  cycle.plan.is_pre_filter_skipped.assign(plugins.size(), false);
  cycle.plan.pre_filter_count = plugins.size();
  kept.pre_filter.resize(plugins.size());
  CycleState own;
  Answers answers;
  std::optional<PreFilterResult> fresh;
  for (std::size_t i = 0; i < plugins.size(); ++i) {
    const auto& [plugin, is_kept, has_extensions] = plugins[i];
    std::optional<PreFilterResult>& slot = is_kept ? kept.pre_filter[i] : fresh;
    if (!is_kept) fresh.reset();
    if (!slot) {
      slot.emplace();
      CycleState& state = is_kept ? kept.state : own;
      const Time began = cycle.sampled != nullptr ? cycle.sampled->BeginCall() : Time{};
      Status failed = GuardedCall([&, asked = plugin] {
        *slot = asked->PreFilter({cycle.nodes(), state, cycle.request.seed, cycle.request.wall_now}, cycle.pod());
      });
      if (!failed.IsSuccess()) slot->status = std::move(failed);
      if (cycle.sampled != nullptr)
        cycle.sampled->EndCall(instruments::Point::kPreFilter, plugin->Name(), slot->status.code(), began);
    }
    const Status& status = slot->status;
    if (status.IsSkip()) {
      cycle.plan.is_pre_filter_skipped[i] = true;
      continue;
    }
    if (status.IsSuccess() && !slot->node_names) continue;
    const bool is_refusal =
        status.code() == Code::kUnschedulable || status.code() == Code::kUnschedulableAndUnresolvable;
    if (!status.IsSuccess() && !is_refusal) {
      const std::string message = status.Message();
      slot.reset();  // An error is not kept: the next pod asks again.
      return cycle.Fail("running PreFilter plugin \"" + std::string(plugin->Name()) + "\": " + message);
    }
    if (Add(*slot, plugin->Name(), cycle, answers)) continue;
    cycle.plan.pre_filter_count = i + 1;
    break;
  }
  cycle.state.MergeFrom(kept.state);
  cycle.state.MergeFrom(own);
  if (!answers.narrowing.empty())
    cycle.outcome.narrowing_plugins.assign(answers.narrowing.begin(), answers.narrowing.end());
  if (answers.refused.IsSuccess()) return true;
  Refuse(cycle, answers);
  return false;
}

}  // namespace berth::runtime
