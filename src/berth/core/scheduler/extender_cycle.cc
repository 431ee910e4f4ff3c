// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/extender_cycle.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "berth/base/hash_map.h"
#include "berth/core/scheduler/attempt_trace.h"

namespace berth::scheduler {

using framework::Status;
using runtime::Outcome;

namespace {

// Extenders score from 0 to 10, plugins from 0 to 100.
constexpr std::int64_t kExtenderScale = 10;

// Products and sums wrap, as Go's do.
std::int64_t Scaled(std::int64_t score, std::int64_t weight) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(score) * static_cast<std::uint64_t>(weight) *
                                   static_cast<std::uint64_t>(kExtenderScale));
}
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

const std::string& VerbOf(const config::Extender& extender, ExtenderVerb verb) {
  switch (verb) {
    case ExtenderVerb::kFilter: return extender.filter_verb;
    case ExtenderVerb::kPrioritize: return extender.prioritize_verb;
    case ExtenderVerb::kBind: return extender.bind_verb;
    case ExtenderVerb::kPreempt: break;
  }
  return extender.preempt_verb;
}

// The number of nodes that the filters looked at: all, or those that PreFilter returned.
std::size_t SearchedCount(const Outcome& outcome, const framework::NodeTable& nodes) {
  if (!outcome.narrowed_to) return outcome.node_count;
  return static_cast<std::size_t>(
      std::count_if(outcome.narrowed_to->begin(), outcome.narrowed_to->end(),
                    [&](const std::string& name) { return nodes.Find(name) != framework::kNoNode; }));
}

Status RefusalOf(framework::Code code, const std::string& reason) {
  return Status(code, {reason}).WithPlugin(runtime::kExtenderName);
}

}  // namespace

bool ExtenderCycle::IsWantedFor(const framework::PodInfo& pod, const std::vector<config::Extender>& extenders) {
  return std::any_of(extenders.begin(), extenders.end(), [&](const config::Extender& extender) {
    return extender.JudgesNodes() && extender.IsInterested(pod.spec());
  });
}

bool ExtenderCycle::IsAsked(std::size_t extender, ExtenderVerb verb) const {
  const config::Extender& asked = state_.options.extenders[extender];
  return !VerbOf(asked, verb).empty() && !failed_.contains({extender, verb}) && asked.IsInterested(pod().spec());
}

const Outcome& ExtenderCycle::Evaluate() {
  state_.UpdateNominations();
  outcome_ =
      &attempt_.profile->evaluator.Evaluate(attempt_.queued.pod, state_.cache.nodes(), &state_.nominations.rows(),
                                            attempt_.seed, state_.WallNow(), judges_nodes_ ? &answers_ : nullptr);
  return *outcome_;
}

void ExtenderCycle::Ask(std::size_t extender, ExtenderVerb verb) {
  const std::uint64_t operation = state_.outputs.NewOperation();
  waiting_.emplace(operation, extender);
  if (attempt_.queued.is_sampled) TraceOperation(state_, pod().uid, operation, false);
  AskExtender question{operation, extender, verb, RefOf(pod())};
  if (verb == ExtenderVerb::kPreempt) {
    question.victims = preemption_->candidates();
  } else {
    question.node_names = node_names_;
  }
  state_.outputs.AddQuestion(std::move(question));
}

ExtenderCycle::Progress ExtenderCycle::StartFilters() {
  const framework::NodeTable& nodes = state_.cache.nodes();
  const bool has_batches = LimitsNodes();
  answers_.filters_only = true;
  answers_.totals_above = has_batches ? kNodeBatchMin : SIZE_MAX;
  const Outcome& outcome = Evaluate();
  if (outcome.result != runtime::Result::kFeasible) return Decide();
  if (outcome.is_nominated_node) return StartAsking(ExtenderStage::kFilterNominated, {nodes.Info(outcome.node).name()});
  std::size_t batch_size = outcome.feasible.size();
  if (has_batches) {
    batch_size =
        FeasibleNodesToFind(SearchedCount(outcome, nodes), attempt_.profile->plugins->percentage_of_nodes_to_score);
  }
  batches_.Begin(outcome.feasible, outcome.totals, nodes, batch_size, attempt_.seed);
  return StartAsking(ExtenderStage::kFilter, batches_.Take(nodes));
}

