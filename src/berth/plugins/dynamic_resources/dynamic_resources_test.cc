// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/dynamic_resources.h"

#include <gtest/gtest.h>

#include "berth/plugins/dynamic_resources/device_testing.h"
#include "berth/plugins/helper/fake_filters.h"
#include "berth/plugins/node_resources_balanced_allocation/node_resources_balanced_allocation.h"
#include "berth/plugins/node_resources_fit/node_resources_fit.h"

namespace berth::plugins {
namespace {

using framework::QueueingHint;
using testing::MakeNode;
using testing::MakePod;

constexpr const char* kRefused = "UnschedulableAndUnresolvable: ";

std::string PostFilter(DeviceCluster& cluster, const framework::PodInfo& pod) {
  FakeFilters filters;
  const auto result = cluster.plugin.PostFilter(cluster.Cycle(), pod, filters, filters);
  EXPECT_FALSE(result.has_nomination);
  return TestCluster::Describe(result.status);
}

// What is answered to "what if". Nothing may be done then.
std::string AskPostFilter(DeviceCluster& cluster, const framework::PodInfo& pod) {
  FakeFilters filters;
  const std::size_t started = cluster.handle.started.size();
  framework::Cycle cycle = cluster.Cycle();
  cycle.is_dry_run = true;
  const auto result = cluster.plugin.PostFilter(cycle, pod, filters, filters);
  EXPECT_EQ(cluster.handle.started.size(), started);
  return TestCluster::Describe(result.status);
}

// The body of the only write that the plugin started.
std::string StartedBody(const DeviceCluster& cluster) {
  if (cluster.handle.started.size() != 1 || cluster.handle.started.front().writes.size() != 1) return "not one write";
  const auto* patch = std::get_if<framework::ObjectPatch>(&cluster.handle.started.front().writes.front());
  return patch == nullptr ? "no patch" : patch->object.name + ": " + patch->body;
}

framework::Release WithTaintRules() {
  framework::Release release = framework::ReleaseOf(37);
  release.reads_device_taint_rules = true;
  return release;
}

TEST(DynamicResources, DeviceTaintRulesKeepPodsAway) {
  DeviceCluster cluster(WithTaintRules());
  cluster.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}"));
  cluster.Set(MakeClaim("x", Requests(Exactly())));
  cluster.Set(MakeClaim("tolerant", Requests(Exactly(1, "'tolerations': [{'key': 'k', 'operator': 'Exists'}]"))));
  const auto pod = PodWith("p", {"x"}).Info();
  const auto tolerant = PodWith("q", {"tolerant"}).Info();
  ASSERT_EQ(cluster.Filter(*pod), "ok");
  cluster.Set(MakeTaintRule("r", "'driver': 'd', 'pool': 's', 'device': 'a'"));
  EXPECT_NE(cluster.Filter(*pod), "ok");
  EXPECT_EQ(cluster.Filter(*tolerant), "ok");
  // Another device from now on.
  cluster.Set(MakeTaintRule("r", "'driver': 'd', 'pool': 's', 'device': 'b'"));
  EXPECT_EQ(cluster.Filter(*pod), "ok");
  cluster.Set(MakeTaintRule("all", ""));
  EXPECT_NE(cluster.Filter(*pod), "ok");
  (void)cluster.handle.store.Remove(framework::ObjectKind::kDeviceTaintRule, "all");
  EXPECT_EQ(cluster.Filter(*pod), "ok");
}

TEST(DynamicResources, DeviceTaintRulesAreReadWhereTheGateIsOn) {
  using enum framework::ObjectKind;
  DeviceCluster with(WithTaintRules());
  EXPECT_EQ(with.plugin.ObjectsRead().back(), kDeviceTaintRule);
  DeviceCluster without(framework::ReleaseOf(37));
  EXPECT_EQ(without.plugin.ObjectsRead().back(), kResourceClaim);
  // Also where the object is there for another reason.
  without.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}"));
  without.Set(MakeClaim("x", Requests(Exactly())));
  without.Set(MakeTaintRule("all", ""));
  EXPECT_EQ(without.Filter(*PodWith("p", {"x"}).Info()), "ok");
}

