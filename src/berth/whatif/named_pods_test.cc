// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/named_pods.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using testing::MakeNode;
using testing::MakePod;

std::string Parsed(const std::string& text) {
  const auto name = ParseObjectName(text, "shop");
  return name.ok() ? name->kind + ' ' + name->namespace_name + ' ' + name->name : name.error().message;
}

TEST(NamedPodsTest, NamesAsKubectlWritesThem) {
  EXPECT_EQ(Parsed("pod/web-1"), "Pod shop web-1");
  EXPECT_EQ(Parsed("deployment.apps/web"), "Deployment shop web");
  EXPECT_EQ(Parsed("deploy/web"), "Deployment shop web");
  EXPECT_EQ(Parsed("job.batch/train"), "Job shop train");
  EXPECT_EQ(Parsed("sts/data/db"), "StatefulSet data db");
  EXPECT_EQ(Parsed("web-1"),
            "\"web-1\" should be KIND/NAME, for example pod/web-7d5b or deployment/web, or pod or podgroup");
  EXPECT_EQ(Parsed("pod/"), "\"pod/\" should be KIND/NAME or KIND/NAMESPACE/NAME");
  EXPECT_EQ(Parsed("node/a"),
            "\"node/a\": of the kinds pod, deployment, replicaset, statefulset, daemonset, job and "
            "replicationcontroller one should be before the slash");
}

ClusterState Shop() {
  return StateOf({MakeNode("a")},
                 {RunningPod("web", "web-1", "a"), RunningPod("web", "web-3", ""), RunningPod("web", "web-2", ""),
                  MakePod("train-x").Label("app", "train").Controller("batch/v1", "Job", "train")});
}

std::string Said(const Expected<NamedPods>& pods) {
  if (!pods.ok()) return pods.error().message;
  std::string said = pods->what + ", " + std::to_string(pods->count) + ":";
  for (const auto& pod : pods->waiting) said += ' ' + pod->metadata.name;
  return said;
}

TEST(NamedPodsTest, PodsOfWorkloadsAndOfSelectors) {
  const ClusterState state = Shop();
  EXPECT_EQ(Said(PodsOfWorkload(state, {"Deployment", "default", "web"})), "Deployment default/web, 3: web-2 web-3");
  EXPECT_EQ(Said(PodsOfWorkload(state, {"ReplicaSet", "default", "web-5c7"})),
            "ReplicaSet default/web-5c7, 3: web-2 web-3");
  EXPECT_EQ(Said(PodsOfWorkload(state, {"Job", "default", "train"})), "Job default/train, 1: train-x");
  EXPECT_EQ(Said(PodsOfWorkload(state, {"Job", "other", "train"})), "the cluster has no pod of Job other/train");
  EXPECT_EQ(Said(PodsSelected(state, "app in (web, train)", "default")),
            "pods of namespace default with app in (web, train), 4: train-x web-2 web-3");
  EXPECT_EQ(Said(PodsSelected(state, "app=db", "default")), "the cluster has no pods of namespace default with app=db");
  EXPECT_TRUE(Said(PodsSelected(state, "a in", "default")).starts_with("the selector \"a in\": "));
}

}  // namespace
}  // namespace berth::whatif
