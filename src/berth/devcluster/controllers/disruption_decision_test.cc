// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/disruption_decision.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::controllers {
namespace {

constexpr Time kNow{std::chrono::seconds(1767225600)};  // 2026-01-01T00:00:00Z

WorkloadView Budget(const std::string& spec, const std::string& status = "{}") {
  WorkloadView budget;
  budget.name = "guard";
  budget.generation = 3;
  budget.spec = json::parse(spec).as_object();
  budget.status = json::parse(status).as_object();
  return budget;
}

std::shared_ptr<PodView> Pod(const std::string& name, const char* kind = "ReplicaSet", bool is_ready = true) {
  auto pod = std::make_shared<PodView>();
  pod->name = name;
  pod->is_ready = is_ready;
  if (kind != nullptr) pod->controller = api::OwnerReference{"apps/v1", kind, "web", "web-uid"};
  return pod;
}

// Four replicas of everything but Jobs.
DisruptionDecision Decide(const WorkloadView& budget, const Pods& pods, Time now = kNow) {
  return DecideDisruption(
      budget, pods,
      [](const api::OwnerReference& owner) {
        return owner.kind == "Job" ? std::nullopt : std::optional<std::int64_t>(4);
      },
      now);
}

TEST(DecideDisruption, CountsAsUpstream) {
  struct Case {
    const char* name;
    const char* spec;
    Pods pods;
    int expected, desired, healthy, allowed;
  };
  auto deleted = Pod("c");
  deleted->is_deleted = true;
  const Case cases[] = {
      {"a number of all pods", R"({"minAvailable":1})", {Pod("a"), Pod("b")}, 2, 1, 2, 1},
      {"too few", R"({"minAvailable":5})", {Pod("a"), Pod("b")}, 2, 5, 2, 0},
      {"a percentage of the replicas, rounded up", R"({"minAvailable":"30%"})", {Pod("a"), Pod("b")}, 4, 2, 2, 0},
      {"what may be missing, of the replicas", R"({"maxUnavailable":1})", {Pod("a"), Pod("b"), Pod("d"), Pod("e")}, 4,
       3, 4, 1},
      {"a percentage that may be missing", R"({"maxUnavailable":"50%"})", {Pod("a"), Pod("b"), Pod("d")}, 4, 2, 3, 1},
      {"more than there are may be missing", R"({"maxUnavailable":9})", {Pod("a")}, 4, 0, 1, 1},
      {"pods that are not ready, or deleted",
       R"({"minAvailable":1})",
       {Pod("a"), Pod("b", "ReplicaSet", false), deleted},
       3,
       1,
       1,
       0},
      {"pods of nobody are no replicas", R"({"maxUnavailable":1})", {Pod("a", nullptr)}, 0, 0, 1, 0},
      {"no pods", R"({"minAvailable":0})", {}, 0, 0, 0, 0},
  };
  for (const Case& each : cases) {
    const json::object status = Decide(Budget(each.spec), each.pods).status;
    EXPECT_EQ(status.at("expectedPods"), each.expected) << each.name;
    EXPECT_EQ(status.at("desiredHealthy"), each.desired) << each.name;
    EXPECT_EQ(status.at("currentHealthy"), each.healthy) << each.name;
    EXPECT_EQ(status.at("disruptionsAllowed"), each.allowed) << each.name;
    EXPECT_EQ(status.at("observedGeneration"), 3) << each.name;
    const json::value& condition = status.at("conditions").at(0);
    EXPECT_EQ(condition.at("reason"), each.allowed > 0 ? "SufficientPods" : "InsufficientPods") << each.name;
    EXPECT_EQ(condition.at("lastTransitionTime"), "2026-01-01T00:00:00Z") << each.name;
  }
}

TEST(DecideDisruption, AStatusThatIsRightIsNotWrittenAgain) {
  const WorkloadView first = Budget(R"({"minAvailable":1})");
  const Pods pods = {Pod("a"), Pod("b")};
  const std::string status = json::serialize(Decide(first, pods).status);
  // Later, so that a new time of the condition would show.
  EXPECT_TRUE(Decide(Budget(R"({"minAvailable":1})", status), pods, kNow + std::chrono::hours(1)).status.empty());
}

TEST(DecideDisruption, PodsWithoutAScaleAllowNothing) {
  const json::object status = Decide(Budget(R"({"maxUnavailable":1})"), {Pod("a", "Job")}).status;
  EXPECT_EQ(status.at("disruptionsAllowed"), 0);
  EXPECT_EQ(status.at("conditions").at(0).at("reason"), "SyncFailed");
  EXPECT_EQ(status.at("conditions").at(0).at("message"), "Job does not implement the scale subresource");
}

TEST(DecideDisruption, AnEvictedPodIsNotHealthyUntilItIsGoneOrTooLate) {
  const WorkloadView budget = Budget(
      R"({"minAvailable":1})", R"({"disruptedPods":{"a":"2025-12-31T23:59:00Z","gone":"2025-12-31T23:59:00Z"}})");
  const Pods pods = {Pod("a"), Pod("b")};
  const DisruptionDecision decision = Decide(budget, pods);
  EXPECT_EQ(decision.status.at("currentHealthy"), 1);
  EXPECT_EQ(json::serialize(decision.status.at("disruptedPods")), R"({"gone":null})");
  EXPECT_EQ(decision.again_after, std::chrono::seconds(60));

  const DisruptionDecision later = Decide(budget, pods, kNow + std::chrono::seconds(60));
  EXPECT_EQ(later.status.at("currentHealthy"), 2);
  EXPECT_EQ(later.again_after, std::nullopt);
}

}  // namespace
}  // namespace berth::controllers
