// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_pod_details.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/prune_json.h"

namespace berth::api {
namespace {

constexpr std::string_view kPod = R"({"kind":"Pod","metadata":{"name":"web","namespace":"x","ownerReferences":[
    {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"u1","controller":true},
    {"apiVersion":"v1","kind":"Custom","name":"other","uid":"u2"}]},
  "spec":{"priorityClassName":"high","volumes":[{"name":"a","configMap":{"name":"c"}},{"name":"b","emptyDir":{}}],
    "containers":[{"name":"c","image":"i","env":[{"name":"A","value":"B"}]}]},
  "status":{"phase":"Running","reason":"Odd","qosClass":"Guaranteed",
    "conditions":[{"type":"Ready","status":"False","reason":"Because","lastTransitionTime":"2026-01-01T00:00:00Z"}],
    "containerStatuses":[{"name":"c","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}],
    "initContainerStatuses":[{"name":"i","restartCount":1,"state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}],
    "ephemeralContainerStatuses":[{"name":"e","restartCount":0,"state":{"running":{}}}]}})";

Expected<std::shared_ptr<const PodDetails>> Decoded(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element object;
  EXPECT_EQ(parser.parse(text).get(object), simdjson::SUCCESS) << text;
  return DecodePodDetails(object);
}

TEST(DecodePodDetailsTest, ReadsWhatSchedulingDoesNot) {
  const auto details = Decoded(kPod);
  ASSERT_TRUE(details.ok()) << details.error().message;
  const PodDetails& pod = **details;
  EXPECT_EQ(pod.metadata.name, "web");
  ASSERT_EQ(pod.metadata.owners.size(), 2u);
  EXPECT_EQ(pod.metadata.owners[0], (OwnerReference{"apps/v1", "ReplicaSet", "web-1", "u1"}));
  EXPECT_EQ(pod.metadata.owners[1].kind, "Custom");
  EXPECT_EQ(pod.spec.priority_class_name, "high");
  EXPECT_TRUE(pod.spec.has_local_storage);
  EXPECT_EQ(pod.status.phase, "Running");
  EXPECT_EQ(pod.status.reason, "Odd");
  EXPECT_EQ(pod.status.qos_class, "Guaranteed");
  ASSERT_EQ(pod.status.conditions.size(), 1u);
  EXPECT_EQ(pod.status.conditions[0].status, "False");
  EXPECT_TRUE(pod.status.conditions[0].last_transition_time.has_value());
  ASSERT_EQ(pod.status.containers.size(), 1u);
  EXPECT_EQ(pod.status.containers[0].restart_count, 3);
  EXPECT_TRUE(pod.status.containers[0].is_waiting);
  EXPECT_EQ(pod.status.containers[0].waiting_reason, "CrashLoopBackOff");
  EXPECT_EQ(pod.status.containers[0].exit_code, std::nullopt);
  ASSERT_EQ(pod.status.init_containers.size(), 1u);
  EXPECT_EQ(pod.status.init_containers[0].exit_code, 137);
  EXPECT_EQ(pod.status.init_containers[0].terminated_reason, "OOMKilled");
  EXPECT_EQ(pod.status.ephemeral_containers.size(), 1u);
}

TEST(DecodePodDetailsTest, LocalStorageIsAHostPathOrAnEmptyDir) {
  const auto has = [](const std::string& volume) {
    const auto details = Decoded(R"({"metadata":{"name":"a"},"spec":{"volumes":[{"name":"v",)" + volume + "}]}}");
    return details.ok() && (*details)->spec.has_local_storage;
  };
  EXPECT_TRUE(has(R"("hostPath":{"path":"/x"})"));
  EXPECT_TRUE(has(R"("emptyDir":{"medium":"Memory"})"));
  EXPECT_TRUE(has(R"("emptyDir":{})"));
  EXPECT_FALSE(has(R"("persistentVolumeClaim":{"claimName":"c"})"));
  EXPECT_FALSE(has(R"("emptyDir":null)"));
}

TEST(DecodePodDetailsTest, SurvivesPruning) {
  simdjson::dom::parser parser;
  simdjson::dom::element object;
  ASSERT_EQ(parser.parse(kPod).get(object), simdjson::SUCCESS);
  std::string pruned;
  JsonPruner("Pod", {}).Append(object, pruned);
  EXPECT_EQ(pruned.find("env"), std::string::npos) << pruned;
  const auto before = Decoded(kPod), after = Decoded(pruned);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(**before, **after);
}

TEST(DecodePodDetailsTest, AWrongTypeIsNamedByItsPath) {
  const auto details =
      Decoded(R"({"metadata":{"name":"a","namespace":"x"},"status":{"containerStatuses":[{"restartCount":"many"}]}})");
  ASSERT_FALSE(details.ok());
  EXPECT_THAT(details.error().message, ::testing::HasSubstr("status.containerStatuses[0].restartCount"));
}

TEST(DecodePodDetailsTest, WhatABudgetSaysOfPodsThatAreNotReady) {
  simdjson::dom::parser parser;
  const std::string text =
      R"({"metadata":{"name":"b"},"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow","minAvailable":1},
          "status":{"currentHealthy":3,"desiredHealthy":2}})";
  std::string pruned;
  JsonPruner("PodDisruptionBudget", {}).Append(parser.parse(text), pruned);
  const auto budget = DecodeBudgetDetails(parser.parse(pruned));
  ASSERT_TRUE(budget.ok()) << budget.error().message;
  EXPECT_EQ(**budget, (BudgetDetails{"AlwaysAllow", 3, 2, {"b", {}}})) << "a snapshot keeps it";
}

}  // namespace
}  // namespace berth::api
