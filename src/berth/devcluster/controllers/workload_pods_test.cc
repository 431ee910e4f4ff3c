// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/workload_pods.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

WorkloadView WorkloadOf(const char* spec) {
  WorkloadView workload;
  workload.namespace_name = "default";
  workload.name = "w";
  workload.uid = "u";
  workload.generation = 3;
  workload.spec = json::parse(spec).as_object();
  return workload;
}

std::string LabelsOf(const json::object& pod) { return json::serialize(pod.at("metadata").at("labels")); }

TEST(PodMakerTest, APodHasWhatItsControllerAdds) {
  struct Case {
    const char* kind;
    const char* spec;
    const char* labels;
  };
  const std::vector<Case> cases = {
      {"ReplicaSet", R"({"template":{"metadata":{"labels":{"app":"w"}}}})", R"({"app":"w"})"},
      {"DaemonSet", R"({"template":{}})", R"({"pod-template-generation":"3","controller-revision-hash":"HASH"})"},
      {"Job", R"({"template":{}})",
       R"({"controller-uid":"u","job-name":"w","batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"w"})"},
      {"Job", R"({"manualSelector":true,"template":{"metadata":{"labels":{"app":"w"}}}})", R"({"app":"w"})"},
  };
  for (const Case& c : cases) {
    const WorkloadView workload = WorkloadOf(c.spec);
    const PodMaker maker(c.kind, workload);
    std::string want = c.labels;
    if (const auto at = want.find("HASH"); at != std::string::npos) want.replace(at, 4, maker.revision());
    EXPECT_EQ(LabelsOf(maker.Make("w-abcde")), want) << c.kind;
    EXPECT_EQ(maker.Make("w-abcde").at("metadata").at("generateName"), "w-");
  }
}

TEST(PodMakerTest, PodsWithNumbers) {
  const WorkloadView job = WorkloadOf(R"({"manualSelector":true,"template":{}})");
  const json::object third = PodMaker("Job", job).Make("w-2-abcde", 2);
  EXPECT_EQ(LabelsOf(third), R"({"batch.kubernetes.io/job-completion-index":"2"})");
  EXPECT_EQ(third.at("metadata").at("annotations").at(kCompletionIndexKey), "2");
  EXPECT_EQ(third.at("spec").at("hostname"), "w-2");

  const WorkloadView set = WorkloadOf(
      R"({"template":{"spec":{"volumes":[{"name":"data","emptyDir":{}},{"name":"tmp","emptyDir":{}}]}},
          "selector":{"matchLabels":{"app":"w"}},"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}]})");
  const PodMaker maker("StatefulSet", set);
  const json::object pod = maker.Make("w-4", 4);
  EXPECT_EQ(LabelsOf(pod), R"({"controller-revision-hash":")" + maker.revision() +
                               R"(","statefulset.kubernetes.io/pod-name":"w-4","apps.kubernetes.io/pod-index":"4"})");
  EXPECT_EQ(json::serialize(pod.at("spec").at("volumes")),
            R"([{"name":"data","persistentVolumeClaim":{"claimName":"data-w-4"}},{"name":"tmp","emptyDir":{}}])");
  const auto claims = maker.Claims(4);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].name, "data-w-4");
  EXPECT_EQ(LabelsOf(claims[0].document), R"({"app":"w"})");
}

TEST(PodMakerTest, ADaemonToleratesEachTaintOnceAndTheNetworkWhereItIsTheNodes) {
  const char* const own = R"({"key":"node.kubernetes.io/disk-pressure","operator":"Exists","effect":"NoSchedule"})";
  const WorkloadView set =
      WorkloadOf((R"({"template":{"spec":{"hostNetwork":true,"tolerations":[)" + std::string(own) + "]}}}").c_str());
  const json::object pod = PodMaker("DaemonSet", set).MakeFor("n1", "w-abcde");
  std::string keys;
  for (const json::value& each : pod.at("spec").at("tolerations").as_array())
    keys += std::string(each.at("key").as_string()).substr(std::string("node.kubernetes.io/").size()) + ' ';
  EXPECT_EQ(keys,
            "disk-pressure not-ready unreachable memory-pressure pid-pressure unschedulable network-unavailable ");
}

TEST(PodMakerTest, AReplicaSetsTemplateHasTheHash) {
  const WorkloadView deployment = WorkloadOf(R"({"template":{"metadata":{"labels":{"app":"w"}}}})");
  EXPECT_EQ(LabelsOf(ReplicaSetTemplate(deployment, "5c7")), R"({"app":"w","pod-template-hash":"5c7"})");
}

}  // namespace
}  // namespace berth::controllers
