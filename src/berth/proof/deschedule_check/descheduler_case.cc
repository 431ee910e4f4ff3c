// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/deschedule_check/descheduler_case.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "berth/codec/json_reader.h"
#include "berth/rebalance/objections.h"
#include "berth/rebalance/policy_reader.h"
#include "berth/whatif/state_builder.h"

namespace berth::conformance {
namespace {

using simdjson::dom::element;

struct List {
  std::string_view member;
  std::string_view kind;
};
constexpr List kLists[] = {{"nodes", "Node"},
                           {"pods", "Pod"},
                           {"namespaces", "Namespace"},
                           {"budgets", "PodDisruptionBudget"},
                           {"claims", "PersistentVolumeClaim"}};

std::vector<DeschedulerEviction> ReadAnswer(const element& list) {
  std::vector<DeschedulerEviction> answer;
  simdjson::dom::array items;
  if (list.get(items) != simdjson::SUCCESS) return answer;
  for (const element item : items) {
    answer.push_back(
        {std::string(codec::StringOrEmpty(item, "strategy")), std::string(codec::StringOrEmpty(item, "pod"))});
  }
  return answer;
}

std::string Text(const std::vector<DeschedulerEviction>& answer) {
  std::string text;
  for (const DeschedulerEviction& each : answer) text += "    " + each.strategy + " " + each.pod + "\n";
  return text.empty() ? "    nothing\n" : text;
}

}  // namespace

Expected<DeschedulerCase> ReadDeschedulerCase(std::string_view line) {
  codec::JsonReader reader;
  BERTH_ASSIGN_OR_RETURN(const element root, reader.Parse(line));
  DeschedulerCase test;
  test.name = codec::StringOrEmpty(root, "name");
  if (const auto error = codec::FindString(root, "error"))
    return InvalidError(test.name + ": the oracle has no answer: " + std::string(*error));
  const auto now = ParseRfc3339(codec::StringOrEmpty(root, "now"));
  const auto policy = codec::FindMember(root, "policy");
  const auto answers = codec::FindArray(root, "answers");
  if (!now || !policy || !answers) return InvalidError(test.name + ": a case has now, policy and answers");
  test.now = *now;
  auto read = rebalance::ReadPolicy(simdjson::minify(*policy));
  if (!read.ok()) return read.error().Wrap(test.name + ": policy");
  test.policy = std::move(*read);
  whatif::StateBuilder builder({.pod_details = true});
  for (const List& list : kLists) {
    const auto kind = whatif::KindNamed(list.kind);
    const auto objects = codec::FindArray(root, list.member);
    if (!kind || !objects) continue;
    for (const element object : *objects) builder.Add(*kind, object);
  }
  test.state = std::move(builder).Take();
  if (!test.state.left_out.empty()) return InvalidError(test.name + ": " + test.state.left_out.front());
  for (const element answer : *answers) test.answers.push_back(ReadAnswer(answer));
  test.is_ordered = codec::FindBool(root, "ordered").value_or(false);
  return test;
}

Expected<std::vector<DeschedulerEviction>> AnswerOf(const DeschedulerCase& test) {
  const rebalance::ClusterView view(test.state);
  rebalance::ObjectionOptions options;
  options.now = test.now;
  options.limits = test.policy.limits;
  BERTH_ASSIGN_OR_RETURN(const auto objections, rebalance::FindObjections(test.policy, view, options));
  std::vector<DeschedulerEviction> answer;
  for (const rebalance::Objection& objection : objections)
    answer.push_back({std::string(rebalance::NameOf(*objection.strategy)), view.pod(objection.pod).Key()});
  if (!test.is_ordered) std::ranges::sort(answer);
  return answer;
}

Expected<std::string> DifferenceOf(const DeschedulerCase& test) {
  auto answer = AnswerOf(test);
  if (!answer.ok()) return answer.error().Wrap(test.name);
  if (std::ranges::find(test.answers, *answer) != test.answers.end()) return std::string();
  std::string text = test.name + ": berth objects to\n" + Text(*answer);
  for (const auto& other : test.answers) text += "  the descheduler to\n" + Text(other);
  return text;
}

}  // namespace berth::conformance
