// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/daemon_set_decision.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

constexpr Time kNow{std::chrono::seconds(1767225600)};

WorkloadView Set(const char* pod_spec = "{}", const char* more = "") {
  WorkloadView set;
  set.namespace_name = "default";
  set.name = "d";
  set.uid = "u";
  set.spec = json::parse(std::string(R"({"template":{"metadata":{"labels":{"app":"d"}},"spec":)") + pod_spec + "}" +
                         more + "}")
                 .as_object();
  return set;
}

std::shared_ptr<const api::Node> NodeOf(const std::string& name, const api::StringMap& labels = {},
                                        std::vector<api::Taint> taints = {}) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = name;
  node->metadata.labels = labels;
  node->taints = std::move(taints);
  return node;
}

// The pods that a decision makes, as if they ran.
Pods Started(const PodDecision& decision) {
  Pods pods;
  for (const PodDecision::New& made : decision.pods) {
    auto pod = std::make_shared<PodView>();
    pod->name = made.name;
    pod->uid = made.name;
    pod->phase = "Running";
    pod->is_ready = true;
    for (const auto& [key, value] : made.document.at("metadata").at("labels").as_object()) {
      pod->labels.Set(key, std::string_view(value.as_string()));
    }
    pods.push_back(pod);
  }
  return pods;
}

std::set<std::string> NodesOf(const PodDecision& decision) {
  std::set<std::string> names;
  for (const PodDecision::New& made : decision.pods) {
    const json::value& affinity = made.document.at("spec").at("affinity").at("nodeAffinity");
    const json::value& term =
        affinity.at("requiredDuringSchedulingIgnoredDuringExecution").at("nodeSelectorTerms").at(0);
    names.insert(std::string(term.at("matchFields").at(0).at("values").at(0).as_string()));
  }
  return names;
}

TEST(DecideDaemonSet, OnePodForEachNodeThatFits) {
  const api::Taint no_schedule{"dedicated", "x", api::TaintEffect::kNoSchedule};
  const api::Taint cordoned{"node.kubernetes.io/unschedulable", "", api::TaintEffect::kNoSchedule};
  const Nodes nodes = {NodeOf("a", {{"disk", "ssd"}}), NodeOf("b"), NodeOf("c", {{"disk", "ssd"}}, {no_schedule}),
                       NodeOf("d", {{"disk", "ssd"}}, {cordoned})};
  EXPECT_EQ(NodesOf(DecideDaemonSet(Set(), {}, nodes, kNow)), (std::set<std::string>{"a", "b", "d"}));
  EXPECT_EQ(NodesOf(DecideDaemonSet(Set(R"({"nodeSelector":{"disk":"ssd"}})"), {}, nodes, kNow)),
            (std::set<std::string>{"a", "d"}));
  const char* tolerant = R"({"tolerations":[{"operator":"Exists"}]})";
  EXPECT_EQ(NodesOf(DecideDaemonSet(Set(tolerant), {}, nodes, kNow)).size(), 4u);
  const char* by_affinity = R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms":[{"matchExpressions":[{"key":"disk","operator":"DoesNotExist"}]}]}}}})";
  EXPECT_EQ(NodesOf(DecideDaemonSet(Set(by_affinity), {}, nodes, kNow)), (std::set<std::string>{"b"}));
}

TEST(DecideDaemonSet, IsAtRestWithAllItsPods) {
  const Nodes nodes = {NodeOf("a"), NodeOf("b")};
  const Pods pods = Started(DecideDaemonSet(Set(), {}, nodes, kNow));
  const PodDecision rest = DecideDaemonSet(Set(), pods, nodes, kNow);
  EXPECT_TRUE(rest.pods.empty());
  EXPECT_TRUE(rest.surplus.empty());
  for (const char* count : {"desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
                            "numberAvailable"}) {
    EXPECT_EQ(rest.status.at(count), 2) << count;
  }
  EXPECT_EQ(rest.status.at("numberUnavailable"), 0);
}

TEST(DecideDaemonSet, FollowsNodesThatGoOrChange) {
  const Pods pods = Started(DecideDaemonSet(Set(), {}, {NodeOf("a"), NodeOf("b")}, kNow));
  EXPECT_EQ(DecideDaemonSet(Set(), pods, {NodeOf("a")}, kNow).surplus.size(), 1u);
  const api::Taint evicts{"x", "", api::TaintEffect::kNoExecute};
  EXPECT_EQ(DecideDaemonSet(Set(), pods, {NodeOf("a"), NodeOf("b", {}, {evicts})}, kNow).surplus.size(), 1u);
  // A taint that only keeps new pods away leaves the old one.
  const api::Taint keeps_away{"x", "", api::TaintEffect::kNoSchedule};
  const PodDecision stays = DecideDaemonSet(Set(), pods, {NodeOf("a"), NodeOf("b", {}, {keeps_away})}, kNow);
  EXPECT_TRUE(stays.surplus.empty());
  EXPECT_EQ(stays.status.at("desiredNumberScheduled"), 1);
}

TEST(DecideDaemonSet, RollsOutWithinItsBounds) {
  const Nodes nodes = {NodeOf("a"), NodeOf("b"), NodeOf("c"), NodeOf("d")};
  const Pods pods = Started(DecideDaemonSet(Set(), {}, nodes, kNow));
  const char* changed = R"({"containers":[{"name":"c","image":"2"}]})";
  EXPECT_EQ(DecideDaemonSet(Set(changed), pods, nodes, kNow).surplus.size(), 1u);
  EXPECT_EQ(DecideDaemonSet(Set(changed, R"(,"updateStrategy":{"rollingUpdate":{"maxUnavailable":"50%"}})"), pods,
                            nodes, kNow)
                .surplus.size(),
            2u);
  EXPECT_TRUE(
      DecideDaemonSet(Set(changed, R"(,"updateStrategy":{"type":"OnDelete"})"), pods, nodes, kNow).surplus.empty());
  // One is away already: no other goes.
  Pods three(pods.begin(), pods.end() - 1);
  const PodDecision waits = DecideDaemonSet(Set(changed), three, nodes, kNow);
  EXPECT_TRUE(waits.surplus.empty());
  EXPECT_EQ(waits.pods.size(), 1u);
}

}  // namespace
}  // namespace berth::controllers
