// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/metrics_api.h"

#include <gtest/gtest.h>

#include "berth/devcluster/apiserver/test_server.h"

namespace berth::apiserver {
namespace {

constexpr const char* kMetrics = "/apis/metrics.k8s.io/v1beta1";

class MetricsApiTest : public testing::Test {
 protected:
  Answer Get(const std::string& path, std::vector<net::Header> headers = {}) {
    return Call(server.handler(), "GET", path, "", std::move(headers));
  }

  void Create(const std::string& path, const std::string& body) {
    const Answer made = Call(server.handler(), "POST", path, body);
    ASSERT_EQ(made.status, 201) << made.response.body;
  }

  void CreateNode(const std::string& name, const std::string& annotations = "{}", const std::string& ready = "True") {
    Create("/api/v1/nodes",
           R"({"metadata":{"name":")" + name + R"(","labels":{"pool":"a"},"annotations":)" + annotations +
               R"(},"status":{"allocatable":{"cpu":"4","memory":"8Gi"},"conditions":[{"type":"Ready","status":")" +
               ready + R"("}]}})");
  }

  // A pod that runs on `node`; `containers` is a list.
  void RunPod(const std::string& name, const std::string& node, const std::string& containers,
              const std::string& annotations = "{}", const std::string& phase = "Running") {
    Create("/api/v1/namespaces/default/pods", R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" + name +
                                                  R"("},"annotations":)" + annotations + R"(},"spec":{"nodeName":")" +
                                                  node + R"(","containers":)" + containers + "}}");
    const Answer patched =
        Call(server.handler(), "PATCH", "/api/v1/namespaces/default/pods/" + name + "/status",
             R"({"status":{"phase":")" + phase + R"("}})", {{"Content-Type", "application/merge-patch+json"}});
    ASSERT_EQ(patched.status, 200) << patched.response.body;
  }

  static std::string Container(const std::string& name, const std::string& requests) {
    return R"({"name":")" + name + R"(","image":"i","resources":{"requests":)" + requests + "}}";
  }

  ManualClock clock;
  ApiServer server{objects::ResourceTypes(), clock};
};

TEST_F(MetricsApiTest, PodsUseHalfOfWhatTheyAskForOrWhatTheySay) {
  CreateNode("n1");
  RunPod("asks", "n1",
         "[" + Container("a", R"({"cpu":"1","memory":"64Mi"})") + "," + Container("b", R"({"cpu":"500m"})") + "]");
  RunPod("says", "n1", "[" + Container("a", R"({"cpu":"300m"})") + "," + Container("b", R"({"cpu":"100m"})") + "]",
         R"({"berth.dev/cpu-usage":"2","berth.dev/memory-usage":"100Mi"})");
  RunPod("errs", "n1", "[" + Container("a", "{}") + "]",
         R"({"berth.dev/cpu-usage":"much","berth.dev/memory-usage":"-1"})");
  RunPod("ended", "n1", "[" + Container("a", "{}") + "]", "{}", "Succeeded");
  RunPod("waits", "", "[" + Container("a", "{}") + "]", "{}", "Pending");
  const std::string pods = std::string(kMetrics) + "/namespaces/default/pods";

  const Answer list = Get(pods);
  ASSERT_EQ(list.status, 200) << list.response.body;
  EXPECT_EQ(list.Text("kind"), "PodMetricsList");
  EXPECT_EQ(list.Text("apiVersion"), "metrics.k8s.io/v1beta1");
  EXPECT_EQ(At(list.body, "items").as_array().size(), 3u);

  const Answer asks = Get(pods + "/asks");
  EXPECT_EQ(asks.Text("kind"), "PodMetrics");
  EXPECT_EQ(asks.Text("metadata.namespace"), "default");
  EXPECT_EQ(asks.Text("metadata.labels.app"), "asks");
  EXPECT_EQ(asks.Text("timestamp"), FormatRfc3339(clock.WallNow()));
  EXPECT_EQ(asks.Text("window"), "1s");
  EXPECT_EQ(asks.Text("containers.0.name"), "a");
  EXPECT_EQ(asks.Text("containers.0.usage.cpu"), "500000000n");
  EXPECT_EQ(asks.Text("containers.0.usage.memory"), "32768Ki");
  EXPECT_EQ(asks.Text("containers.1.usage.cpu"), "250000000n");
  EXPECT_EQ(asks.Text("containers.1.usage.memory"), "8192Ki");

  const Answer says = Get(pods + "/says");
  EXPECT_EQ(says.Text("containers.0.usage.cpu"), "1500000000n");
  EXPECT_EQ(says.Text("containers.1.usage.cpu"), "500000000n");
  EXPECT_EQ(says.Text("containers.0.usage.memory"), "51200Ki");
  EXPECT_EQ(says.Text("containers.1.usage.memory"), "51200Ki");

  EXPECT_EQ(Get(pods + "/errs").Text("containers.0.usage.cpu"), "1000000n");
  const Answer none = Get(pods + "/waits");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.Text("message"), "podmetrics.metrics.k8s.io \"default/waits\" not found");

  EXPECT_EQ(At(Get(pods + "?labelSelector=app%3Dsays").body, "items").as_array().size(), 1u);
  EXPECT_EQ(At(Get(std::string(kMetrics) + "/pods").body, "items").as_array().size(), 3u);
  EXPECT_EQ(At(Get(std::string(kMetrics) + "/namespaces/other/pods").body, "items").as_array().size(), 0u);
}