TEST(DynamicResources, PodsWithoutClaims) {
  DeviceCluster cluster;
  const auto pod = MakePod("p").Request("cpu", "1").Request("example.com/gpu", "1").Info();
  EXPECT_TRUE(cluster.plugin.PreEnqueue(*pod).IsSuccess());
  EXPECT_EQ(cluster.PreFilter(*pod), "Skip");
  EXPECT_EQ(cluster.FilterAgain(*pod, "n1"), "ok");
  EXPECT_TRUE(cluster.plugin.ScoresNothing(cluster.Cycle(), *pod));
  EXPECT_EQ(cluster.nodes.Score(cluster.plugin, *pod, "n1"), 0);
  EXPECT_TRUE(cluster.plugin.Reserve(cluster.Cycle(), *pod, "n1").IsSuccess());
  EXPECT_TRUE(cluster.plugin.PreBindPreFlight(*pod).IsSkip());
  EXPECT_EQ(PostFilter(cluster, *pod), "Unschedulable: no new claims to deallocate");
  cluster.handle.SetRelease(framework::ReleaseOf(37));
  EXPECT_EQ(PostFilter(cluster, *pod), "Unschedulable");
  cluster.plugin.Unreserve(*pod, "n1");
  EXPECT_TRUE(cluster.handle.started.empty());
}

TEST(DynamicResources, WithoutPreFilterThereIsNoState) {
  DeviceCluster cluster;
  const auto pod = MakePod("p").Info();
  EXPECT_EQ(PostFilter(cluster, *pod), "Error: not found");
  EXPECT_EQ(cluster.FilterAgain(*pod, "n1"), "Error: not found");
}

TEST(DynamicResources, WaitsForThePodsClaims) {
  DeviceCluster cluster;
  cluster.Set(MakeClaim("made", Requests(Exactly()), "",
                        "'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'p', 'uid': 'uid-default-p', "
                        "'controller': true}]"));
  cluster.Set(MakeClaim("leaving", Requests(Exactly()), "", "'deletionTimestamp': '2026-01-01T00:00:00Z'"));
  cluster.Set(MakeClaim("foreign", Requests(Exactly())));
  const auto with = [](api::PodResourceClaim claim, std::vector<api::PodResourceClaimStatus> statuses = {}) {
    auto info = std::make_shared<framework::PodInfo>(*MakePod("p").ResourceClaim(std::move(claim)).Info());
    if (!statuses.empty()) {
      info->claim_status =
          std::make_shared<framework::PodClaimStatus>(framework::PodClaimStatus{std::move(statuses), std::nullopt});
    }
    return info;
  };
  const auto by_template = [&](std::vector<api::PodResourceClaimStatus> statuses) {
    return with({"x", std::nullopt, "t"}, std::move(statuses));
  };
  const std::pair<framework::PodInfoPtr, std::string> cases[] = {
      {with({"x", "absent", std::nullopt}), "could not find ResourceClaim \"default/absent\""},
      {with({"x", "leaving", std::nullopt}), "resourceclaim \"leaving\" is being deleted"},
      {with({"x", "foreign", std::nullopt}), ""},
      {with({"x", std::nullopt, std::nullopt}),
       "pod \"default/p\", spec.resourceClaim \"x\": none of the supported fields are set"},
      {by_template({}), "pod \"default/p\": ResourceClaim not created yet"},
      {by_template({{"y", "made"}}), "pod \"default/p\": ResourceClaim not created yet"},
      {by_template({{"x", std::nullopt}}), ""},
      {by_template({{"x", "made"}}), ""},
      {by_template({{"x", "foreign"}}),
       "ResourceClaim default/foreign was not created for Pod default/p (Pod is not owner)"},
  };
  for (const auto& [pod, error] : cases) {
    const std::string want = error.empty() ? "ok" : kRefused + error;
    EXPECT_EQ(TestCluster::Describe(cluster.plugin.PreEnqueue(*pod)), want);
    if (!error.empty()) {
      EXPECT_EQ(cluster.PreFilter(*pod), want);
    }
  }
  // A claim that was not needed leaves nothing to do.
  EXPECT_EQ(cluster.PreFilter(*by_template({{"x", std::nullopt}})), "Skip");
}

