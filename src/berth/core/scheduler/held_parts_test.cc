// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/held_parts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/cache/pod_classes.h"
#include "berth/core/runtime/runtime_testing.h"
#include "berth/testing/builders.h"

namespace berth::scheduler {
namespace {

using framework::PodInfoPtr;
using testing::MakePod;

class HeldPartsTest : public ::testing::Test {
 protected:
  PodInfoPtr Pod(const testing::PodBuilder& pod) { return classes.MakePodInfo(pod.Build()); }
  cache::PodClasses classes;
};

TEST_F(HeldPartsTest, APodGetsThePartThatSuitsItBest) {
  const PodInfoPtr small = Pod(MakePod("r:0").Request("cpu", "1"));
  const PodInfoPtr same_size = Pod(MakePod("r:1").Request("cpu", "2").NodeSelector("zone", "a"));
  const PodInfoPtr large = Pod(MakePod("r:2").Request("cpu", "4"));
  HeldParts held;
  EXPECT_TRUE(held.empty());
  held.Add(0, large->pod_class, "a");
  held.Add(1, same_size->pod_class, "a");
  held.Add(2, small->pod_class, "b");
  EXPECT_TRUE(held.HasOn("b"));
  EXPECT_FALSE(held.HasOn("c"));
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "1"))), 2U);
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "2"))), 1U) << "it has the size";
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "3"))), 0U) << "it is smaller";
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "1").Toleration("x", "Exists"))), 2U)
      << "admission has added a toleration";
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "9"))), 0U) << "none suits it: it gets the first";
  held.Remove(2, *small->pod_class, "b");
  EXPECT_FALSE(held.HasOn("b"));
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "1"))), 1U) << "the larger one is for a larger pod";
  const PodInfoPtr device = Pod(MakePod("r:3").Request("cpu", "1").Request("example.com/gpu", "1"));
  held.Add(3, device->pod_class, "a");
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "500m"))), 1U) << "it needs no device";
}

TEST_F(HeldPartsTest, OfEqualPartsAPodGetsTheOneOnItsNodeAndThenTheFirst) {
  const PodInfoPtr stand_in = Pod(MakePod("r:0").Request("cpu", "1"));
  HeldParts held;
  for (const std::size_t part : {3U, 1U, 2U}) held.Add(part, stand_in->pod_class, "n" + std::to_string(part));
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "1"))), 1U);
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "1").Node("n2"))), 2U);
  EXPECT_EQ(held.BestFor(*Pod(MakePod("p").Request("cpu", "1").Node("n9"))), 1U);
}

// The plain form looks at each part.
TEST_F(HeldPartsTest, FindsWhatALookAtEachPartFinds) {
  struct Part {
    PodInfoPtr stand_in;
    std::string node_name;
  };
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    runtime::Dice dice(seed);
    const auto pod = [&](const std::string& name) {
      testing::PodBuilder made = MakePod(name).Request("cpu", std::to_string(dice.Below(3) + 1));
      if (dice.OneIn(3)) made.NodeSelector("zone", "a");
      if (dice.OneIn(3)) made.Toleration("x", "Exists");
      return made;
    };
    std::vector<std::optional<Part>> parts(20);
    HeldParts held;
    for (int step = 0; step < 60; ++step) {
      const auto i = static_cast<std::size_t>(dice.Below(20));
      if (parts[i]) {
        held.Remove(i, *parts[i]->stand_in->pod_class, parts[i]->node_name);
        parts[i].reset();
      } else {
        parts[i] = Part{Pod(pod("r:" + std::to_string(i))), "n" + std::to_string(dice.Below(4))};
        held.Add(i, parts[i]->stand_in->pod_class, parts[i]->node_name);
      }
      testing::PodBuilder asked = pod("p");
      if (dice.OneIn(2)) asked.Node("n" + std::to_string(dice.Below(5)));
      const PodInfoPtr wanted = Pod(asked);
      std::optional<std::size_t> best;
      std::tuple<Fit, std::int64_t, bool> best_fit{};
      std::set<std::string> nodes;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        if (!parts[k]) continue;
        nodes.insert(parts[k]->node_name);
        const framework::PodClass& stand_in = *parts[k]->stand_in->pod_class;
        const Fit suits = FitOf(stand_in, *wanted->pod_class);
        const std::tuple fit{suits, suits == Fit::kSmaller ? stand_in.requests.cpu_milli : 0,
                             !wanted->node_name.empty() && parts[k]->node_name != wanted->node_name};
        if (best && best_fit <= fit) continue;
        best = k;
        best_fit = fit;
      }
      EXPECT_EQ(held.BestFor(*wanted), best);
      for (int n = 0; n < 5; ++n) {
        const std::string name = "n" + std::to_string(n);
        EXPECT_EQ(held.HasOn(name), nodes.contains(name));
      }
      EXPECT_EQ(held.empty(), nodes.empty());
    }
  }
}

}  // namespace
}  // namespace berth::scheduler
