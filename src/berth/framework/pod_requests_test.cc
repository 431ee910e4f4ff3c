// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/pod_requests.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::framework {
namespace {

api::ResourceList List(std::vector<std::pair<std::string, std::string>> entries) {
  api::ResourceList list;
  for (const auto& [name, text] : entries) list.emplace_back(name, api::Quantity::Parse(text).value());
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return list;
}

api::Container Container(std::string name, api::ResourceList requests, bool restart_always = false) {
  api::Container container;
  container.name = std::move(name);
  container.requests = std::move(requests);
  container.restart_always = restart_always;
  return container;
}

constexpr std::int64_t kMi = 1024 * 1024;

struct Amounts {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t ephemeral_storage_bytes = 0;
  std::vector<std::pair<std::string, std::int64_t>> scalars{};
};

struct Case {
  std::string name;
  PodClass pod_class;
  Amounts requests;
  std::int64_t nonzero_cpu_milli = 0;
  std::int64_t nonzero_memory_bytes = 0;
};

PodClass Class(std::vector<api::Container> containers, std::vector<api::Container> init_containers = {}) {
  PodClass c;
  c.spec.containers = std::move(containers);
  c.spec.init_containers = std::move(init_containers);
  return c;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  cases.push_back({"nothing requested", Class({Container("a", {}), Container("b", {})}), {}, 200, 400 * kMi});
  cases.push_back(
      {"containers add up",
       Class({Container("a", List({{"cpu", "1"}, {"memory", "1Gi"}})), Container("b", List({{"cpu", "250m"}}))}),
       {.cpu_milli = 1250, .memory_bytes = 1024 * kMi},
       1250,
       1224 * kMi});
  cases.push_back({"an explicit zero is no missing request",
                   Class({Container("a", List({{"cpu", "0"}, {"memory", "0"}}))}),
                   {},
                   0,
                   0});
  cases.push_back({"sums are exact, then rounded up",
                   Class({Container("a", List({{"cpu", "100u"}, {"memory", "1"}})),
                          Container("b", List({{"cpu", "100u"}, {"memory", "500m"}}))}),
                   {.cpu_milli = 1, .memory_bytes = 2},
                   1,
                   2});
  cases.push_back(
      {"the largest init container counts",
       Class({Container("a", List({{"cpu", "1"}, {"memory", "1Mi"}}))},
             {Container("i", List({{"cpu", "3"}})), Container("j", List({{"cpu", "2"}, {"memory", "2Mi"}}))}),
       {.cpu_milli = 3000, .memory_bytes = 2 * kMi},
       3000,
       200 * kMi});
  cases.push_back({"sidecars run beside later init containers and the containers",
                   Class({Container("a", List({{"cpu", "1"}, {"memory", "1Mi"}}))},
                         {Container("i", List({{"cpu", "2"}, {"memory", "1Mi"}})),
                          Container("s", List({{"cpu", "1"}, {"memory", "1Mi"}}), true),
                          Container("j", List({{"cpu", "2"}, {"memory", "1Mi"}}))}),
                   {.cpu_milli = 3000, .memory_bytes = 2 * kMi},
                   3000,
                   2 * kMi});
  {
    PodClass c = Class(
        {Container("a", List({{"cpu", "1"}, {"example.com/gpu", "1"}, {"storage", "5"}, {"hugepages-2Mi", "4Mi"}}))});
    c.spec.overhead = List({{"cpu", "10m"}, {"ephemeral-storage", "1Ki"}});
    cases.push_back({"overhead and scalars; other names are dropped",
                     c,
                     {.cpu_milli = 1010,
                      .ephemeral_storage_bytes = 1024,
                      .scalars = {{"example.com/gpu", 1}, {"hugepages-2Mi", 4 * kMi}}},
                     1010,
                     200 * kMi});
  }
  {
    PodClass c = Class({Container("a", List({{"cpu", "1"}, {"ephemeral-storage", "7"}})), Container("b", {})});
    c.spec.requests = List({{"cpu", "3"}, {"ephemeral-storage", "9"}});
    cases.push_back({"pod-level cpu replaces the containers', and memory takes the default once a container",
                     c,
                     {.cpu_milli = 3000, .ephemeral_storage_bytes = 7},
                     3000,
                     400 * kMi});
  }
  {
    PodClass c = Class({Container("a", List({{"memory", "1Mi"}})), Container("b", {})});
    c.spec.requests = List({{"cpu", "3"}});
    cases.push_back({"with pod-level requests a container without memory counts nothing when another names it",
                     c,
                     {.cpu_milli = 3000, .memory_bytes = kMi},
                     3000,
                     kMi});
  }
  {
    PodClass c = Class({Container("a", List({{"cpu", "1"}})), Container("b", List({{"cpu", "1"}}))},
                       {Container("i", List({{"cpu", "1"}}))});
    c.container_statuses = {{"a", List({{"cpu", "2"}}), List({{"cpu", "1500m"}})},
                            {"b", {}, List({{"cpu", "9"}})},
                            {"i", List({{"cpu", "9"}}), {}}};
    cases.push_back({"a resized container counts its largest; statuses without resources and of init containers do not",
                     c,
                     {.cpu_milli = 3000},
                     3000,
                     400 * kMi});
    c.is_resize_infeasible = true;
    c.spec.containers[0].requests = List({{"cpu", "8"}});
    cases.push_back({"an infeasible resize does not count the wish", c, {.cpu_milli = 3000}, 3000, 400 * kMi});
  }
  {
    PodClass c = Class({Container("a", {})});
    c.spec.requests = List({{"cpu", "1"}, {"memory", "1Mi"}});
    c.pod_resources = api::ContainerStatus{"", List({{"cpu", "2"}}), List({{"cpu", "3"}})};
    cases.push_back({"pod-level resize", c, {.cpu_milli = 3000, .memory_bytes = kMi}, 3000, kMi});
  }
  return cases;
}

TEST(PodRequests, Table) {
  for (Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    DerivePodClass(test.pod_class);
    EXPECT_EQ(test.pod_class.requests.cpu_milli, test.requests.cpu_milli);
    EXPECT_EQ(test.pod_class.requests.memory_bytes, test.requests.memory_bytes);
    EXPECT_EQ(test.pod_class.requests.ephemeral_storage_bytes, test.requests.ephemeral_storage_bytes);
    EXPECT_EQ(test.pod_class.requests.scalars, test.requests.scalars);
    EXPECT_EQ(test.pod_class.nonzero_cpu_milli, test.nonzero_cpu_milli);
    EXPECT_EQ(test.pod_class.nonzero_memory_bytes, test.nonzero_memory_bytes);
  }
}

TEST(PodRequests, From137OnTheLargestOfThreeSumsCounts) {
  PodClass c = Class({Container("a", List({{"cpu", "1"}})), Container("b", List({{"cpu", "3"}}))},
                     {Container("i", List({{"cpu", "1"}}))});
  // Specs 4, allocated 2 + 2, actuated 3 + 1: the largest sum is 4, while the sum of the largest amounts is 3 + 3.
  c.container_statuses = {{"a", List({{"cpu", "3"}}), List({{"cpu", "2"}})},
                          {"b", List({{"cpu", "1"}}), List({{"cpu", "2"}})}};
  const auto cpu = [&c](bool sums_by_source) {
    c.sums_requests_by_source = sums_by_source;
    DerivePodClass(c);
    return c.requests.cpu_milli;
  };
  EXPECT_EQ(cpu(false), 6000);
  EXPECT_EQ(cpu(true), 4000);
  c.spec.containers[1].requests = List({{"cpu", "9"}});
  EXPECT_EQ(cpu(true), 10'000);
  c.is_resize_infeasible = true;
  EXPECT_EQ(cpu(true), 4000) << "the wish does not count";
  // Without an actuated amount the allocated one counts; statuses of init containers count.
  c.container_statuses = {{"a", {}, List({{"cpu", "2"}})}, {"i", List({{"cpu", "5"}}), {}}};
  EXPECT_EQ(cpu(true), 5000);
  // The kubelet's own sums are used as they are.
  c.pod_resources = api::ContainerStatus{"", List({{"cpu", "1"}}), List({{"cpu", "7"}})};
  EXPECT_EQ(cpu(true), 7000);
  c.pod_resources->requests = List({});
  EXPECT_EQ(cpu(true), 5000) << "there are no sums of what is in force";
}

TEST(PodRequests, From137OnPodLevelStatusesAreTakenToo) {
  PodClass c = Class({Container("a", {})});
  c.sums_requests_by_source = true;
  c.spec.requests = List({{"cpu", "1"}});
  c.pod_resources = api::ContainerStatus{"", {}, List({{"cpu", "2"}, {"memory", "1Mi"}})};
  DerivePodClass(c);
  EXPECT_EQ(c.requests.cpu_milli, 1000) << "the kubelet has told no amounts that are in force yet";
  EXPECT_EQ(c.requests.memory_bytes, 0);
  c.pod_resources->requests = List({});
  DerivePodClass(c);
  EXPECT_EQ(c.requests.cpu_milli, 2000);
  EXPECT_EQ(c.requests.memory_bytes, kMi) << "which the spec does not name";
}

TEST(PodRequests, FromSpecLeavesStatusOut) {
  PodClass c = Class({Container("a", List({{"cpu", "1"}}))});
  c.container_statuses = {{"a", List({{"cpu", "2"}}), {}}};
  DerivePodClass(c);
  EXPECT_EQ(c.requests.cpu_milli, 2000);
  EXPECT_EQ(PodRequestsFromSpec(c).cpu_milli, 1000);
}

TEST(PodRequests, ScoringSeesContainersOnlyWithDefaults) {
  PodClass c = Class({Container("a", List({{"cpu", "1"}, {"example.com/gpu", "2"}})), Container("b", {})});
  c.spec.requests = List({{"cpu", "5"}});
  c.spec.overhead = List({{"cpu", "10m"}});
  EXPECT_EQ(PodRequestForScoring(c, "cpu", PodAmounts::kNonzeroOfContainers), 1110);
  EXPECT_EQ(PodRequestForScoring(c, "memory", PodAmounts::kNonzeroOfContainers), 400 * kMi);
  EXPECT_EQ(PodRequestForScoring(c, "cpu", PodAmounts::kActual), 5010);
  EXPECT_EQ(PodRequestForScoring(c, "memory", PodAmounts::kActual), 0);
  EXPECT_EQ(PodRequestForScoring(c, "example.com/gpu", PodAmounts::kNonzero), 2);
}

TEST(PodRequests, HostPorts) {
  PodClass c = Class({Container("a", {})}, {Container("i", {}), Container("s", {}, true)});
  c.spec.containers[0].ports = {{80, "", ""}, {0, "", "TCP"}, {53, "10.0.0.1", "UDP"}};
  c.spec.init_containers[0].ports = {{81, "", ""}};
  c.spec.init_containers[1].ports = {{82, "", ""}};
  DerivePodClass(c);
  const std::vector<HostPort> want = {{"0.0.0.0", "TCP", 82}, {"0.0.0.0", "TCP", 80}, {"10.0.0.1", "UDP", 53}};
  EXPECT_TRUE(c.host_ports == want);
}

TEST(ResourceNames, Kinds) {
  struct {
    std::string_view name;
    bool is_extended;
    bool is_scalar;
  } const cases[] = {
      {"cpu", false, false},
      {"storage", false, false},
      {"example.com/gpu", true, true},
      {"kubernetes.io/thing", false, true},
      {"sub.kubernetes.io/x", false, true},
      {"hugepages-2Mi", false, true},
      {"attachable-volumes-csi", false, true},
      {"requests.example.com/gpu", false, false},
      {"Example.com/gpu", false, false},
      {"example.com/", false, false},
      {"example.com/a/b", false, false},
      {"/gpu", false, false},
      {"a-.com/gpu", false, false},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(IsExtendedResourceName(test.name), test.is_extended);
    EXPECT_EQ(IsScalarResourceName(test.name), test.is_scalar);
  }
}

}  // namespace
}  // namespace berth::framework
