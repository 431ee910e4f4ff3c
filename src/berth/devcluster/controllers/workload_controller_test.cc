// SPDX-License-Identifier: Apache-2.0
// Jobs, DaemonSets and StatefulSets on the embedded API server, with simulated kubelets.
#include "berth/devcluster/controllers/workload_controller.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/devcluster/controllers/controllers.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/devcluster/kubelet/test_cluster.h"

namespace berth::controllers {
namespace {

using namespace std::chrono_literals;
using testing::ConditionOf;
using testing::Fault;
using testing::Number;
using testing::TestCluster;
using testing::Text;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kJobsPath = "/apis/batch/v1/namespaces/default/jobs";
const std::string kSetsPath = "/apis/apps/v1/namespaces/default/";

std::string JobJson(const std::string& spec = {}) {
  return R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{)" + spec +
         R"("template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";
}
std::string SetJson(const std::string& kind, const std::string& spec = {}) {
  return R"({"apiVersion":"apps/v1","kind":")" + kind + R"(","metadata":{"name":"s"},"spec":{)" + spec +
         R"("selector":{"matchLabels":{"app":"s"}},"template":{"metadata":{"labels":{"app":"s"}},)"
         R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})";
}

class WorkloadControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    kubelet::KubeletOptions options;
    options.start_latency = 100ms;
    options.shutdown_latency = 200ms;
    kubelets = std::make_unique<kubelet::KubeletSimulator>(cluster.rest, options);
    kubelets->Start();
    controllers = std::make_unique<Controllers>(cluster.rest, cluster.events, ControllersOptions{.hostname = "test"});
    controllers->Start();
    ASSERT_TRUE(cluster.Until([&] { return kubelets->Stats().nodes_ready == 5; }));
  }
  void Create(const std::string& path, const std::string& document) {
    const auto answer = cluster.Call("POST", path, document);
    ASSERT_EQ(answer.status, 201) << Text(answer.body, "message");
  }
  std::set<std::string> PodNames() {
    std::set<std::string> names;
    for (const json::value& pod : cluster.List(kPods)) names.insert(Text(pod, "metadata.name"));
    return names;
  }
  bool HasEvent(const std::string& reason, const std::string& words = {}) {
    return cluster.Until([&] {
      const auto events = cluster.List("/api/v1/namespaces/default/events");
      return std::any_of(events.begin(), events.end(), [&](const json::value& event) {
        return Text(event, "reason") == reason && Text(event, "message").find(words) != std::string::npos;
      });
    });
  }

  TestCluster cluster;
  std::unique_ptr<kubelet::KubeletSimulator> kubelets;
  std::unique_ptr<Controllers> controllers;
};

TEST_F(WorkloadControllerTest, AJobEndsAndGoesWithItsPods) {
  Create(kJobsPath, JobJson(R"("completions":4,"parallelism":2,)"));
  ASSERT_TRUE(cluster.Until(
      [&] { return ConditionOf(cluster.Get(kJobsPath + "/j"), "Complete") == "True/CompletionsReached"; }));
  const json::value job = cluster.Get(kJobsPath + "/j");
  EXPECT_EQ(Number(job, "status.succeeded"), 4);
  EXPECT_FALSE(job.at("status").as_object().contains("active")) << "left out at zero, as upstream";
  EXPECT_FALSE(Text(job, "status.completionTime").empty());
  EXPECT_EQ(PodNames().size(), 4u);
  EXPECT_TRUE(HasEvent("Completed", "Job completed"));
  cluster.Pass(30s);
  EXPECT_EQ(PodNames().size(), 4u) << "no more are made";
  ASSERT_EQ(cluster.Call("DELETE", kJobsPath + "/j?propagationPolicy=Background").status, 200);
  EXPECT_TRUE(cluster.Until([&] { return PodNames().empty(); }));
}

// Half of all answers to creations are lost after the pod was made: none is made twice.
TEST_F(WorkloadControllerTest, LostAnswersMakeNoPodTwice) {
  int count = 0;
  cluster.transport.fault = [&](const net::Request& request) -> std::optional<Fault> {
    if (request.method != "POST" || request.target != kPods || ++count % 2 == 0) return std::nullopt;
    return Fault{.status = 0, .takes_effect = true};
  };
  Create(kJobsPath, JobJson(R"("completions":6,"parallelism":6,)"));
  ASSERT_TRUE(cluster.Until([&] { return Number(cluster.Get(kJobsPath + "/j"), "status.succeeded") == 6; }));
  EXPECT_EQ(PodNames().size(), 6u);
  EXPECT_GE(count, 6);
}

