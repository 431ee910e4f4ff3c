// SPDX-License-Identifier: Apache-2.0
#include "verifier.h"

#include <algorithm>

#include "berth/base/check.h"
#include "berth/core/config/default.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/framework/preemption_report.h"
#include "berth/plugins/registry.h"

namespace berth::bench {
namespace {

// The handle of new plugins: has the objects, and ignores their requests.
class StillHandle final : public framework::Handle {
 public:
  StillHandle(const framework::Objects& objects, const framework::NodeTable& nodes, const Nominated& nominated)
      : objects_(objects), nodes_(nodes), nominated_(nominated) {}

  void Decide(framework::PermitDecision) override {}
  const framework::Objects& objects() const override { return objects_; }
  const framework::NodeTable* node_table() const override { return &nodes_; }
  void Start(framework::Operation) override {}
  void Emit(framework::PodEvent) override {}
  std::vector<framework::PodInfoPtr> NominatedPods(std::string_view node_name) const override {
    const auto it = nominated_.find(node_name);
    return it == nominated_.end() ? std::vector<framework::PodInfoPtr>() : it->second;
  }
  std::string NominatedNode(std::string_view uid) const override {
    for (const auto& [node, pods] : nominated_) {
      for (const framework::PodInfoPtr& pod : pods) {
        if (pod->uid == uid) return node;
      }
    }
    return {};
  }
  framework::PodInfoPtr FindAssignedPod(std::string_view) const override { return nullptr; }
  void ClearNomination(const framework::PodInfo&) override {}
  bool CancelBinding(std::string_view, std::string_view, std::string_view) override { return false; }
  void Activate(std::string_view) override {}

