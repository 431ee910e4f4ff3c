// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/question_kinds.h"

#include <algorithm>
#include <array>

#include "berth/ask/buy_question.h"
#include "berth/ask/questions.h"
#include "berth/ask/rebalance_question.h"
#include "berth/ask/simulate_question.h"

namespace berth::ask {
namespace {

using codec::json::object;

template <typename Question>
Expected<Reply> AnswerTo(const object& body, const AskLimits&, AskedCluster& cluster,
                         const IsInterrupted& is_interrupted) {
  BERTH_ASSIGN_OR_RETURN(const Question question, Question::Parse(body));
  return Answer(question, cluster, is_interrupted);
}

Expected<Reply> Simulate(const object& body, const AskLimits& limits, AskedCluster& cluster, const IsInterrupted&) {
  BERTH_ASSIGN_OR_RETURN(const SimulateQuestion question, SimulateQuestion::Parse(body));
  return Answer(question, limits, cluster);
}

Expected<Reply> Capacity(const object& body, const AskLimits& limits, AskedCluster& cluster,
                         const IsInterrupted& is_interrupted) {
  BERTH_ASSIGN_OR_RETURN(CapacityQuestion question, CapacityQuestion::Parse(body));
  if (std::max(question.pods_max, question.required.value_or(0)) > limits.capacity_max)
    return InvalidError("max and require should be at most " + std::to_string(limits.capacity_max));
  return Answer(question, cluster, is_interrupted);
}

Expected<Reply> Buy(const object& body, const AskLimits& limits, AskedCluster& cluster,
                    const IsInterrupted& is_interrupted) {
  BERTH_ASSIGN_OR_RETURN(const BuyQuestion question, BuyQuestion::Parse(body));
  return Answer(question, limits, cluster, is_interrupted);
}

constexpr std::array<QuestionKind, 7> kQuestions = {{
    {"explain", AnswerTo<ExplainQuestion>},
    {"simulate", Simulate},
    {"capacity", Capacity},
    {"can-drain", AnswerTo<DrainQuestion>},
    {"headroom", AnswerTo<HeadroomQuestion>},
    {"rebalance-plan", AnswerTo<RebalanceQuestion>},
    {"buy", Buy},
}};

}  // namespace

std::span<const QuestionKind> Questions() { return kQuestions; }

const QuestionKind* FindQuestion(std::string_view name) {
  const auto at = std::ranges::find(kQuestions, name, &QuestionKind::name);
  return at == kQuestions.end() ? nullptr : &*at;
}

}  // namespace berth::ask
