// SPDX-License-Identifier: Apache-2.0
// What is kept of running pods by class, by selector and sparsely, equals what is counted from scratch.
#include "berth/plugins/pod_topology_spread/selector_counts.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/cache/column_node_table.h"
#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::PodInfo;
using framework::PodInfoPtr;
using testing::MakeNode;
using testing::MakePod;

using Counts = std::map<std::uint32_t, std::int32_t>;

Counts AsMap(const SparseCounts& counts) {
  Counts map;
  std::int64_t last = -1;
  counts.ForEach([&](std::uint32_t index, std::int32_t count) {
    EXPECT_GT(std::int64_t{index}, last) << "ascending";
    last = index;
    map[index] = count;
  });
  EXPECT_EQ(map.size(), counts.size());
  return map;
}

TEST(SparseCounts, CountAsAMapDoesWhateverTheirShape) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    SparseCounts counts;
    Counts want;
    // Phases of many small indexes and of few large ones: from a list to an array and back.
    for (int step = 0; step < 3000; ++step) {
      const std::uint64_t range = step / 500 % 2 == 0 ? 40 + 100 * seed : 100'000;
      const auto index = static_cast<std::uint32_t>(random.Below(range));
      const std::int32_t difference = random.Below(2) == 0 ? -want[index] : static_cast<std::int32_t>(random.Below(5));
      want[index] += difference;
      ASSERT_EQ(counts.Add(index, difference), want[index]);
      std::erase_if(want, [](const auto& entry) { return entry.second == 0; });
      const auto other = static_cast<std::uint32_t>(random.Below(range));
      ASSERT_EQ(counts.Get(other), want.contains(other) ? want[other] : 0);
    }
    EXPECT_EQ(AsMap(counts), want);
    for (const std::size_t lookups : {std::size_t{1}, std::size_t{100'000}}) {
      const CountReader reader(counts, lookups);
      for (std::uint32_t i = 0; i < 100'100; i += 7) ASSERT_EQ(reader[i], want.contains(i) ? want[i] : 0);
    }
    counts.Assign({{7, 1}, {3, 2}, {7, 2}, {5, 0}, {9, 1}, {9, -1}}, seed % 2 == 0 ? 10 : 100'000);
    EXPECT_EQ(AsMap(counts), (Counts{{3, 2}, {7, 3}}));
    counts.Clear();
    EXPECT_EQ(AsMap(counts), Counts());
  }
}

TEST(SparseCounts, FewCountsTakeLittleRoom) {
  SparseCounts counts;
  for (int i = 0; i < 100; ++i) counts.Add(static_cast<std::uint32_t>(i) * 1000, 1);
  EXPECT_LT(counts.Bytes(), 4096u);
  SparseCounts histogram;
  for (std::uint32_t i = 1; i < 100'000; ++i) {
    histogram.Add(i, 1);
    histogram.Add(i - 1, i > 1 ? -1 : 0);
  }
  EXPECT_LT(histogram.Bytes(), 4096u) << "of one domain with ever more pods";
}

Counts CountedOn(const cache::ColumnNodeTable& table, const std::string& namespace_name,
                 const std::optional<api::LabelSelector>& selector) {
  Counts counts;
  if (!selector || selector->requirements.empty()) return counts;
  for (const NodeIndex row : table.rows()) {
    for (const PodInfoPtr& pod : table.Info(row).pods()) {
      if (pod->deletion_time || pod->namespace_name() != namespace_name || !selector->Matches(pod->labels())) continue;
      ++counts[row];
    }
  }
  return counts;
}

struct Kept {
  std::string namespace_name;
  std::optional<api::LabelSelector> selector;
  std::unique_ptr<SelectorCounts> counts;
  std::uint64_t epoch = 0;
};

std::vector<Kept> SomeSelectors() {
  using testing::In;
  std::vector<Kept> kept;
  for (const char* name : {"default", "other"}) {
    kept.push_back({name, std::nullopt, {}, 0});
    kept.push_back({name, api::LabelSelector(), {}, 0});
    kept.push_back({name, api::LabelSelector{{In("app", {"a"})}}, {}, 0});
    kept.push_back({name, api::LabelSelector{{In("app", {"a", "b", "a"})}}, {}, 0});
    kept.push_back({name, api::LabelSelector{{In("app", {"b"}), In("rev", {"1"})}}, {}, 0});
    kept.push_back({name, api::LabelSelector{{testing::Exists("app")}}, {}, 0});
    kept.push_back({name, api::LabelSelector{{testing::NotIn("app", {"c"})}}, {}, 0});
    kept.push_back({name, api::LabelSelector{{In("app", {"nobody"})}}, {}, 0});
  }
  return kept;
}

void ExpectRight(Kept& kept, const PodIndex& index, const cache::ColumnNodeTable& table) {
  if (kept.counts == nullptr || kept.epoch != index.epoch()) {
    kept.counts = std::make_unique<SelectorCounts>(kept.namespace_name, kept.selector);
    kept.epoch = index.epoch();
  }
  kept.counts->Update(index, table.row_count());
  EXPECT_EQ(AsMap(kept.counts->by_row()), CountedOn(table, kept.namespace_name, kept.selector));
}

TEST(SelectorCounts, FollowPodsAndNodesThatComeAndGo) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const auto pick = [&random](std::initializer_list<const char*> all) {
      return std::string(all.begin()[random.Below(all.size())]);
    };
    cache::ColumnNodeTable table;
    std::vector<std::pair<NodeIndex, PodInfoPtr>> running;
    PodIndex index;
    std::vector<Kept> kept = SomeSelectors();
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t what = random.Below(20);
      const std::string node = "n" + std::to_string(random.Below(8));
      if (what < 3) {
        table.SetNode(MakeNode(node).Build());
      } else if (what == 3) {
        table.RemoveNode(node);
      } else if (what < 13 || running.empty()) {
        auto pod = MakePod("r" + std::to_string(step)).Node(node).Namespace(pick({"default", "other"}));
        if (random.Below(4) > 0) pod.Label("app", pick({"a", "b", "c"}));
        if (random.Below(2) > 0) pod.Label("rev", pick({"1", "2"}));
        if (random.Below(8) == 0) pod.Deleted(Time{});
        running.emplace_back(0, pod.Info());
        running.back().first = table.AddPod(running.back().second);
      } else {
        const std::size_t i = random.Below(running.size());
        if (what == 13) {
          auto ending = std::make_shared<PodInfo>(*running[i].second);
          ending->deletion_time = Time{};
          running[i].second = ending;
          table.UpdatePod(running[i].first, ending);
        } else {
          table.RemovePod(running[i].first, running[i].second->uid);
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      if (random.Below(3) == 0) index.Sync(table);
      if (random.Below(4) != 0) continue;
      index.Sync(table);
      ExpectRight(kept[random.Below(kept.size())], index, table);
      if (HasFailure()) FAIL() << "replay with seed " << seed << ", step " << step;
    }
  }
}

class PodIndexTest : public ::testing::Test {
 protected:
  PodIndexTest() {
    table_.SetNode(MakeNode("a").Build());
    table_.SetNode(MakeNode("b").Build());
  }

  // Pods that come and go again, each looked at in between.
  void ComeAndGo(const PodInfoPtr& pod, int times) {
    for (; times > 0; --times) {
      const NodeIndex row = table_.AddPod(pod);
      index_.Sync(table_);
      table_.RemovePod(row, pod->uid);
      index_.Sync(table_);
    }
  }

  cache::ColumnNodeTable table_;
  PodIndex index_;
  Kept web_{"default", api::LabelSelector{{testing::In("app", {"web"})}}, {}, 0};
};

TEST_F(PodIndexTest, CountsWhoWasAwayForLongRecount) {
  table_.AddPod(MakePod("w1").Label("app", "web").Node("a").Info());
  index_.Sync(table_);
  ExpectRight(web_, index_, table_);
  const std::uint64_t position = index_.log_end();
  const std::uint64_t epoch = index_.epoch();
  table_.AddPod(MakePod("w2").Label("app", "web").Node("b").Info());
  ComeAndGo(MakePod("db").Label("app", "db").Node("a").Info(), static_cast<int>(PodIndex::kLogMax / 2) + 1);
  EXPECT_FALSE(index_.HasLogSince(position));
  EXPECT_EQ(index_.epoch(), epoch);
  ExpectRight(web_, index_, table_);
}

TEST_F(PodIndexTest, ForgetsClassesThatNobodyRuns) {
  table_.AddPod(MakePod("w1").Label("app", "web").Node("a").Info());
  index_.Sync(table_);
  ExpectRight(web_, index_, table_);
  const std::uint64_t epoch = index_.epoch();
  std::size_t slots_max = 0;
  for (int i = 0; i < 6000; ++i) {
    ComeAndGo(MakePod("p").Label("app", "x" + std::to_string(i)).Node("a").Info(), 1);
    slots_max = std::max(slots_max, index_.slot_count());
  }
  EXPECT_GT(index_.epoch(), epoch);
  EXPECT_LE(slots_max, PodIndex::kDeadSlotsMax + 10);
  ExpectRight(web_, index_, table_);
}

TEST_F(PodIndexTest, ForgetsLargeClassesThatNobodyRuns) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  table_.AddPod(MakePod("w1").Label("app", "web").Node("a").Info());
  std::size_t slots_max = 0;
  for (int i = 0; i < 100; ++i) {
    const auto pod = std::make_shared<framework::PodInfo>(*MakePod("p").Node("a").Info());
    const auto large = std::make_shared<framework::PodClass>(*pod->pod_class);
    large->bytes = kBytes;
    pod->pod_class = large;
    ComeAndGo(pod, 1);
    slots_max = std::max(slots_max, index_.slot_count());
  }
  EXPECT_LE(slots_max, PodIndex::kDeadBytesMax / kBytes + 3);
  ExpectRight(web_, index_, table_);
}