TEST(DynamicResources, RefusesClaimsThatNoNodeCanHelp) {
  DeviceCluster cluster;
  const auto refusal = [&](const std::string& requests) {
    cluster.Set(MakeClaim("x", requests));
    return cluster.PreFilter(*PodWith("p", {"x"}).Info());
  };
  EXPECT_EQ(refusal(Requests("{'name': 'r'}")),
            std::string(kRefused) + "resource claim default/x, request r: unknown request type");
  EXPECT_EQ(refusal(Requests("{'name': 'r', 'exactly': {'deviceClassName': 'no'}}")),
            std::string(kRefused) + "request r: device class no does not exist");
  EXPECT_EQ(refusal(Requests("{'name': 'r', 'exactly': {}}")), "Error: request r: unsupported request type");
  EXPECT_EQ(refusal(Requests("{'name': 'r', 'firstAvailable': [{'name': 's', 'deviceClassName': 'no'}]}")),
            std::string(kRefused) + "request r/s: device class no does not exist");
}

TEST(DynamicResources, Filter) {
  DeviceCluster cluster;
  cluster.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}"));
  cluster.Set(MakeClaim("x", Requests(Exactly())));
  const auto pod = PodWith("p", {"x"}).Info();
  EXPECT_EQ(cluster.Filter(*pod, "n1"), "ok");
  EXPECT_EQ(cluster.FilterAgain(*pod, "n2"), std::string(kRefused) + "cannot allocate all claims");
  // A new generation whose second slice is missing takes the device away.
  cluster.Set(MakeSlice("s2", "'nodeName': 'n1'", "{'name': 'b'}",
                        "'pool': {'name': 's', 'generation': 2, 'resourceSliceCount': 2}"));
  EXPECT_EQ(cluster.Filter(*pod, "n1"), std::string(kRefused) + "cannot allocate all claims");
}

TEST(DynamicResources, FilterGivesUpWithoutAClock) {
  testing::FakeHandle handle;
  DeviceCluster cluster;
  cluster.args.filter_timeout = std::chrono::microseconds(2);
  const TestedPlugin hasty = CreateDynamicResources(cluster.args, cluster.handle);
  cluster.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}, {'name': 'b'}"));
  cluster.Set(MakeClaim("x", Requests(Exactly(2))));
  const auto pod = PodWith("p", {"x"}).Info();
  cluster.nodes.Forget();
  EXPECT_TRUE(hasty.PreFilter(cluster.Cycle(), *pod).status.IsSuccess());
  EXPECT_EQ(TestCluster::Describe(hasty.Filter(cluster.Cycle(), *pod, cluster.nodes.Node("n1"))),
            "Error: node n1: timed out trying to allocate devices");
}

TEST(DynamicResources, FilterGivesUpAfterWhatAllNodesTookTogether) {
  DeviceCluster cluster;
  cluster.args.filter_timeout = std::chrono::microseconds(20);
  const TestedPlugin hasty = CreateDynamicResources(cluster.args, cluster.handle);
  for (const std::string node : {"n1", "n2"})
    cluster.Set(MakeSlice("s" + node, "'nodeName': '" + node + "'", "{'name': 'a'}, {'name': 'b'}"));
  cluster.Set(MakeClaim("x", Requests(Exactly(3))));
  const auto pod = PodWith("p", {"x"}).Info();
  cluster.nodes.Forget();
  EXPECT_TRUE(hasty.PreFilter(cluster.Cycle(), *pod).status.IsSuccess());
  int asked = 0;
  std::string said;
  do {
    said = TestCluster::Describe(hasty.Filter(cluster.Cycle(), *pod, cluster.nodes.Node(asked % 2 == 0 ? "n1" : "n2")));
  } while (++asked < 20 && said == std::string(kRefused) + "cannot allocate all claims");
  EXPECT_NE(said.find("timed out trying to allocate devices"), std::string::npos) << said;
  EXPECT_GT(asked, 1);
  // The next cycle starts over.
  EXPECT_TRUE(hasty.PreFilter(cluster.Cycle(), *pod).status.IsSuccess());
  EXPECT_EQ(TestCluster::Describe(hasty.Filter(cluster.Cycle(), *pod, cluster.nodes.Node("n1"))),
            std::string(kRefused) + "cannot allocate all claims");
}

// Each claim takes a call more: an API server takes pods with more claims than a stack has room for.
TEST(DynamicResources, APodWithThousandsOfClaimsIsGivenUp) {
  DeviceCluster cluster;
  cluster.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}"));
  cluster.Set(MakeClaim("x", Requests(Exactly())));
  EXPECT_EQ(cluster.Filter(*PodWith("p", {"x"}).Info(), "n1"), "ok");
  const std::vector<std::string> many(20'000, "x");
  EXPECT_EQ(cluster.Filter(*PodWith("q", many).Info(), "n1"), "Error: node n1: timed out trying to allocate devices");
}