TEST_F(WorkloadControllerTest, ADaemonSetHasAPodForEachNode) {
  Create(kSetsPath + "daemonsets", SetJson("DaemonSet"));
  const auto ready = [&] { return Number(cluster.Get(kSetsPath + "daemonsets/s"), "status.numberReady"); };
  ASSERT_TRUE(cluster.Until([&] { return ready() == 5; }));
  EXPECT_EQ(PodNames().size(), 5u);
  Create("/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"another"}})");
  ASSERT_TRUE(cluster.Until([&] { return PodNames().size() == 6; }));
  ASSERT_EQ(cluster.Call("DELETE", "/api/v1/nodes/another").status, 200);
  ASSERT_TRUE(cluster.Until([&] { return PodNames().size() == 5; }));
  ASSERT_EQ(cluster.Call("DELETE", kSetsPath + "daemonsets/s").status, 200);
  EXPECT_TRUE(cluster.Until([&] { return PodNames().empty(); }));
}

TEST_F(WorkloadControllerTest, AStatefulSetCountsItsPods) {
  Create(kSetsPath + "statefulsets", SetJson("StatefulSet", R"("replicas":3,)"));
  std::size_t most_unready = 0;
  cluster.on_step = [&] {
    const auto pods = cluster.List(kPods);
    most_unready = std::max<std::size_t>(
        most_unready, std::count_if(pods.begin(), pods.end(),
                                    [](const json::value& pod) { return ConditionOf(pod, "Ready") != "True/"; }));
  };
  const auto ready = [&] { return Number(cluster.Get(kSetsPath + "statefulsets/s"), "status.readyReplicas"); };
  ASSERT_TRUE(cluster.Until([&] { return ready() == 3; }));
  EXPECT_EQ(PodNames(), (std::set<std::string>{"s-0", "s-1", "s-2"}));
  EXPECT_EQ(most_unready, 1u) << "one after the other";
  ASSERT_EQ(cluster.MergePatch(kSetsPath + "statefulsets/s/scale", R"({"spec":{"replicas":1}})").status, 200);
  ASSERT_TRUE(cluster.Until([&] { return PodNames() == std::set<std::string>{"s-0"}; }));
  ASSERT_EQ(cluster.Call("DELETE", kPods + "/s-0").status, 200);
  ASSERT_TRUE(cluster.Until([&] { return ready() == 0; }));
  EXPECT_TRUE(cluster.Until([&] { return ready() == 1; })) << "made again under its name";
}

TEST_F(WorkloadControllerTest, SaysWhyThereAreNoPods) {
  Create(kPods, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"s-0"},
                    "spec":{"containers":[{"name":"c","image":"i"}]}})");
  Create(kSetsPath + "statefulsets", SetJson("StatefulSet", R"("replicas":1,)"));
  EXPECT_TRUE(HasEvent("FailedCreate", "pod s-0 exists and is not of this StatefulSet"));
  cluster.transport.fault = [&](const net::Request& request) -> std::optional<Fault> {
    if (request.method != "POST" || request.target != kPods) return std::nullopt;
    return Fault{.status = 403, .takes_effect = false, .reason = "Forbidden"};
  };
  Create(kJobsPath, JobJson());
  EXPECT_TRUE(HasEvent("FailedCreate", "Error creating: "));
}

// At rest nothing is written but leases and events' counts.
TEST_F(WorkloadControllerTest, IsStillAtRest) {
  Create(kSetsPath + "daemonsets", SetJson("DaemonSet"));
  Create(kJobsPath, JobJson());
  ASSERT_TRUE(cluster.Until([&] { return !ConditionOf(cluster.Get(kJobsPath + "/j"), "Complete").empty(); }));
  cluster.Pass(2s);
  cluster.transport.on_request = [](const net::Request& request) {
    const bool is_write = request.method != "GET" && request.target.find("/leases") == std::string::npos;
    if (is_write) ADD_FAILURE() << request.method << ' ' << request.target << ' ' << request.body;
  };
  cluster.Pass(20s);
}

}  // namespace
}  // namespace berth::controllers