 private:
  const framework::Objects objects_;
  const framework::NodeTable& nodes_;
  const Nominated& nominated_;
};

using Refusals = std::vector<std::pair<std::string, std::size_t>>;

Refusals Readable(const std::vector<std::pair<framework::Status, std::size_t>>& counts) {
  Refusals refusals;
  for (const auto& [status, count] : counts)
    refusals.emplace_back(std::string(status.plugin()) + ": " + status.Message(), count);
  std::sort(refusals.begin(), refusals.end());
  return refusals;
}

std::string ToText(const Refusals& refusals) {
  std::string text;
  for (const auto& [reason, count] : refusals) text += std::to_string(count) + " " + reason + "; ";
  return text;
}

// Describes the first difference of a decision; empty: there is none.
std::string Compare(const scheduler::Decision& decision, const runtime::Outcome& want, const Refusals& want_refusals,
                    const framework::NodeTable& nodes) {
  if (want.result == runtime::Result::kError) return "the plain evaluation fails: " + want.error;
  if ((want.result == runtime::Result::kFeasible) != !decision.node_name.empty())
    return decision.node_name.empty() ? "refused (" + decision.message + "), but has a node"
                                      : "placed on " + decision.node_name + ", but no node is feasible";
  if (const Refusals got = Readable(decision.refusals); got != want_refusals)
    return "refusals differ: " + ToText(got) + "not " + ToText(want_refusals);
  if (decision.node_name.empty()) return {};
  if (decision.feasible_count != want.feasible_count) {
    return std::to_string(decision.feasible_count) + " feasible nodes, not " + std::to_string(want.feasible_count);
  }
  if (decision.total != want.total) {
    return "score " + std::to_string(decision.total) + " of " + decision.node_name + ", but the best is " +
           std::to_string(want.total);
  }
  const framework::NodeIndex row = nodes.Find(decision.node_name);
  const bool is_best =
      want.is_scored ? std::find(want.best.begin(), want.best.end(), row) != want.best.end() : row == want.node;
  return is_best ? std::string() : decision.node_name + " is not among the best nodes";
}

// Compares the nominated node after a refusal with that of preemption. Changes the evaluator's state.
std::string ComparePreemption(std::string_view nominated, runtime::Evaluator& evaluator,
                              const framework::NodeTable& nodes) {
  const framework::PostFilterResult want = evaluator.RunPostFilter();
  if (nominated.empty() != want.nominated_node_name.empty()) {
    return nominated.empty() ? "preempts nowhere, but could on " + want.nominated_node_name
                             : "preempts on " + std::string(nominated) + ", but should nowhere";
  }
  if (nominated.empty() || nominated == want.nominated_node_name || !want.preemption) return {};
  const std::vector<framework::NodeIndex>& acceptable = want.preemption->acceptable;
  const bool is_acceptable = std::find(acceptable.begin(), acceptable.end(), nodes.Find(nominated)) != acceptable.end();
  return is_acceptable ? std::string()
                       : "preempts on " + std::string(nominated) + ", but better on " + want.nominated_node_name;
}

// The pod as it was before the decision. It is in the cache if it was placed, otherwise in the queue again.
framework::PodInfoPtr DecidedPod(const scheduler::Scheduler& core, const std::string& uid) {
  if (const framework::PodInfoPtr* const placed = core.cache().FindPod(uid)) {
    auto pod = std::make_shared<framework::PodInfo>(**placed);
    pod->node_name.clear();
    return pod;
  }
  const auto waiting = core.queue().Find(uid);
  BERTH_CHECK(waiting, uid);
  return waiting->pod;
}

}  // namespace

void Verifier::BeforeCycle(const scheduler::Scheduler& core, Time now) {
  if (cycle_++ % every_ != 0) return;
  const cache::ColumnNodeTable& nodes = core.cache().nodes();
  cache_ = std::make_unique<cache::Cache>();
  for (const framework::NodeIndex row : nodes.rows()) cache_->SetNode(nodes.Info(row).node_ptr());
  for (const framework::NodeIndex row : nodes.rows()) {
    for (const framework::PodInfoPtr& pod : nodes.Info(row).pods()) cache_->SetPod(pod);
  }
  nominated_.clear();
  core.queue().nominator().ForEachNode([this](std::string_view node, const auto& pods) {
    nominated_.emplace(std::string(node), std::vector<framework::PodInfoPtr>(pods.begin(), pods.end()));
  });
  now_ = now;
}

void Verifier::AfterCycle(const scheduler::Scheduler& core) {
  if (!cache_) return;
  const std::unique_ptr<cache::Cache> cache = std::move(cache_);
  const scheduler::Decision& decision = core.decisions().Newest();
  StillHandle handle(objects_, cache->nodes(), nominated_);
  auto profiles = runtime::MakeProfiles(config::DefaultConfiguration(), plugins::InTreePlugins(), handle);
  BERTH_CHECK(profiles.ok(), profiles.error().message);
  runtime::Evaluator evaluator(*profiles->front(), {.form = runtime::Form::kPlain, .with_detail = true});
  framework::NominatedRows nominations;
  for (const auto& [node, pods] : nominated_) {
    const framework::NodeIndex row = cache->nodes().Find(node);
    if (row != framework::kNoNode) nominations.Set(row, pods);
  }
  const framework::PodInfoPtr pod = DecidedPod(core, decision.pod_uid);
  const runtime::Outcome& outcome = evaluator.Evaluate(pod, cache->nodes(), &nominations, decision.seed, now_);
  ++checked_;
  const bool is_refused = outcome.result == runtime::Result::kRefused;
  std::string wrong = Compare(decision, outcome, Readable(evaluator.RefusalCounts()), cache->nodes());
  if (wrong.empty() && is_refused)
    wrong = ComparePreemption(core.queue().nominator().NominatedNode(decision.pod_uid), evaluator, cache->nodes());
  if (wrong.empty()) return;
  ++violations_;
  if (first_violation_.empty()) {
    first_violation_ = "cycle " + std::to_string(decision.cycle) + ", " + decision.PodKey() + ": " + wrong;
  }
}

}  // namespace berth::bench