TEST(DynamicResources, AllocatedClaimsTieThePodToTheirNodes) {
  DeviceCluster cluster;
  const std::string on_n1 =
      ", 'nodeSelector': {'nodeSelectorTerms': [{'matchFields': [{'key': 'metadata.name', 'operator': 'In', "
      "'values': ['n1']}]}]}}";
  const std::string allocation = Allocated("s", {"a"});
  const std::string tied = allocation.substr(0, allocation.size() - 1) + on_n1;
  cluster.Set(MakeClaim("x", Requests(Exactly()), tied));
  const auto pod = PodWith("p", {"x"}).Info();
  EXPECT_EQ(cluster.Filter(*pod, "n1"), "ok");
  EXPECT_EQ(cluster.FilterAgain(*pod, "n2"), std::string(kRefused) + "resourceclaim not available on the node");
  // Nobody else uses it: it is given back, so that the pod can go elsewhere.
  EXPECT_EQ(AskPostFilter(cluster, *pod), "Unschedulable: deallocation of ResourceClaim completed");
  EXPECT_EQ(PostFilter(cluster, *pod), "Unschedulable: deallocation of ResourceClaim completed");
  EXPECT_EQ(StartedBody(cluster),
            "x: {\"metadata\":{\"uid\":\"uid-x\",\"resourceVersion\":\"1\"},\"status\":{\"allocation\":null,"
            "\"reservedFor\":null,\"devices\":null}}");
  cluster.handle.started.clear();
  cluster.Set(MakeClaim("x", Requests(Exactly()), tied + ", " + ReservedFor("other")));
  EXPECT_EQ(cluster.Filter(*pod, "n2"), std::string(kRefused) + "resourceclaim not available on the node");
  EXPECT_EQ(PostFilter(cluster, *pod), "Unschedulable: still not schedulable");
  cluster.Set(MakeClaim("x", Requests(Exactly()), tied + ", " + ReservedFor("uid-default-p")));
  EXPECT_EQ(cluster.Filter(*pod, "n2"), std::string(kRefused) + "resourceclaim not available on the node");
  EXPECT_EQ(PostFilter(cluster, *pod), "Unschedulable: deallocation of ResourceClaim completed");
}

TEST(DynamicResources, AClaimIsNotGivenBackWhereAnotherOneCannotBeAllocated) {
  DeviceCluster cluster;
  const std::string allocation = Allocated("gone", {"a"});
  cluster.Set(MakeClaim("x", Requests(Exactly()),
                        allocation.substr(0, allocation.size() - 1) +
                            ", 'nodeSelector': {'nodeSelectorTerms': [{'matchFields': [{'key': 'metadata.name', "
                            "'operator': 'In', 'values': ['n1']}]}]}}"));
  cluster.Set(MakeClaim("y", Requests(Exactly(7))));
  const auto pod = PodWith("p", {"x", "y"}).Info();
  EXPECT_EQ(cluster.Filter(*pod, "n2"), std::string(kRefused) + "cannot allocate all claims");
  EXPECT_EQ(PostFilter(cluster, *pod), "Unschedulable: still not schedulable");
}

TEST(DynamicResources, BindingConditionsMakeClaimsUnusable) {
  const std::string wants = ", 'bindingConditions': ['ready'], 'bindingFailureConditions': ['broken']";
  const auto filter = [&](const std::string& devices, const std::string& allocated_at) {
    DeviceCluster cluster;
    std::string status = Allocated("s", {"a"}, wants);
    status.insert(status.size() - 1, ", 'allocationTimestamp': '" + allocated_at + "'");
    if (!devices.empty()) {
      status += ", 'devices': [{'driver': 'd', 'pool': 's', 'device': 'a', 'conditions': [" + devices + "]}]";
    }
    cluster.Set(MakeClaim("x", Requests(Exactly()), status));
    return cluster.Filter(*PodWith("p", {"x"}).Info());
  };
  const std::string refused = std::string(kRefused) + "resourceclaim not available on the node";
  const std::string long_ago = "2020-01-01T00:00:00Z";
  const std::string later = "2040-01-01T00:00:00Z";
  const std::string ready = "{'type': 'ready', 'status': 'True'}";
  EXPECT_EQ(filter("", later), "ok");
  EXPECT_EQ(filter("", long_ago), refused);
  EXPECT_EQ(filter(ready, long_ago), "ok");
  EXPECT_EQ(filter("{'type': 'ready', 'status': 'False'}", long_ago), refused);
  EXPECT_EQ(filter(ready + ", {'type': 'broken', 'status': 'True'}", later), refused);
  EXPECT_EQ(filter(ready + ", {'type': 'broken', 'status': 'False'}", later), "ok");
}

