// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pod_index.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using testing::MakePod;

std::shared_ptr<const api::Pod> Pod(const std::string& namespace_name, const std::string& name,
                                    const std::string& node = "n") {
  return std::make_shared<const api::Pod>(RunningPod("web", name, node).Namespace(namespace_name).Build());
}

TEST(PodIndexTest, NamespacesAreListedByTheBytesOfTheirKeys) {
  // '-' is below '/', and letters are above it.
  const std::vector<std::string> keys = {"a-b/x", "a/x", "a/y", "aa/x"};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const auto part = [&](std::size_t of) {
        const std::size_t slash = keys[of].find('/');
        return std::pair(keys[of].substr(0, slash), keys[of].substr(slash + 1));
      };
      const int order = CompareListed(part(i).first, part(i).second, part(j).first, part(j).second);
      EXPECT_EQ(order < 0, i < j) << keys[i] << ' ' << keys[j];
      EXPECT_EQ(order == 0, i == j) << keys[i] << ' ' << keys[j];
    }
  }
}

TEST(PodIndexTest, FindsAPodByName) {
  const PodPtrs pods = {Pod("a-b", "x"), Pod("a", "x"), Pod("a", "y")};
  EXPECT_EQ(FindListed(pods, "a", "x"), pods[1]);
  EXPECT_EQ(FindListed(pods, "a-b", "x"), pods[0]);
  EXPECT_EQ(FindListed(pods, "a", "z"), nullptr);
  EXPECT_EQ(FindListed({}, "a", "x"), nullptr);
}

// The plain twin looks through all pods.
TEST(PodIndexTest, HasWhatALookThroughAllPodsFinds) {
  Random random(1);
  PodPtrs pods;
  PodIndex index;
  for (int step = 0; step < 500; ++step) {
    if (!pods.empty() && random.Below(3) == 0) {
      const auto at = pods.begin() + static_cast<std::ptrdiff_t>(random.Below(pods.size()));
      index.Remove(*at);
      pods.erase(at);
      continue;
    }
    testing::PodBuilder made = RunningPod("app" + std::to_string(random.Below(3)), "p" + std::to_string(step),
                                          random.Below(3) == 0 ? "" : "n");
    made.Namespace(random.Below(2) == 0 ? "a" : "a-b");
    if (random.Below(4) == 0) made.Deleted(kNow);
    const auto pod = std::make_shared<const api::Pod>(made.Build());
    pods.insert(std::ranges::lower_bound(pods, pod, IsListedBefore), pod);
    index.Add(pod);
  }
  PodPtrs unsettled;
  std::map<Workload, PodPtrs> by_workload;
  for (const auto& pod : pods) {
    if (pod->spec.node_name.empty() || pod->metadata.deletion_time) unsettled.push_back(pod);
    by_workload[WorkloadOf(*pod)].push_back(pod);
  }
  EXPECT_EQ(index.unsettled(), unsettled);
  EXPECT_EQ(index.by_workload(), by_workload);
  EXPECT_EQ(PodIndex(pods).by_workload(), by_workload);
  EXPECT_EQ(index.PodsOf(by_workload.begin()->first), by_workload.begin()->second);
  EXPECT_TRUE(index.PodsOf({"Deployment", "a", "nix"}).empty());
}

}  // namespace
}  // namespace berth::whatif
