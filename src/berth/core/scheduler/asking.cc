// The part of a scheduling cycle that waits for HTTP extenders (docs/plugins/extenders.md).
//
//   filters run -> extenders filter, one after the other -> extenders prioritize, together -> filters and scores run
//                                                                                             again: the choice
//
// The cluster goes on meanwhile: inputs are taken in, and the second run, on the table as it is then, drops the nodes
// that pass no more. Nodes that came meanwhile have not been asked about and do not count. One cycle waits at a time;
// no other begins before it has ended, as upstream has it.
#include "berth/core/scheduler/asking.h"

#include <algorithm>
#include <utility>

#include "berth/base/hash_map.h"
#include "berth/core/scheduler/binding.h"
#include "berth/core/scheduler/scheduler.h"

namespace berth::scheduler {

using framework::PodInfo;
using framework::Status;
using runtime::Outcome;
using runtime::Result;

namespace {

// Extenders score from 0 to 10, plugins up to 100.
constexpr std::int64_t kExtenderScale = 10;

// Products wrap, as Go's do.
std::int64_t Scaled(std::int64_t score, std::int64_t weight) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(score) * static_cast<std::uint64_t>(weight) *
                                   static_cast<std::uint64_t>(kExtenderScale));
}

Status RefusalOf(framework::Code code, const std::string& reason) {
  return Status(code, {reason}).WithPlugin(runtime::kExtenderName);
}

}  // namespace

bool Scheduler::WantsExtenders(const PodInfo& pod) const {
  return std::any_of(options_.extenders.begin(), options_.extenders.end(), [&](const config::Extender& extender) {
    return extender.IsAskedInCycles() && extender.IsInterested(pod.spec());
  });
}

void Scheduler::BeginAsking(Profile& profile, queue::QueuedPodInfo&& queued, Decision& decision, std::uint64_t seed) {
  asking_ = std::make_unique<ExtenderCycle>();
  asking_->profile = &profile;
  asking_->queued = std::move(queued);
  asking_->decision = &decision;
  asking_->seed = seed;
  BeginFilters();
}

const Outcome& Scheduler::EvaluateAsked(ExtenderCycle& asking) {
  nominations_.Update(queue_->nominator(), cache_.nodes());
  return asking.profile->evaluator.Evaluate(asking.queued.pod, cache_.nodes(), &nominations_.rows(), asking.seed, now_,
                                            &asking.say);
}

void Scheduler::BeginFilters() {
  ExtenderCycle& asking = *asking_;
  asking.say.filters_only = true;
  const Outcome& outcome = EvaluateAsked(asking);
  if (outcome.result != Result::kFeasible) {
    const std::unique_ptr<ExtenderCycle> ended = std::move(asking_);
    Conclude(*ended->profile, std::move(ended->queued), outcome, *ended->decision);
    return;
  }
  asking.is_nominated = outcome.is_nominated_node;
  asking.node_names.clear();
  const auto add = [&](framework::NodeIndex row) { asking.node_names.push_back(cache_.nodes().Info(row).name()); };
  if (asking.is_nominated) {
    add(outcome.node);
  } else {
    std::for_each(outcome.feasible.begin(), outcome.feasible.end(), add);
  }
  asking.first_count = asking.left_count = asking.node_names.size();
  asking.extender = 0;
  AskNextFilter();
}

void Scheduler::Ask(std::size_t extender, ExtenderVerb verb) {
  const PodInfo& pod = *asking_->queued.pod;
  const std::uint64_t operation = next_operation_++;
  asking_->waiting.emplace(operation, extender);
  outputs_.emplace_back(AskExtender{
      operation, extender, verb, {pod.namespace_name(), pod.name, pod.uid, pod.resource_version}, asking_->node_names});
}

// Each extender sees what the ones before it have left.
void Scheduler::AskNextFilter() {
  ExtenderCycle& asking = *asking_;
  while (!asking.node_names.empty() && asking.extender < options_.extenders.size()) {
    const std::size_t i = asking.extender++;
    const config::Extender& extender = options_.extenders[i];
    if (extender.filter_verb.empty() || !extender.IsInterested(asking.queued.pod->spec())) continue;
    Ask(i, ExtenderVerb::kFilter);
    return;
  }
  FiltersAsked();
}

void Scheduler::FiltersAsked() {
  ExtenderCycle& asking = *asking_;
  if (asking.is_nominated) {
    // As upstream: the node that was made free for this pod needs no score.
    if (!asking.node_names.empty()) {
      const Outcome& outcome = EvaluateAsked(asking);
      if (outcome.is_nominated_node && cache_.nodes().Info(outcome.node).name() == asking.node_names.front()) {
        const std::unique_ptr<ExtenderCycle> ended = std::move(asking_);
        Conclude(*ended->profile, std::move(ended->queued), outcome, *ended->decision);
        return;
      }
    }
    return ForgetNominated();
  }
  asking.is_prioritizing = true;
  asking.say.has_refused = asking.left_count != asking.first_count;
  if (asking.node_names.size() > 1) {
    for (std::size_t i = 0; i < options_.extenders.size(); ++i) {
      const config::Extender& extender = options_.extenders[i];
      if (!extender.prioritize_verb.empty() && extender.IsInterested(asking.queued.pod->spec()))
        Ask(i, ExtenderVerb::kPrioritize);
    }
  }
  if (asking.waiting.empty()) EndAsking();
}