TEST(DynamicResources, ScoresAlternatives) {
  DeviceCluster cluster;
  cluster.Set(MakeSlice("s1", "'nodeName': 'n1'", "{'name': 'a'}"));
  cluster.Set(MakeSlice("s2", "'nodeName': 'n2'", "{'name': 'a'}, {'name': 'b'}"));
  const std::string sub = "'deviceClassName': 'c', 'allocationMode': 'ExactCount', 'count': ";
  cluster.Set(MakeClaim("x", Requests("{'name': 'r', 'firstAvailable': [{'name': 'two', " + sub +
                                      "2}, {'name': 'one', " + sub + "1}]}")));
  const auto pod = PodWith("p", {"x"}).Info();
  EXPECT_EQ(cluster.Filter(*pod, "n1"), "ok");
  EXPECT_EQ(cluster.FilterAgain(*pod, "n2"), "ok");
  EXPECT_FALSE(cluster.plugin.ScoresNothing(cluster.Cycle(), *pod));
  EXPECT_EQ(cluster.nodes.Score(cluster.plugin, *pod, "n1"), 7);
  EXPECT_EQ(cluster.nodes.Score(cluster.plugin, *pod, "n2"), 8);
  EXPECT_EQ(cluster.plugin.ScoreNormalization(), framework::Normalization::kMax);
  // A claim that is allocated already counts where another one has to be allocated.
  cluster.Set(MakeClaim(
      "y", Requests("{'name': 'r', 'firstAvailable': [{'name': 'a', " + sub + "1}, {'name': 'b', " + sub + "1}]}"),
      "'allocation': {'devices': {'results': [{'request': 'r/b', 'driver': 'd', 'pool': 'z', "
      "'device': 'z'}]}}"));
  EXPECT_EQ(cluster.Filter(*PodWith("p", {"x", "y"}).Info(), "n1"), "ok");
  EXPECT_EQ(cluster.nodes.Score(cluster.plugin, *pod, "n1"), 14);
  EXPECT_EQ(cluster.Filter(*PodWith("p", {"y"}).Info(), "n1"), "ok");
  EXPECT_EQ(cluster.nodes.Score(cluster.plugin, *pod, "n1"), 0);
}

TEST(DynamicResources, PendingAllocationsKeepDevicesAndClaims) {
  DeviceCluster cluster;
  cluster.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}"));
  cluster.Set(MakeClaim("x", Requests(Exactly())));
  cluster.Set(MakeClaim("y", Requests(Exactly())));
  const auto first = cluster.Reserve(PodWith("p", {"x"}));
  EXPECT_EQ(cluster.Filter(*PodWith("q", {"y"}).Info()), std::string(kRefused) + "cannot allocate all claims");
  EXPECT_EQ(cluster.Filter(*PodWith("q", {"x"}).Info()),
            std::string(kRefused) + "resource claim default/x is in the process of being allocated");
  // Another profile's plugin sees it as well.
  const TestedPlugin other = CreateDynamicResources(cluster.args, cluster.handle);
  cluster.nodes.Forget();
  const auto pod = PodWith("q", {"y"}).Info();
  EXPECT_TRUE(other.PreFilter(cluster.Cycle(), *pod).status.IsSuccess());
  EXPECT_FALSE(other.Filter(cluster.Cycle(), *pod, cluster.nodes.Node("n1")).IsSuccess());
  cluster.plugin.Unreserve(*first, "n1");
  EXPECT_EQ(cluster.Filter(*PodWith("q", {"y"}).Info()), "ok");
  EXPECT_EQ(cluster.Filter(*PodWith("q", {"x"}).Info()), "ok");
}