// Whether the number of nodes in a request is limited to what upstream would look for. This is so if an interested
// extender gets whole nodes and the limit is below the number of nodes. Names alone are small, so that all are sent at
// once.
bool ExtenderCycle::LimitsNodes() const {
  const std::vector<config::Extender>& extenders = state_.options.extenders;
  const std::size_t node_count = state_.cache.nodes().node_count();
  if (FeasibleNodesToFind(node_count, attempt_.profile->plugins->percentage_of_nodes_to_score) == node_count)
    return false;
  return std::any_of(extenders.begin(), extenders.end(), [&](const config::Extender& extender) {
    return extender.GetsWholeNodes() && extender.IsInterested(pod().spec());
  });
}

ExtenderCycle::Progress ExtenderCycle::StartAsking(ExtenderStage stage, std::vector<std::string> node_names) {
  stage_ = stage;
  node_names_ = std::move(node_names);
  passed_count_ = left_count_ = node_names_.size();
  next_extender_ = 0;
  return AskNextFilter();
}

// Each extender is asked about the nodes that the previous ones left.
ExtenderCycle::Progress ExtenderCycle::AskNextFilter() {
  while (!node_names_.empty() && next_extender_ < state_.options.extenders.size()) {
    const std::size_t i = next_extender_++;
    if (!IsAsked(i, ExtenderVerb::kFilter)) continue;
    Ask(i, ExtenderVerb::kFilter);
    return Progress::kWaiting;
  }
  return stage_ == ExtenderStage::kFilterNominated ? EndFilterNominated() : EndFilters();
}

// As upstream, the nominated node needs no score. If it was refused, all nodes are asked about, including it.
ExtenderCycle::Progress ExtenderCycle::EndFilterNominated() {
  if (!node_names_.empty()) {
    const Outcome& outcome = Evaluate();
    if (outcome.is_nominated_node && state_.cache.nodes().Info(outcome.node).name() == node_names_.front())
      return Progress::kDecided;
  }
  answers_ = {};
  answers_.skips_nominated = true;
  return StartFilters();
}

ExtenderCycle::Progress ExtenderCycle::EndFilters() {
  answers_.has_refused |= left_count_ != passed_count_;
  stage_ = ExtenderStage::kPrioritize;
  if (node_names_.size() > 1) {
    for (std::size_t i = 0; i < state_.options.extenders.size(); ++i) {
      if (IsAsked(i, ExtenderVerb::kPrioritize)) Ask(i, ExtenderVerb::kPrioritize);
    }
  }
  return waiting_.empty() ? EndPrioritize() : Progress::kWaiting;
}

ExtenderCycle::Progress ExtenderCycle::EndPrioritize() {
  answers_.filters_only = false;
  answers_.skips_nominated = true;
  for (std::string& name : node_names_) answers_.passed.insert(std::move(name));
  const Outcome& outcome = Evaluate();
  // The extenders left no node, or those they left have become full or were deleted. If PreFilter now refuses the pod,
  // other nodes do not help.
  if (outcome.result == runtime::Result::kRefused && outcome.pre_filter_status.IsSuccess()) {
    if (std::vector<std::string> next = batches_.Take(state_.cache.nodes()); !next.empty())
      return StartAsking(ExtenderStage::kFilter, std::move(next));
  }
  return Decide();
}

ExtenderCycle::Progress ExtenderCycle::StartPreemption(const Outcome& outcome) {
  judges_nodes_ = false;
  outcome_ = &outcome;
  return Decide();
}

// The outcome is final, except when the pod may preempt: then extenders are asked before pods are evicted.
ExtenderCycle::Progress ExtenderCycle::Decide() {
  if (outcome_->result != runtime::Result::kRefused ||
      !ExtenderPreemption::IsWantedFor(pod(), state_.options.extenders))
    return Progress::kDecided;
  stage_ = ExtenderStage::kPreempt;
  preemption_.emplace();
  attempt_.post_filter = attempt_.profile->evaluator.RunPostFilter(&preemption_->review());
  if (!attempt_.post_filter->status.IsWait()) return Progress::kDecided;
  preemption_->Begin(state_.cache.nodes());
  next_extender_ = 0;
  return AskNextPreempt();
}