TEST_F(MetricsApiTest, NodesUseWhatTheirPodsUseOrWhatTheySay) {
  CreateNode("n1");
  CreateNode("n2", R"({"berth.dev/cpu-usage":"97","berth.dev/memory-usage":"12.5"})");
  CreateNode("n3", "{}", "False");
  RunPod("a", "n1", "[" + Container("c", R"({"cpu":"1","memory":"1Gi"})") + "]");
  RunPod("b", "n1", "[" + Container("c", "{}") + "]", R"({"berth.dev/cpu-usage":"250m"})");
  const std::string nodes = std::string(kMetrics) + "/nodes";
  const Answer list = Get(nodes);
  ASSERT_EQ(list.status, 200) << list.response.body;
  EXPECT_EQ(list.Text("kind"), "NodeMetricsList");
  ASSERT_EQ(At(list.body, "items").as_array().size(), 2u) << "n3 is not ready";
  EXPECT_EQ(list.Text("items.0.metadata.name"), "n1");
  EXPECT_EQ(list.Text("items.0.usage.cpu"), "750000000n");
  EXPECT_EQ(list.Text("items.0.usage.memory"), "532480Ki");
  EXPECT_EQ(list.Text("items.1.usage.cpu"), "3880000000n");
  EXPECT_EQ(list.Text("items.1.usage.memory"), "1048576Ki");
  EXPECT_EQ(Get(nodes + "/n2").Text("metadata.labels.pool"), "a");
  EXPECT_EQ(Get(nodes + "/n3").status, 404);
  EXPECT_EQ(At(Get(nodes + "?fieldSelector=metadata.name%3Dn1").body, "items").as_array().size(), 1u);

  // It is measured once a second.
  RunPod("late", "n1", "[" + Container("c", R"({"cpu":"2"})") + "]");
  EXPECT_EQ(Get(nodes + "/n1").Text("usage.cpu"), "750000000n");
  clock.Advance(kMeasureInterval);
  EXPECT_EQ(Get(nodes + "/n1").Text("usage.cpu"), "1750000000n");
}

TEST_F(MetricsApiTest, IsFoundByClientsAndOnlyRead) {
  const Answer resources = Get(kMetrics);
  ASSERT_EQ(resources.status, 200);
  EXPECT_EQ(resources.Text("resources.0.name"), "nodes");
  EXPECT_EQ(resources.Text("resources.0.kind"), "NodeMetrics");
  EXPECT_EQ(resources.Text("resources.0.verbs"), R"(["get","list"])");
  EXPECT_EQ(resources.Text("resources.1.kind"), "PodMetrics");
  EXPECT_NE(Get("/apis").response.body.find("metrics.k8s.io"), std::string::npos);
  CreateNode("n1");
  const std::string nodes = std::string(kMetrics) + "/nodes";
  EXPECT_EQ(Get(nodes + "?watch=true").status, 405);
  EXPECT_EQ(Call(server.handler(), "POST", nodes, "{}").status, 405);
  EXPECT_EQ(Call(server.handler(), "DELETE", nodes + "/n1", "").status, 405);
  const Answer table = Get(nodes, {{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"}});
  EXPECT_EQ(table.Text("kind"), "Table");
  EXPECT_EQ(table.Text("rows.0.cells"), R"(["n1","0n","0Ki","1s"])");
}

// What an embedded cluster adds, and which Kubernetes it says it is.
TEST(ApiServerOptionsTest, ReportsTheReleaseAndWarnsWhoCreates) {
  ManualClock clock;
  ApiServerOptions options;
  options.release_minor = 37;
  options.creation_warnings = [](const objects::ResourceType& type, std::string_view json) {
    std::vector<std::string> lines;
    if (type.kind == "PodGroup") lines.push_back(Json(json).at("metadata").at("name").as_string().c_str());
    return lines;
  };
  const ApiServer server(objects::ResourceTypes(), clock, options);
  EXPECT_EQ(Call(server.handler(), "GET", "/version").Text("gitVersion"), "v1.37.0+berth");
  EXPECT_EQ(Call(server.handler(), "GET", "/version").Text("minor"), "37");
  const std::string groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";
  const auto warning = [](const Answer& answer) {
    for (const net::Header& header : answer.response.headers) {
      if (header.name == "Warning") return header.value;
    }
    return std::string();
  };
  const std::string body = R"({"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"name":"g"},)"
                           R"("spec":{"schedulingPolicy":{"gang":{"minCount":2}}}})";
  const Answer made = Call(server.handler(), "POST", groups, body);
  ASSERT_EQ(made.status, 201) << made.response.body;
  EXPECT_EQ(warning(made), "299 - \"g\"");
  const std::vector<net::Header> apply{{"Content-Type", "application/apply-patch+yaml"}};
  EXPECT_EQ(warning(Call(server.handler(), "PATCH", groups + "/h?fieldManager=t",
                         R"({"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"name":"h"},)"
                         R"("spec":{"schedulingPolicy":{"gang":{"minCount":2}}}})",
                         apply)),
            "299 - \"h\"");
  EXPECT_EQ(warning(Call(server.handler(), "PATCH", groups + "/g", R"({"metadata":{"labels":{"a":"b"}}})",
                         {{"Content-Type", "application/merge-patch+json"}})),
            "");
}

}  // namespace
}  // namespace berth::apiserver