TEST(DynamicResources, ExtendedResources) {
  DeviceCluster cluster;
  cluster.Set(MakeClass("c", "'extendedResourceName': 'example.com/gpu'"));
  cluster.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}, {'name': 'b'}"));
  cluster.nodes.Add(MakeNode("plugin").Allocatable("example.com/gpu", "4"));
  cluster.nodes.Add(MakeNode("zero").Allocatable("example.com/gpu", "0"));
  const auto pod = [](const char* amount) { return MakePod("p").Request("example.com/gpu", amount).Info(); };
  EXPECT_EQ(cluster.PreFilter(*pod("0")), "Skip");
  EXPECT_EQ(cluster.Filter(*pod("2"), "n1"), "ok");
  EXPECT_EQ(cluster.FilterAgain(*pod("2"), "n2"), std::string(kRefused) + "cannot allocate all claims");
  EXPECT_EQ(cluster.FilterAgain(*pod("2"), "plugin"), "ok");
  EXPECT_EQ(cluster.FilterAgain(*pod("2"), "zero"), std::string(kRefused) + "cannot allocate all claims");
  EXPECT_EQ(cluster.Filter(*pod("3"), "n1"), std::string(kRefused) + "cannot allocate all claims");
  // The class's own name works as well.
  EXPECT_EQ(cluster.Filter(*MakePod("p").Request("deviceclass.resource.kubernetes.io/c", "1").Info(), "n1"), "ok");
  // A resource that nobody provides.
  const auto both = MakePod("p").Request("example.com/gpu", "1").Request("example.com/dongle", "1").Info();
  EXPECT_EQ(cluster.Filter(*both, "n1"), std::string(kRefused) + "cannot fit resource");
}

TEST(DynamicResources, StaleExtendedClaimsAreDeleted) {
  DeviceCluster cluster;
  cluster.Set(MakeClass("c", "'extendedResourceName': 'example.com/gpu'"));
  cluster.Set(MakeClaim("old", Requests(Exactly()), "",
                        "'annotations': {'resource.kubernetes.io/extended-resource-claim': 'true'}, "
                        "'finalizers': ['x/y', 'resource.kubernetes.io/delete-protection'], "
                        "'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'p', 'uid': 'uid-default-p', "
                        "'controller': true}]"));
  const auto pod = MakePod("p").Request("example.com/gpu", "1").Info();
  EXPECT_EQ(cluster.Filter(*pod), std::string(kRefused) + "cannot schedule extended resource claim");
  EXPECT_EQ(AskPostFilter(cluster, *pod), "Unschedulable: deletion of ResourceClaim completed");
  EXPECT_EQ(PostFilter(cluster, *pod), "Unschedulable: deletion of ResourceClaim completed");
  EXPECT_EQ(StartedBody(cluster),
            "old: {\"metadata\":{\"uid\":\"uid-old\",\"resourceVersion\":\"1\",\"finalizers\":[\"x/y\"]}}");
  const framework::Operation next = cluster.handle.started.front().next({});
  ASSERT_EQ(next.writes.size(), 1U);
  const auto* removal = std::get_if<framework::ObjectDelete>(&next.writes.front());
  ASSERT_NE(removal, nullptr);
  EXPECT_EQ(removal->uid, "uid-old");
}

TEST(DynamicResources, NodeResourcesFitLeavesDevicesAlone) {
  DeviceCluster cluster;
  const TestedPlugin fit = CreateNodeResourcesFit({}, cluster.handle);
  const std::uint64_t epoch = fit.Epoch();
  cluster.nodes.Add(MakeNode("plugin").Allocatable("example.com/gpu", "1"));
  const auto pod = MakePod("p").Request("example.com/gpu", "2").Info();
  const auto filter = [&](std::string_view node) {
    cluster.nodes.Forget();
    (void)fit.PreFilter(cluster.Cycle(), *pod);
    std::vector<framework::VerdictId> verdicts(cluster.nodes.table().row_count());
    framework::StatusTable statuses;
    fit.FilterRows(cluster.Cycle(), *pod, cluster.nodes.table().rows(), verdicts, statuses);
    const std::string plain = cluster.nodes.Filter(fit, *pod, node);
    const framework::VerdictId verdict = verdicts[cluster.nodes.table().Find(node)];
    EXPECT_EQ(verdict == framework::kVerdictOk ? "ok" : TestCluster::Describe(statuses.Get(verdict)), plain);
    return plain;
  };
  EXPECT_EQ(filter("n1"), std::string(kRefused) + "Insufficient example.com/gpu");
  cluster.Set(MakeClass("c", "'extendedResourceName': 'example.com/gpu'"));
  EXPECT_GT(fit.Epoch(), epoch);
  EXPECT_EQ(filter("n1"), "ok");
  EXPECT_EQ(filter("plugin"), std::string(kRefused) + "Insufficient example.com/gpu");
}