TEST_F(PodIndexTest, ASelectorIsAskedAboutFewClasses) {
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    table_.AddPod(MakePod("p" + number).Label("app", "web").Label("id", number).Node("a").Info());
  }
  index_.Sync(table_);
  const auto candidates = [this](const api::LabelSelector& selector, PodIndex::SlotId first) {
    std::vector<PodIndex::SlotId> found;
    index_.CollectCandidates("default", selector, first, found);
    return found;
  };
  using testing::In;
  EXPECT_EQ(candidates({{In("app", {"web"}), In("id", {"7"})}}, 0).size(), 1u);
  EXPECT_EQ(candidates({{In("id", {"7", "8", "7"})}}, 0), (std::vector<PodIndex::SlotId>{7, 8}));
  EXPECT_EQ(candidates({{In("id", {"7"})}}, 8).size(), 0u) << "only those that are new";
  EXPECT_EQ(candidates({{testing::Exists("app")}}, 90).size(), 10u);
}

TEST_F(PodIndexTest, AnotherTableAtTheSameAddressIsAnother) {
  auto table = std::make_unique<cache::ColumnNodeTable>();
  table->SetNode(MakeNode("a").Build());
  table->AddPod(MakePod("w").Label("app", "web").Node("a").Info());
  index_.Sync(*table);
  ExpectRight(web_, index_, *table);
  const std::uint64_t epoch = index_.epoch();
  *table = cache::ColumnNodeTable();
  index_.Sync(*table);
  EXPECT_GT(index_.epoch(), epoch);
  ExpectRight(web_, index_, *table);
}

}  // namespace
}  // namespace berth::plugins
