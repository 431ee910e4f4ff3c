// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/disruption_controller.h"

#include <utility>

#include "berth/shell/client/rest_client.h"

namespace berth::controllers {
namespace {

using client::ObjectPath;
using client::WorkQueue;

constexpr std::string_view kPrefix = "/apis/policy/v1";
constexpr int kBudgetsAtOnce = 4;
// Changes of pods come in swarms; each swarm is one look at the budget.
constexpr Duration kGather = std::chrono::milliseconds(20);

}  // namespace

DisruptionController::DisruptionController(Context& context)
    : context_(context),
      queue_(std::make_shared<WorkQueue>(
          context.loop, client::WorkQueueOptions{.in_flight_max = kBudgetsAtOnce, .seed = context.options.seed + 57},
          [this](const std::string& key, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(key, std::move(done));
          })) {}

void DisruptionController::OnSynced() { is_synced_ = true; }

void DisruptionController::OnBudget(const std::shared_ptr<const WorkloadView>& budget) {
  budgets_.Put(budget);
  queue_->Add(budget->Key());
}

void DisruptionController::OnBudgetGone(const WorkloadView& budget) { budgets_.Erase(budget.Key()); }

void DisruptionController::OnPod(const PodView& pod) {
  budgets_.ForEachIn(pod.namespace_name, [&](const std::shared_ptr<const WorkloadView>& budget) {
    if (budget->selector && budget->selector->Matches(pod.labels)) queue_->AddAfter(budget->Key(), kGather);
  });
}

void DisruptionController::OnScale(const WorkloadView& workload) {
  budgets_.ForEachIn(workload.namespace_name, [&](const std::shared_ptr<const WorkloadView>& budget) {
    queue_->AddAfter(budget->Key(), kGather);
  });
}

std::optional<std::int64_t> DisruptionController::ReplicasOf(const api::OwnerReference& controller) const {
  if (controller.kind == kStatefulSets.kind) {
    const auto set = context_.stateful_sets.FindUid(controller.uid);
    return set ? std::optional(set->replicas) : std::nullopt;
  }
  const auto set = controller.kind == kReplicaSets.kind ? context_.replica_sets.FindUid(controller.uid) : nullptr;
  if (!set) return std::nullopt;
  // What the Deployment wants, whichever of its sets the pod is of.
  const auto deployment = set->controller ? context_.deployments.FindUid(set->controller->uid) : nullptr;
  return deployment ? deployment->replicas : set->replicas;
}

void DisruptionController::Sync(const std::string& key, WorkQueue::Done done) {
  if (!is_synced_) {
    queue_->AddAfter(key, kGather);
    return done(true);
  }
  const auto budget = budgets_.Find(key);
  if (!budget || budget->is_deleted) return done(true);
  Pods pods;
  context_.pods.ForEachIn(budget->namespace_name, [&](const std::shared_ptr<const PodView>& pod) {
    if (budget->selector && budget->selector->Matches(pod->labels)) pods.push_back(pod);
  });
  DisruptionDecision decision = DecideDisruption(
      *budget, pods, [this](const api::OwnerReference& controller) { return ReplicasOf(controller); },
      context_.loop.WallNow());
  if (decision.again_after) queue_->AddAfter(key, *decision.again_after + std::chrono::milliseconds(1));
  if (decision.status.empty()) return done(true);
  // An eviction that came in between has changed the budget: then the watch shows it, and leads to the next look.
  const json::object patch{
      {"metadata", json::object{{"uid", budget->uid}, {"resourceVersion", budget->resource_version}}},
      {"status", std::move(decision.status)}};
  context_.Send("PATCH", ObjectPath(kPrefix, budget->namespace_name, "poddisruptionbudgets", budget->name, "status"),
                patch, kMergePatch, [this, key, done = std::move(done)](Expected<net::Response> response) {
                  const bool is_settled = response.ok() || response.error().code == ErrorCode::kNotFound ||
                                          response.error().code == ErrorCode::kConflict;
                  if (!is_settled) context_.CountFailure("writing the status of the budget", key, response.error());
                  done(is_settled);
                });
}

}  // namespace berth::controllers