TEST(DynamicResources, FreeDevicesCountAsFreeResources) {
  DeviceCluster cluster;
  config::NodeResourcesFitArgs args;
  args.scoring_strategy.resources = {{"example.com/gpu", 1}};
  const TestedPlugin fit = CreateNodeResourcesFit(args, cluster.handle);
  const TestedPlugin balance =
      CreateNodeResourcesBalancedAllocation({{{"example.com/gpu", 1}, {"cpu", 1}}}, cluster.handle);
  cluster.Set(MakeClass("c", "'extendedResourceName': 'example.com/gpu'"));
  cluster.Set(MakeSlice("s", "'nodeName': 'n1'", "{'name': 'a'}, {'name': 'b'}, {'name': 'c'}, {'name': 'd'}"));
  cluster.Set(MakeSlice("t", "'perDeviceNodeSelection': true", "{'name': 'a', 'nodeName': 'n2'}"));
  const auto pod = MakePod("p").Request("example.com/gpu", "1").Info();
  const std::uint64_t epoch = fit.Epoch();
  EXPECT_EQ(cluster.nodes.Score(fit, *pod, "n1"), 75);  // 3 of 4 are left
  EXPECT_EQ(cluster.nodes.Score(fit, *pod, "n2"), 0);
  EXPECT_EQ(cluster.nodes.Score(balance, *pod, "n1"), 68);
  cluster.Set(MakeClaim("x", "", Allocated("s", {"a"})));
  EXPECT_GT(fit.Epoch(), epoch);
  EXPECT_EQ(cluster.nodes.Score(fit, *pod, "n1"), 50);
  EXPECT_EQ(fit.ObjectsRead().size(), 3U);
}

TEST(DynamicResources, Hints) {
  using framework::EventResource;
  using namespace framework::action;
  DeviceCluster cluster;
  const auto free = MakeClaim("x", Requests(Exactly()));
  const auto taken = MakeClaim("x", Requests(Exactly()), Allocated("s", {"a"}));
  const auto reserved = MakeClaim("x", Requests(Exactly()), Allocated("s", {"a"}) + ", " + ReservedFor("u"));
  const auto labelled = MakeClaim("x", Requests(Exactly()), "", "'labels': {'a': 'b'}");
  const auto foreign = MakeClaim("y", Requests(Exactly()), Allocated("s", {"a"}));
  const auto foreign_free = MakeClaim("y", Requests(Exactly()));
  cluster.Set(free);
  const auto pod = PodWith("p", {"x"}).Info();
  const auto waiting = PodWith("q", {"absent"}).Info();
  using Ptr = std::shared_ptr<const api::ResourceClaim>;
  const auto hint = [&](const framework::PodInfo& of, const Ptr& before, const Ptr& after) {
    const framework::AnyObject old_object = before;
    const framework::AnyObject new_object = after;
    framework::EventObjects objects;
    objects.old_object = before == nullptr ? nullptr : &old_object;
    objects.new_object = &new_object;
    return HintFor(cluster.plugin, {EventResource::kResourceClaim, before == nullptr ? kAdd : kUpdate}, of, objects);
  };
  EXPECT_EQ(hint(*pod, nullptr, free), QueueingHint::kQueue);
  EXPECT_EQ(hint(*pod, nullptr, foreign), QueueingHint::kSkip);
  EXPECT_EQ(hint(*pod, foreign, foreign_free), QueueingHint::kQueue);  // devices became free
  EXPECT_EQ(hint(*pod, foreign_free, foreign), QueueingHint::kSkip);
  EXPECT_EQ(hint(*pod, free, taken), QueueingHint::kQueue);
  EXPECT_EQ(hint(*pod, taken, reserved), QueueingHint::kQueue);
  EXPECT_EQ(hint(*pod, free, labelled), QueueingHint::kSkip);
  EXPECT_EQ(hint(*waiting, foreign, foreign_free), QueueingHint::kSkip);  // it waits for something else

  const auto own = [&](const framework::PodInfo& of, const framework::PodInfo& updated) {
    framework::EventObjects objects;
    objects.new_pod = &updated;
    return HintFor(cluster.plugin, {EventResource::kUnschedulablePod, kUpdatePodGeneratedResourceClaim}, of, objects);
  };
  EXPECT_EQ(own(*pod, *pod), QueueingHint::kQueue);
  EXPECT_EQ(own(*pod, *waiting), QueueingHint::kSkip);
  EXPECT_EQ(own(*waiting, *waiting), QueueingHint::kSkip);

  const framework::EventObjects none;
  for (const EventResource resource : {EventResource::kDeviceClass, EventResource::kResourceSlice}) {
    EXPECT_EQ(HintFor(cluster.plugin, {resource, kAdd}, *pod, none), QueueingHint::kQueue);
    const auto want = resource == EventResource::kResourceSlice ? QueueingHint::kQueue : QueueingHint::kSkip;
    EXPECT_EQ(HintFor(cluster.plugin, {resource, kDelete}, *pod, none), want);
  }
  EXPECT_EQ(HintFor(cluster.plugin, {EventResource::kNode, kUpdateNodeLabel}, *pod, none), QueueingHint::kQueue);
  EXPECT_EQ(HintFor(cluster.plugin, {EventResource::kNode, kUpdateNodeTaint}, *pod, none), QueueingHint::kSkip);
}

