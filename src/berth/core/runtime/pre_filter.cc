// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/pre_filter.h"

#include <algorithm>
#include <set>

#include "berth/base/go_text.h"
#include "berth/core/runtime/charged.h"
#include "berth/core/runtime/evaluation_metrics.h"
#include "berth/core/runtime/kept_evaluation.h"

namespace berth::runtime {

using framework::Code;
using framework::CycleState;
using framework::PreFilterResult;
using framework::Status;

namespace {

// The combined answers of the PreFilter plugins, as upstream combines them.
struct Answers {
  Status refused;
  std::set<std::string> narrowing;  // plugins that named nodes
};

// Adds an answer that refuses the pod or names nodes. Returns false when no further plugin needs to be called.
bool Add(const PreFilterResult& result, std::string_view plugin, EvaluationCycle& cycle, Answers& answers) {
  if (!result.status.IsSuccess()) {
    answers.refused = result.status.WithPlugin(plugin);
    if (result.status.code() != Code::kUnschedulableAndUnresolvable) return true;
    answers.narrowing
        .clear();  // as in upstream, plugins that narrowed the search before do not count as rejectors then
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

PreFilterResult Ask(EvaluationCycle& cycle, std::size_t i, CycleState& state) {
  const framework::PreFilterPlugin& plugin = *cycle.profile.pre_filters[i].plugin;
  const Time began = cycle.sampled != nullptr ? cycle.sampled->BeginCall() : Time{};
  const bool is_own = cycle.profile.pre_filters[i].is_own;
  // The state that a class keeps lacks it at first.
  if (is_own) state.Write(framework::WorkBudget::kKey, cycle.work);
  PreFilterResult result = Charged<PreFilterResult>(cycle, is_own, 0, [&] {
    return plugin.PreFilter({cycle.nodes(), state, cycle.request.seed, cycle.request.wall_now}, cycle.pod());
  });
  if (cycle.sampled != nullptr)
    cycle.sampled->EndCall(instruments::Point::kPreFilter, plugin.Name(), result.status.code(), began);
  return result;
}

// How to continue after one plugin's answer. kEnd: no further plugin needs to be called.
enum class Next { kGoOn, kEnd, kFail };

Next Consider(const PreFilterResult& result, std::size_t i, EvaluationCycle& cycle, Answers& answers) {
  const Status& status = result.status;
  if (status.IsSkip()) {
    cycle.plan.is_pre_filter_skipped[i] = true;
    return Next::kGoOn;
  }
  if (status.IsSuccess() && !result.node_names) return Next::kGoOn;
  const std::string_view plugin = cycle.profile.pre_filters[i].plugin->Name();
  const bool is_refusal = status.code() == Code::kUnschedulable || status.code() == Code::kUnschedulableAndUnresolvable;
  if (!status.IsSuccess() && !is_refusal) {
    cycle.Fail("running PreFilter plugin \"" + std::string(plugin) + "\": " + status.Message());
    return Next::kFail;
  }
  if (Add(result, plugin, cycle, answers)) return Next::kGoOn;
  cycle.plan.pre_filter_count = i + 1;
  return Next::kEnd;
}

// Calls all plugins except those with a kept answer.
Next AskAll(EvaluationCycle& cycle, Answers& answers) {
  const auto& plugins = cycle.profile.pre_filters;
  KeptEvaluation& kept = *cycle.kept;
  cycle.plan.is_pre_filter_skipped.assign(plugins.size(), false);
  kept.pre_filter.resize(plugins.size());
  kept.is_pre_filter_skipped.assign(plugins.size(), false);
  bool do_pass = true;
  for (std::size_t i = 0; i < plugins.size(); ++i) {
    Next next = Next::kGoOn;
    if (plugins[i].is_kept) {
      std::optional<PreFilterResult>& slot = kept.pre_filter[i];
      if (!slot) slot = Ask(cycle, i, kept.state);
      next = Consider(*slot, i, cycle, answers);
      kept.is_pre_filter_skipped[i] = slot->status.IsSkip();
      do_pass = do_pass && (slot->status.IsSkip() || (slot->status.IsSuccess() && !slot->node_names));
      if (next == Next::kFail) slot.reset();  // an error is not kept: the next pod's cycle calls the plugin again
    } else {
      next = Consider(Ask(cycle, i, cycle.state), i, cycle, answers);
    }
    if (next != Next::kGoOn) return next;
  }
  kept.do_pre_filters_pass = do_pass;
  return Next::kGoOn;
}

// For a pod that the kept answers let pass: calls the other plugins only.
Next AskUnkept(EvaluationCycle& cycle, Answers& answers) {
  cycle.plan.is_pre_filter_skipped = cycle.kept->is_pre_filter_skipped;
  for (const std::size_t i : cycle.profile.unkept_pre_filters) {
    const Next next = Consider(Ask(cycle, i, cycle.state), i, cycle, answers);
    if (next != Next::kGoOn) return next;
  }
  return Next::kGoOn;
}

}  // namespace

bool RunPreFilter(EvaluationCycle& cycle) {
  cycle.plan.pre_filter_count = cycle.profile.pre_filters.size();
  Answers answers;
  const Next next = cycle.kept->do_pre_filters_pass ? AskUnkept(cycle, answers) : AskAll(cycle, answers);
  if (next == Next::kFail) return false;
  cycle.state.MergeFrom(cycle.kept->state);
  if (!answers.narrowing.empty())
    cycle.outcome.narrowing_plugins.assign(answers.narrowing.begin(), answers.narrowing.end());
  if (answers.refused.IsSuccess()) return true;
  Refuse(cycle, answers);
  return false;
}

}  // namespace berth::runtime
