// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/cluster_use.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/cache/cache.h"
#include "berth/testing/builders.h"

namespace berth::whatif {
namespace {

using testing::MakeNode;
using testing::MakePod;

bool IsSame(const ClusterUse& a, const ClusterUse& b) {
  return a.nodes == b.nodes && a.used_nodes == b.used_nodes && a.pods == b.pods && a.cpu_milli == b.cpu_milli &&
         a.cpu_milli_of == b.cpu_milli_of && a.memory_bytes == b.memory_bytes &&
         a.memory_bytes_of == b.memory_bytes_of && a.priced_nodes == b.priced_nodes && a.price_micro == b.price_micro &&
         a.used_price_micro == b.used_price_micro;
}

// The plain twin reads all nodes at each look.
TEST(NodeUseTableTest, ALookAtWhatHasChangedFindsTheSameAsALookAtAll) {
  Random random(1);
  cache::Cache cluster;
  NodeUseTable table;
  int pods = 0;
  std::map<std::string, NodeUse> before;
  for (int step = 0; step < 300; ++step) {
    for (std::uint64_t changes = random.Below(step % 50 == 0 ? 3'000 : 6); changes > 0; --changes) {
      const std::string node = "n" + std::to_string(random.Below(20));
      const std::uint64_t what = random.Below(12);
      if (what == 0) {
        cluster.RemoveNode(node);
      } else if (what < 3) {
        auto made = MakeNode(node).Allocatable("cpu", std::to_string(1 + random.Below(4)));
        if (random.Below(2) == 0) made.Annotation("berth.dev/price", "0.50").Label(kZoneLabel, "a");
        cluster.SetNode(made.Build());
      } else if (what < 8) {
        auto made = MakePod("p" + std::to_string(pods++)).Node(node).Request("cpu", "100m");
        if (random.Below(3) == 0) made.Controller("apps/v1", "DaemonSet", "agent");
        cluster.SetPod(made.Info());
      } else if (pods > 0) {
        cluster.RemovePod(MakePod("p" + std::to_string(random.Below(static_cast<std::uint64_t>(pods)))).Info()->uid);
      }
    }
    NodeUseTable::Changes changes;
    table.Update(cluster.nodes(), &changes);
    const std::map<std::string, NodeUse> now = NodeUses(cluster.nodes());
    ASSERT_TRUE(IsSame(table.sum(), Sum(now))) << step;
    for (const auto& [name, use] : changes.before) EXPECT_EQ(before.at(name), use) << name;
    for (const auto& [name, use] : changes.after) EXPECT_EQ(now.at(name), use) << name;
    // All that differs is told.
    for (const auto& [name, use] : now) {
      const bool is_same = before.contains(name) && before.at(name) == use;
      EXPECT_TRUE(is_same || changes.after.contains(name)) << name;
    }
    for (const auto& [name, use] : before) {
      const bool is_same = now.contains(name) && now.at(name) == use;
      EXPECT_TRUE(is_same || changes.before.contains(name)) << name;
    }
    before = now;
  }
}

}  // namespace
}  // namespace berth::whatif