TEST(DynamicResources, HearsOfDeletedClaims) {
  using namespace framework::action;
  DeviceCluster cluster;
  const auto pod = MakePod("p").Info();
  const auto hint = [&](const std::shared_ptr<const api::ResourceClaim>& claim) {
    const framework::AnyObject old_object = claim;
    framework::EventObjects objects;
    objects.old_object = &old_object;
    return HintFor(cluster.plugin, {framework::EventResource::kResourceClaim, kDelete}, *pod, objects);
  };
  const auto free = MakeClaim("x", Requests(Exactly()));
  const auto taken = MakeClaim("x", Requests(Exactly()), Allocated("s", {"a"}));
  EXPECT_EQ(hint(taken), QueueingHint::kQueue);
  EXPECT_EQ(hint(free), QueueingHint::kSkip);
  const auto extended = MakeClaim("x", Requests(Exactly()), "",
                                  "'ownerReferences': [{'apiVersion': 'v1', 'kind': "
                                  "'Pod', 'name': 'p', 'uid': '" +
                                      pod->uid + "', 'controller': true}]");
  EXPECT_EQ(hint(extended), QueueingHint::kQueue) << "the pod's own, for its extended resources";
}

TEST(DynamicResources, HintsOfNodeResourcesFit) {
  using framework::EventResource;
  using namespace framework::action;
  DeviceCluster cluster;
  const TestedPlugin fit = CreateNodeResourcesFit({}, cluster.handle);
  const auto hint = [&](const framework::PodInfo& pod, std::shared_ptr<const api::DeviceClass> before,
                        std::shared_ptr<const api::DeviceClass> after) {
    const framework::AnyObject old_object = before;
    const framework::AnyObject new_object = after;
    framework::EventObjects objects;
    objects.old_object = before == nullptr ? nullptr : &old_object;
    objects.new_object = &new_object;
    return HintFor(fit, {EventResource::kDeviceClass, before == nullptr ? kAdd : kUpdate}, pod, objects);
  };
  const auto gpu = MakePod("p").Request("example.com/gpu", "1").Info();
  const auto own = MakePod("p").Request("deviceclass.resource.kubernetes.io/c", "1").Info();
  const auto plain = MakeClass("c");
  const auto named = MakeClass("c", "'extendedResourceName': 'example.com/gpu'");
  EXPECT_EQ(hint(*gpu, nullptr, plain), QueueingHint::kSkip);
  EXPECT_EQ(hint(*gpu, nullptr, named), QueueingHint::kQueue);
  EXPECT_EQ(hint(*gpu, plain, named), QueueingHint::kQueue);
  EXPECT_EQ(hint(*gpu, named, named), QueueingHint::kSkip);
  EXPECT_EQ(hint(*own, nullptr, plain), QueueingHint::kQueue);
  EXPECT_EQ(hint(*own, plain, named), QueueingHint::kSkip);
  // A node that has none of a resource itself may give devices.
  const auto node = MakeNode("n").Build();
  framework::EventObjects added;
  added.new_node = node.get();
  EXPECT_EQ(HintFor(fit, {EventResource::kNode, kAdd}, *gpu, added), QueueingHint::kSkip);
  cluster.Set(named);
  EXPECT_EQ(HintFor(fit, {EventResource::kNode, kAdd}, *gpu, added), QueueingHint::kQueue);
}

}  // namespace
}  // namespace berth::plugins