ExtenderCycle::Progress ExtenderCycle::AskNextPreempt() {
  while (!preemption_->candidates().empty() && next_extender_ < state_.options.extenders.size()) {
    const std::size_t i = next_extender_++;
    if (!IsAsked(i, ExtenderVerb::kPreempt)) continue;
    Ask(i, ExtenderVerb::kPreempt);
    return Progress::kWaiting;
  }
  return EndPreempt();
}

ExtenderCycle::Progress ExtenderCycle::EndPreempt() {
  preemption_->End(state_.cache.nodes());
  attempt_.post_filter.reset();
  const Outcome& outcome = Evaluate();
  if (outcome.result == runtime::Result::kRefused) {
    attempt_.post_filter = attempt_.profile->evaluator.RunPostFilter(&preemption_->review());
  } else if (outcome.result == runtime::Result::kFeasible && judges_nodes_ && answers_.filters_only) {
    // Extenders that filter have not been asked about this node.
    error_ = "a node came free while extenders were asked about preemption";
    return Progress::kFailed;
  }
  return Progress::kDecided;
}

ExtenderCycle::Progress ExtenderCycle::TakeAnswer(ExtenderDone&& input) {
  const auto asked = waiting_.find(input.operation);
  const std::size_t i = asked->second;
  const config::Extender& extender = state_.options.extenders[i];
  waiting_.erase(asked);
  if (stage_ == ExtenderStage::kPrioritize) {
    // The failure of an extender that scores is ignored.
    if (input.answer.ok()) {
      AddScores(*input.answer, extender.weight);
    } else {
      failed_.emplace(i, ExtenderVerb::kPrioritize);
    }
    return waiting_.empty() ? EndPrioritize() : Progress::kWaiting;
  }
  if (stage_ == ExtenderStage::kPreempt) {
    return preemption_->Take(extender, std::move(input.answer), state_.cache.nodes()) ? AskNextPreempt() : EndPreempt();
  }
  if (input.answer.ok()) {
    TakeFilterAnswer(std::move(*input.answer));
    return AskNextFilter();
  }
  if (extender.ignorable) {
    if (stage_ == ExtenderStage::kFilter) failed_.emplace(i, ExtenderVerb::kFilter);
    return AskNextFilter();
  }
  if (stage_ == ExtenderStage::kFilterNominated) {
    // As upstream, a failure on the nominated node alone does not end the cycle.
    node_names_.clear();
    return EndFilterNominated();
  }
  error_ = input.answer.error().message;
  return Progress::kFailed;
}

void ExtenderCycle::TakeFilterAnswer(ExtenderAnswer&& answer) {
  StringHashSet left;
  std::vector<std::string> names;
  left_count_ = answer.node_names.size();
  for (std::string& name : answer.node_names) {
    if (left.insert(name).second) names.push_back(std::move(name));
  }
  StringHashSet asked(node_names_.begin(), node_names_.end());
  const auto refuse = [&](const std::vector<std::pair<std::string, std::string>>& nodes, framework::Code code) {
    for (const auto& [name, reason] : nodes) {
      if (asked.contains(name) && !left.contains(name)) answers_.refused.try_emplace(name, RefusalOf(code, reason));
    }
  };
  // For a node in both lists, UnschedulableAndUnresolvable wins.
  refuse(answer.failed_and_unresolvable_nodes, framework::Code::kUnschedulableAndUnresolvable);
  refuse(answer.failed_nodes, framework::Code::kUnschedulable);
  std::erase_if(names, [&](const std::string& name) { return !asked.contains(name); });
  node_names_ = std::move(names);
}

void ExtenderCycle::AddScores(const ExtenderAnswer& answer, std::int64_t weight) {
  for (const auto& [name, score] : answer.scores) {
    std::int64_t& sum = answers_.scores[name];
    sum = Sum(sum, Scaled(score, weight));
  }
}

}  // namespace berth::scheduler
