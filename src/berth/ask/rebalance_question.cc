// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/rebalance_question.h"

#include <memory>
#include <utility>

#include "berth/answers/page.h"
#include "berth/answers/plan_answer.h"
#include "berth/ask/question_fields.h"
#include "berth/ask/questions.h"
#include "berth/rebalance/measurements.h"
#include "berth/rebalance/plan.h"
#include "berth/rebalance/policy_reader.h"

namespace berth::ask {

using codec::json::object;

Expected<RebalanceQuestion> RebalanceQuestion::Parse(const object& body) {
  BERTH_RETURN_IF_ERROR(CheckFields(body, {"policy", "withinScheduler"}));
  RebalanceQuestion question;
  BERTH_ASSIGN_OR_RETURN(question.policy, TextIn(body, "policy"));
  BERTH_ASSIGN_OR_RETURN(question.within_scheduler, FlagIn(body, "withinScheduler"));
  if (question.policy.empty()) return WrongField("policy", "the text of a DeschedulerPolicy");
  return question;
}

object RebalanceQuestion::ToJson() const {
  object json{{"policy", policy}};
  if (within_scheduler) json["withinScheduler"] = true;
  return json;
}

Expected<Reply> Answer(const RebalanceQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted) {
  // The plan's texts refer to the policy.
  auto read = rebalance::ReadPolicy(question.policy);
  if (!read.ok()) return InvalidError(read.error().Wrap("policy").message);
  const auto policy = std::make_shared<const rebalance::Policy>(*std::move(read));
  if (!rebalance::MetricsNeedsOf(*policy).empty())
    return InvalidError("policy: it goes by measurements, which are not asked for here: berth rebalance plan does it");
  rebalance::PlanOptions options;
  options.now = cluster.state().read_at;
  options.is_interrupted = is_interrupted;
  options.chooses_target = question.within_scheduler;
  const rebalance::Measurements none;
  options.measurements = &none;
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const core, cluster.Core(OtherSchedulers::kByDefaults));
  auto found = rebalance::PlanRebalance(*core, cluster.state(), *policy, options);
  if (!found.ok()) return found.error();
  const auto plan = std::make_shared<const rebalance::RebalancePlan>(*std::move(found));
  Reply reply;
  object document = answers::PlanJson(*plan);
  document["cluster"] = ClusterJson(cluster.state());
  reply.document = std::move(document);
  reply.verdict = plan->is_interrupted ? Verdict::kFailed : Verdict::kYes;
  reply.text = [plan, policy](const TextStyle& style) {
    const std::size_t width = style.columns > 0 ? style.columns : answers::kAnswerColumns;
    std::string text;
    for (const std::string& line :
         answers::PlanLines(*plan, style.is_wide, {style.has_color, style.is_wide ? 0 : width}))
      text += line + "\n";
    return text;
  };
  reply.warnings = cluster.TakeNotes();
  return reply;
}

}  // namespace berth::ask