// The nominated node will not do: all nodes are asked about, that one among them.
void Scheduler::ForgetNominated() {
  asking_->say = {};
  asking_->say.skips_nominated = true;
  BeginFilters();
}

void Scheduler::EndAsking() {
  const std::unique_ptr<ExtenderCycle> ended = std::move(asking_);
  runtime::ExtenderVerdicts& say = ended->say;
  say.filters_only = false;
  say.skips_nominated = true;
  for (std::string& name : ended->node_names) say.passed.insert(std::move(name));
  const Outcome& outcome = EvaluateAsked(*ended);
  Conclude(*ended->profile, std::move(ended->queued), outcome, *ended->decision);
}

void Scheduler::On(ExtenderDone&& input) {
  if (asking_) {
    const auto asked = asking_->waiting.find(input.operation);
    if (asked != asking_->waiting.end()) {
      const std::size_t extender = asked->second;
      asking_->waiting.erase(asked);
      Answered(options_.extenders[extender], std::move(input));
      return;
    }
  }
  if (Binding* binding = BindingOf(input.operation)) ExtenderBound(*binding, input.answer);
}

void Scheduler::Answered(const config::Extender& extender, ExtenderDone&& input) {
  ExtenderCycle& asking = *asking_;
  if (asking.is_prioritizing) {
    // One that cannot say anything leaves it to the others.
    if (input.answer.ok()) {
      for (const auto& [name, score] : input.answer->scores) {
        std::int64_t& sum = asking.say.scores[name];
        sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                        static_cast<std::uint64_t>(Scaled(score, extender.weight)));
      }
    }
    if (asking.waiting.empty()) EndAsking();
    return;
  }
  if (!input.answer.ok()) {
    if (extender.ignorable) return AskNextFilter();
    // As upstream: an extender that fails over the nominated node alone does not end the cycle.
    if (asking.is_nominated) return ForgetNominated();
    FailAsking(input.answer.error().message);
    return;
  }
  TakeFilterAnswer(std::move(*input.answer));
  AskNextFilter();
}

void Scheduler::TakeFilterAnswer(ExtenderAnswer&& answer) {
  ExtenderCycle& asking = *asking_;
  StringHashSet left;
  std::vector<std::string> names;
  asking.left_count = answer.node_names.size();
  for (std::string& name : answer.node_names) {
    if (left.insert(name).second) names.push_back(std::move(name));
  }
  StringHashSet asked(asking.node_names.begin(), asking.node_names.end());
  const auto refuse = [&](const std::vector<std::pair<std::string, std::string>>& nodes, framework::Code code) {
    for (const auto& [name, reason] : nodes) {
      if (asked.contains(name) && !left.contains(name)) asking.say.refused.try_emplace(name, RefusalOf(code, reason));
    }
  };
  // What cannot be resolved goes before what can.
  refuse(answer.failed_and_unresolvable_nodes, framework::Code::kUnschedulableAndUnresolvable);
  refuse(answer.failed_nodes, framework::Code::kUnschedulable);
  std::erase_if(names, [&](const std::string& name) { return !asked.contains(name); });
  asking.node_names = std::move(names);
}

void Scheduler::FailAsking(const std::string& message) {
  const std::unique_ptr<ExtenderCycle> ended = std::move(asking_);
  Failure failure;
  failure.nomination.is_set = true;
  failure.message = message;
  ended->decision->message = message;
  HandleFailure(*ended->profile, std::move(ended->queued), std::move(failure));
}

void Scheduler::CancelAsking(std::string_view why) {
  if (!asking_) return;
  asking_->decision->message = why;
  queue_->Done(asking_->queued.pod->uid);
  asking_.reset();
}

// While its extenders are asked the pod changes: with its new object the cycle goes on, if it is still the same
// cycle's.
void Scheduler::NoteAskedPod(const framework::PodInfoPtr& pod) {
  if (!asking_ || asking_->queued.pod->uid != pod->uid) return;
  const bool is_ours = ProfileOf(*pod) == asking_->profile && options_.pods.Serves(pod->namespace_name());
  if (!is_ours || pod->deletion_time || !pod->node_name.empty()) {
    CancelAsking("the pod changed while extenders were asked");
  } else {
    asking_->queued.pod = pod;
  }
}

// Whether an extender was asked to bind the pod: one that is interested does it instead of the bind plugins.
bool Scheduler::AskToBind(Binding& binding) {
  while (binding.extender < options_.extenders.size()) {
    const std::size_t i = binding.extender++;
    const PodInfo& pod = *binding.assumed;
    const config::Extender& extender = options_.extenders[i];
    if (extender.bind_verb.empty() || !extender.IsInterested(pod.spec())) continue;
    binding.plugin = {};
    outputs_.emplace_back(AskExtender{NewOperation(binding),
                                      i,
                                      ExtenderVerb::kBind,
                                      {pod.namespace_name(), pod.name, pod.uid, pod.resource_version},
                                      {pod.node_name}});
    return true;
  }
  return false;
}

void Scheduler::ExtenderBound(Binding& binding, const Expected<ExtenderAnswer>& answer) {
  if (answer.ok()) {
    FinishBinding(binding);
  } else if (options_.extenders[binding.extender - 1].ignorable) {
    // If it did bind the pod, the API server refuses the next binding, and the pod is read.
    ContinueBinding(binding);
  } else {
    // It may have bound the pod before it failed, or before its answer was lost: the pod tells.
    ++counts_.bindings_unknown;
    binding.refusal = answer.error().message;
    ReadBinding(binding);
  }
}

}  // namespace berth::scheduler
