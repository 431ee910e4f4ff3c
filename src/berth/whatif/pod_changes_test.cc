// SPDX-License-Identifier: Apache-2.0
// Requests that are cut to what is free, and no further.
#include "berth/whatif/pod_changes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::whatif {
namespace {

api::Container Container(const std::string& name, const char* cpu, bool is_sidecar = false) {
  api::Container container;
  container.name = name;
  container.requests.emplace_back("cpu", *api::Quantity::Parse(cpu));
  container.restart_always = is_sidecar;
  return container;
}

TEST(PodChanges, RequestsAreCutNoFurtherThanNeeded) {
  const struct {
    const char* name;
    std::vector<api::Container> init_containers, containers;
    std::int64_t milli_max;
    std::vector<std::string> want;
  } cases[] = {
      {"the largest first",
       {},
       {Container("a", "1"), Container("b", "3")},
       2500,
       {"spec.containers[b].resources.requests.cpu: 1500m instead of 3"}},
      {"and the next, if that is not enough",
       {},
       {Container("a", "1"), Container("b", "3")},
       500,
       {"spec.containers[b].resources.requests.cpu: 0 instead of 3",
        "spec.containers[a].resources.requests.cpu: 500m instead of 1"}},
      {"an init container runs alone",
       {Container("i", "3")},
       {Container("a", "1")},
       2000,
       {"spec.initContainers[i].resources.requests.cpu: 2 instead of 3"}},
      {"or beside the sidecars before it",
       {Container("s", "1", true), Container("i", "3")},
       {Container("a", "1")},
       2000,
       {"spec.initContainers[i].resources.requests.cpu: 1 instead of 3"}},
      {"and not beside those after it",
       {Container("i", "3"), Container("s", "1", true)},
       {Container("a", "1")},
       2000,
       {"spec.initContainers[i].resources.requests.cpu: 2 instead of 3"}},
      {"nothing to cut", {Container("i", "1")}, {Container("a", "1")}, 1000, {}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    api::Pod pod = testing::MakePod("p").Build();
    pod.spec.init_containers = test.init_containers;
    pod.spec.containers = test.containers;
    std::vector<std::string> changes;
    (void)WithRequestAtMost(pod, "cpu", test.milli_max, &changes);
    EXPECT_EQ(changes, test.want);
  }
}

}  // namespace
}  // namespace berth::whatif
