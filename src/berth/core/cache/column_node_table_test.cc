// SPDX-License-Identifier: Apache-2.0
#include "berth/core/cache/column_node_table.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/testing/builders.h"

namespace berth::cache {
namespace {

using api::TaintEffect;
using framework::NodeIndex;
using testing::MakeNode;
using testing::MakePod;

std::vector<NodeIndex> Changed(const ColumnNodeTable& table, std::uint64_t since) {
  const auto changed = table.ChangedSince(since);
  return changed ? std::vector<NodeIndex>(changed->begin(), changed->end()) : std::vector<NodeIndex>{12345};
}

std::vector<std::uint32_t> PodsKept(const ColumnNodeTable& table, std::uint64_t since) {
  const auto kept = table.PodsKeptSince(since);
  return {kept.begin(), kept.end()};
}

TEST(ColumnNodeTable, ANodeKeepsItsRow) {
  ColumnNodeTable table;
  const NodeIndex a = table.SetNode(MakeNode("a").Build());
  const NodeIndex b = table.SetNode(MakeNode("b").Build());
  const NodeIndex c = table.SetNode(MakeNode("c").Build());
  EXPECT_EQ(table.row_count(), 3u);
  table.RemoveNode("b");
  EXPECT_EQ(table.Find("a"), a);
  EXPECT_EQ(table.Find("b"), framework::kNoNode);
  EXPECT_EQ(table.Find("c"), c);
  EXPECT_EQ(table.node_count(), 2u);
  EXPECT_EQ(std::vector<NodeIndex>(table.rows().begin(), table.rows().end()), (std::vector<NodeIndex>{a, c}));
  EXPECT_EQ(table.SetNode(MakeNode("a").Label("x", "y").Build()), a);
  // The row of a deleted node is reused, which counts as a change.
  const std::uint64_t version = table.version();
  EXPECT_EQ(table.SetNode(MakeNode("d").Build()), b);
  EXPECT_EQ(table.row_count(), 3u);
  EXPECT_EQ(Changed(table, version), std::vector<NodeIndex>{b});
  table.RemoveNode("nobody");
}

TEST(ColumnNodeTable, PodsMayComeBeforeTheirNode) {
  ColumnNodeTable table;
  const auto pod = MakePod("p").Node("a").Request("cpu", "2").Info();
  const NodeIndex row = table.AddPod(pod);
  EXPECT_EQ(table.Find("a"), framework::kNoNode);
  EXPECT_EQ(table.node_count(), 0u);
  EXPECT_EQ(table.row_count(), 1u);
  EXPECT_EQ(table.SetNode(MakeNode("a").Build()), row);
  EXPECT_EQ(table.columns().requested_cpu_milli[row], 2000);
  EXPECT_EQ(table.columns().pod_count[row], 1);
  // The row is freed when both the node and its pods are gone.
  table.RemoveNode("a");
  EXPECT_NE(table.SetNode(MakeNode("b").Build()), row);
  table.RemovePod(row, pod->uid);
  EXPECT_EQ(table.SetNode(MakeNode("c").Build()), row);
  EXPECT_EQ(table.columns().requested_cpu_milli[row], 0);
  EXPECT_EQ(table.columns().pod_count[row], 0);
}

TEST(ColumnNodeTable, HeartbeatsChangeNothing) {
  ColumnNodeTable table;
  auto node = std::make_shared<api::Node>(*MakeNode("a").Label("zone", "1").Image({"i:1"}, 5).Build());
  node->conditions = {{"Ready", "True"}};
  table.SetNode(node);
  const std::uint64_t version = table.version();
  const std::uint64_t nodes_version = table.nodes_version();
  auto beat = std::make_shared<api::Node>(*node);
  beat->metadata.resource_version = "99";
  table.SetNode(beat);
  EXPECT_EQ(table.version(), version);
  EXPECT_EQ(table.nodes_version(), nodes_version);
  EXPECT_EQ(&table.Info(0).node(), beat.get());
  EXPECT_EQ(table.ImageNodeCount("i:1"), 1);

  const struct {
    const char* name;
    std::function<void(api::Node&)> change;
  } cases[] = {
      {"unschedulable", [](api::Node& n) { n.unschedulable = true; }},
      {"taint", [](api::Node& n) { n.taints = {{"k", "", TaintEffect::kNoSchedule}}; }},
      {"allocatable", [](api::Node& n) { n.allocatable = testing::Resources({{"cpu", "9"}}); }},
      {"image", [](api::Node& n) { n.images.clear(); }},
      {"label", [](api::Node& n) { n.metadata.labels.Set("zone", "2"); }},
      {"annotation", [](api::Node& n) { n.metadata.annotations.Set("a", "b"); }},
      {"condition", [](api::Node& n) { n.conditions = {{"Ready", "False"}}; }},
      {"declared feature", [](api::Node& n) { n.declared_features = {"f"}; }},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const std::uint64_t before = table.version();
    const std::uint64_t nodes_before = table.nodes_version();
    test.change(*(node = std::make_shared<api::Node>(*node)));
    table.SetNode(node);
    EXPECT_EQ(Changed(table, before), std::vector<NodeIndex>{0});
    EXPECT_GT(table.nodes_version(), nodes_before);
  }
}

TEST(ColumnNodeTable, PodsChangeTheirRowAndNotTheNodes) {
  ColumnNodeTable table;
  table.SetNode(MakeNode("a").Build());
  const NodeIndex b = table.SetNode(MakeNode("b").Build());
  const std::uint64_t nodes_version = table.nodes_version();
  const auto pod = MakePod("p").Node("b").Request("cpu", "1").Info();
  std::uint64_t version = table.version();
  table.AddPod(pod);
  EXPECT_EQ(Changed(table, version), std::vector<NodeIndex>{b});
  // An update within the same class, such as a status patch, changes no version.
  version = table.version();
  auto same = std::make_shared<framework::PodInfo>(*pod);
  same->resource_version = "2";
  table.UpdatePod(b, same);
  EXPECT_EQ(table.version(), version);
  EXPECT_EQ(table.Info(b).pods()[0], same);
  // The start of a pod's deletion keeps the class, but changes the version.
  auto ending = std::make_shared<framework::PodInfo>(*same);
  ending->deletion_time = Time{};
  table.UpdatePod(b, ending);
  EXPECT_EQ(Changed(table, version), std::vector<NodeIndex>{b});
  version = table.version();
  table.UpdatePod(b, MakePod("p").Node("b").Request("cpu", "3").Info());
  EXPECT_EQ(Changed(table, version), std::vector<NodeIndex>{b});
  EXPECT_EQ(table.columns().requested_cpu_milli[b], 3000);
  version = table.version();
  table.RemovePod(b, pod->uid);
  EXPECT_EQ(Changed(table, version), std::vector<NodeIndex>{b});
  EXPECT_EQ(table.nodes_version(), nodes_version);
}

TEST(ColumnNodeTable, ReportsHowManyPodsOfARowAChangeLeftAlone) {
  ColumnNodeTable table;
  const NodeIndex a = table.SetNode(MakeNode("a").Build());
  const auto p = MakePod("p").Node("a").Info();
  const std::uint64_t start = table.version();
  table.AddPod(p);
  table.AddPod(MakePod("q").Node("a").Info());
  table.AddPod(MakePod("r").Node("a").Info());
  EXPECT_EQ(PodsKept(table, start), (std::vector<std::uint32_t>{0, 1, 2}));
  std::uint64_t version = table.version();
  auto ending = std::make_shared<framework::PodInfo>(*p);
  ending->deletion_time = Time{};
  table.UpdatePod(a, p, ending);
  table.RecordChange(a);
  table.RemovePod(a, "uid-default-q");  // r takes its place in the list
  EXPECT_EQ(PodsKept(table, version), (std::vector<std::uint32_t>{0, 3, 1}));
  version = table.version();
  table.SetNode(MakeNode("a").Unschedulable().Build());
  table.RemoveNode("a");
  EXPECT_EQ(PodsKept(table, version), (std::vector<std::uint32_t>{0, 0}));
}

TEST(ColumnNodeTable, LabelColumnsAreKeptUpToDate) {
  ColumnNodeTable table;
  const NodeIndex a = table.SetNode(MakeNode("a").Label("zone", "1").Build());
  const NodeIndex b = table.SetNode(MakeNode("b").Build());
  const auto value = [&](NodeIndex row) { return std::string(table.Value(table.LabelColumn("zone")[row])); };
  EXPECT_EQ(value(a), "1");
  EXPECT_EQ(table.LabelColumn("zone")[b], 0u);
  EXPECT_EQ(table.FindValue("1"), table.LabelColumn("zone")[a]);
  EXPECT_EQ(table.FindValue("2"), std::nullopt);
  table.SetNode(MakeNode("b").Label("zone", "2").Build());
  EXPECT_EQ(value(b), "2");
  const NodeIndex c = table.SetNode(MakeNode("c").Label("zone", "1").Build());
  EXPECT_EQ(table.LabelColumn("zone")[c], table.LabelColumn("zone")[a]);
  table.SetNode(MakeNode("a").Build());
  EXPECT_EQ(table.LabelColumn("zone")[a], 0u);
  table.RemoveNode("c");
  EXPECT_EQ(table.LabelColumn("zone")[c], 0u);
  // A label with an empty value differs from an absent label.
  table.SetNode(MakeNode("b").Label("zone", "").Build());
  EXPECT_NE(table.LabelColumn("zone")[b], 0u);
}

TEST(ColumnNodeTable, LabelColumnsAreBounded) {
  ColumnNodeTable table;
  const NodeIndex a = table.SetNode(MakeNode("a").Label("zone", "1").Build());
  for (std::size_t i = 0; i <= ColumnNodeTable::kLabelColumnsMax; ++i) {
    const std::string key = "key" + std::to_string(i);
    table.SetNode(MakeNode("c").Label(key, "1").Build());
    table.LabelColumn(key);
  }
  table.LabelColumn("zone");
  table.SetNode(MakeNode("b").Build());
  EXPECT_EQ(table.FindValue("1"), std::nullopt);
  EXPECT_EQ(table.Value(table.LabelColumn("zone")[a]), "1");
}

// A pod may name any number of label keys.
TEST(ColumnNodeTable, KeysThatNoNodeHasShareAColumn) {
  ColumnNodeTable table;
  const NodeIndex a = table.SetNode(MakeNode("a").Build());
  const auto* shared = table.LabelColumn("zone").data();
  EXPECT_EQ(table.LabelColumn("zone")[a], 0u);
  EXPECT_EQ(table.LabelColumn("rack").data(), shared);
  table.SetNode(MakeNode("a").Label("zone", "1").Build());
  EXPECT_EQ(table.Value(table.LabelColumn("zone")[a]), "1");
  EXPECT_EQ(table.LabelColumn("rack").data(), shared);
  const NodeIndex b = table.SetNode(MakeNode("b").Label("rack", "2").Build());
  EXPECT_EQ(table.Value(table.LabelColumn("rack")[b]), "2");
  EXPECT_EQ(table.LabelColumn("row").size(), 2u) << "it grows with the table";
  table.RemoveNode("b");
  EXPECT_EQ(table.LabelColumn("rack")[b], 0u);
}

TEST(ColumnNodeTable, TaintSetsAreSharedAndReused) {
  ColumnNodeTable table;
  const auto tainted = [](const char* name, const char* key) {
    return MakeNode(name).Taint(key, "", TaintEffect::kNoSchedule).Build();
  };
  const NodeIndex a = table.SetNode(tainted("a", "gpu"));
  const NodeIndex b = table.SetNode(tainted("b", "gpu"));
  const NodeIndex c = table.SetNode(MakeNode("c").Build());
  const auto& sets = table.columns().taint_set;
  EXPECT_EQ(sets[a], sets[b]);
  EXPECT_EQ(sets[c], 0u);
  EXPECT_EQ(table.TaintSet(sets[a])[0].key, "gpu");
  EXPECT_TRUE(table.TaintSet(0).empty());
  table.RemoveNode("a");
  EXPECT_EQ(sets[a], 0u);
  EXPECT_EQ(table.TaintSet(sets[b])[0].key, "gpu");
  // No node has the taint set any more, so that its id is free.
  const std::uint32_t old = sets[b];
  const std::size_t count = table.taint_set_count();
  table.SetNode(tainted("b", "spot"));
  table.SetNode(tainted("c", "gpu"));
  EXPECT_LE(table.taint_set_count(), count + 1);
  EXPECT_EQ(table.TaintSet(sets[b])[0].key, "spot");
  EXPECT_EQ(table.TaintSet(sets[c])[0].key, "gpu");
  EXPECT_TRUE(sets[b] == old || sets[c] == old);
}

TEST(ColumnNodeTable, ImagesAreCounted) {
  ColumnNodeTable table;
  table.SetNode(MakeNode("a").Image({"i:1", "i@sha"}, 100).Image({"i:1"}, 999).Build());
  table.SetNode(MakeNode("b").Image({"i:1"}, 300).Build());
  EXPECT_EQ(table.ImageNodeCount("i:1"), 2);
  EXPECT_EQ(table.ImageNodeCount("i@sha"), 1);
  const auto rows = [&](const char* image) {
    const auto found = table.ImageRows(image);
    return std::vector<NodeIndex>(found.begin(), found.end());
  };
  EXPECT_EQ(rows("i:1"), (std::vector<NodeIndex>{0, 1}));
  // The size is that of the first node with the image.
  EXPECT_EQ(table.ImageSizeBytes("i:1"), 100);
  table.SetNode(MakeNode("a").Build());
  EXPECT_EQ(table.ImageNodeCount("i:1"), 1);
  EXPECT_EQ(rows("i:1"), (std::vector<NodeIndex>{1}));
  EXPECT_EQ(table.ImageNodeCount("i@sha"), 0);
  EXPECT_TRUE(rows("i@sha").empty());
  EXPECT_EQ(table.ImageSizeBytes("i@sha"), 0);
  table.RemoveNode("b");
  EXPECT_EQ(table.ImageNodeCount("i:1"), 0);
  table.SetNode(MakeNode("c").Image({"i:1"}, 300).Build());
  EXPECT_EQ(table.ImageSizeBytes("i:1"), 300);
}

TEST(ColumnNodeTable, TheChangeLogIsBounded) {
  ColumnNodeTable table;
  table.SetNode(MakeNode("a").Build());
  const std::uint64_t start = table.version();
  const auto pod = MakePod("p").Node("a").Info();
  std::size_t longest = 0;
  std::uint64_t before = start;
  for (int i = 0; i < 10'000; ++i) {
    before = table.version();
    table.RemovePod(table.AddPod(pod), pod->uid);
    longest = std::max(longest, table.ChangedSince(start) ? table.ChangedSince(start)->size() : 0);
  }
  EXPECT_EQ(table.ChangedSince(start), std::nullopt);
  EXPECT_EQ(Changed(table, before), (std::vector<NodeIndex>{0, 0}));
  EXPECT_TRUE(Changed(table, table.version()).empty());
  EXPECT_LE(longest, 2u * 1 + 1024 + 1);
  EXPECT_EQ(PodsKept(table, before), (std::vector<std::uint32_t>{0, 0}));
}

// ---- The incrementally updated table equals a rebuilt one ----

// The visible content of the table, by node and without ids.
std::string Describe(const ColumnNodeTable& table) {
  std::map<std::string, std::string> lines;
  const auto& c = table.columns();
  for (const NodeIndex row : table.rows()) {
    std::string line;
    for (const auto* column :
         {&c.allocatable_cpu_milli, &c.allocatable_memory_bytes, &c.allocatable_ephemeral_bytes, &c.allocatable_pods,
          &c.requested_cpu_milli, &c.requested_memory_bytes, &c.requested_ephemeral_bytes, &c.nonzero_cpu_milli,
          &c.nonzero_memory_bytes, &c.pod_count}) {
      line += " " + std::to_string((*column)[row]);
    }
    line += " " + std::to_string(c.reciprocal_cpu[row]) + " " + std::to_string(c.reciprocal_memory[row]);
    line += c.is_unusual[row] != 0 ? " unusual" : "";
    line += c.is_unschedulable[row] != 0 ? " cordoned" : "";
    for (const api::Taint& taint : table.TaintSet(c.taint_set[row])) {
      line += " taint:" + taint.key + std::to_string(static_cast<int>(taint.effect));
    }
    for (const char* key : {"zone", "disk"}) {
      const framework::ValueId id = table.LabelColumn(key)[row];
      if (id != 0) line += std::string(" ") + key + "=" + std::string(table.Value(id));
    }
    std::multiset<std::string> pods;
    for (const auto& pod : table.Info(row).pods()) pods.insert(pod->uid);
    for (const std::string& uid : pods) line += " " + uid;
    for (const auto& [name, amount] : table.Info(row).requested().scalars) line += amount != 0 ? " " + name : "";
    lines[table.Info(row).name()] = line;
  }
  std::string text;
  for (const auto& [name, line] : lines) text += name + ":" + line + "\n";
  text += std::to_string(c.unschedulable_count) + " cordoned, " + std::to_string(c.tainted_count) + " tainted, " +
          std::to_string(c.unusual_count) + " unusual\n";
  for (const char* image : {"a:1", "b:1"})
    text += std::string(image) + " " + std::to_string(table.ImageNodeCount(image)) + "\n";
  return text;
}

class IncrementalEqualsRebuilt : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(IncrementalEqualsRebuilt, OverALongLife) {
  Random random(GetParam());
  const auto below = [&](int n) { return static_cast<int>(random.Below(static_cast<std::uint64_t>(n))); };
  const auto pick = [&](std::initializer_list<const char*> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  };
  const auto node_name = [&] { return "n" + std::to_string(below(8)); };
  ColumnNodeTable table;
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  std::map<std::string, std::pair<NodeIndex, framework::PodInfoPtr>> pods;
  const auto random_pod = [&](const std::string& uid, const std::string& node) {
    auto pod = MakePod("p")
                   .Uid(uid)
                   .Node(node)
                   .Request("cpu", pick({"100m", "1"}))
                   .Request("example.com/gpu", pick({"0", "1"}));
    if (below(3) == 0) pod.HostPort(80 + below(2));
    return pod.Info();
  };
  std::uint64_t seen = 0;
  std::string before = Describe(table);
  // The classes of each row's pods when they were last compared.
  std::vector<std::vector<const framework::PodClass*>> classes;
  std::uint64_t looked = table.version();
  for (int step = 0; step < 300; ++step) {
    switch (below(7)) {
      case 0:
      case 1: {
        auto node = MakeNode(node_name()).Allocatable("cpu", pick({"1", "2", "0", "1000000000000000"}));
        if (below(2) == 0) node.Label("zone", pick({"1", "2", ""}));
        if (below(2) == 0) node.Taint(pick({"gpu", "spot"}), "", TaintEffect::kNoSchedule);
        if (below(4) == 0) node.Unschedulable();
        if (below(2) == 0) node.Image({pick({"a:1", "b:1"})}, 100);
        const auto object = node.Build();
        nodes[object->metadata.name] = object;
        table.SetNode(object);
        break;
      }
      case 2: {
        const std::string name = node_name();
        nodes.erase(name);
        table.RemoveNode(name);
        break;
      }
      case 3:
      case 4: {
        const std::string uid = "u" + std::to_string(step);
        const auto pod = random_pod(uid, node_name());
        pods[uid] = {table.AddPod(pod), pod};
        break;
      }
      case 5:
        if (!pods.empty()) {
          const auto it = std::next(pods.begin(), below(static_cast<int>(pods.size())));
          table.RemovePod(it->second.first, it->first);
          pods.erase(it);
        }
        break;
      default:
        if (!pods.empty()) {
          const auto it = std::next(pods.begin(), below(static_cast<int>(pods.size())));
          it->second.second = random_pod(it->first, it->second.second->node_name);
          table.UpdatePod(it->second.first, it->second.second);
        }
    }
    if (below(20) == 0) table.LabelColumn(pick({"zone", "disk"}));
    ColumnNodeTable fresh;
    for (const auto& [name, node] : nodes) fresh.SetNode(node);
    for (const auto& [uid, entry] : pods) fresh.AddPod(entry.second);
    const std::string now = Describe(table);
    ASSERT_EQ(now, Describe(fresh)) << "step " << step << ", replay with seed " << GetParam();
    // The visible content may only change together with the version.
    if (now != before) {
      ASSERT_GT(table.version(), seen) << "step " << step << ", replay with seed " << GetParam();
    }
    before = now;
    seen = table.version();
    if (below(4) == 0) {
      const std::vector<NodeIndex> changed = Changed(table, looked);
      const std::vector<std::uint32_t> pods_kept = PodsKept(table, looked);
      looked = table.version();
      classes.resize(table.row_count());
      for (NodeIndex row = 0; row < table.row_count(); ++row) {
        const auto& now_there = table.Info(row).pods();
        std::size_t kept =
            std::find(changed.begin(), changed.end(), row) == changed.end() ? now_there.size() : SIZE_MAX;
        for (std::size_t i = 0; i < changed.size(); ++i) {
          if (changed[i] == row) kept = std::min<std::size_t>(kept, pods_kept[i]);
        }
        for (std::size_t i = 0; i < std::min({kept, now_there.size(), classes[row].size()}); ++i)
          ASSERT_EQ(now_there[i]->pod_class.get(), classes[row][i]) << "step " << step << ", seed " << GetParam();
        classes[row].clear();
        for (const auto& pod : now_there) classes[row].push_back(pod->pod_class.get());
      }
    }
    ASSERT_TRUE(std::is_sorted(table.rows().begin(), table.rows().end()));
  }
  // Rows are reused: there are at most as many as names were in use at a time.
  EXPECT_LE(table.row_count(), 8u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, IncrementalEqualsRebuilt, ::testing::Range<std::uint64_t>(1, 31));

TEST(NodeInfo, OneOfTwoPodsWithOnePortFreesIt) {
  framework::NodeInfo node;
  const auto one = testing::MakePod("one").HostPort(80).Info();
  const auto two = testing::MakePod("two").HostPort(80).HostPort(81).Info();
  node.AddPod(one);
  node.AddPod(two);
  EXPECT_EQ(node.used_ports().size(), 2u);
  node.RemovePod(one->uid);
  ASSERT_EQ(node.used_ports().size(), 1u);
  EXPECT_EQ(node.used_ports().front().port, 81);
}

TEST(NodeInfo, TheLowestPriorityIsThatOfItsPods) {
  constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
  Random random(1);
  framework::NodeInfo node;
  EXPECT_EQ(node.lowest_priority(), kNone);
  for (int step = 0; step < 2000; ++step) {
    const std::string name = "p" + std::to_string(random.Below(12));
    auto pod = testing::MakePod(name).Priority(static_cast<std::int32_t>(random.Below(4)) * 10 - 20).Info();
    if (random.Below(2) == 0) {
      node.RemovePod(pod->uid);
    } else if (!node.UpdatePod(pod)) {
      node.AddPod(pod);
    }
    std::int32_t lowest = kNone;
    for (const framework::PodInfoPtr& each : node.pods()) lowest = std::min(lowest, each->priority());
    ASSERT_EQ(node.lowest_priority(), lowest) << "step " << step;
  }
}

}  // namespace
}  // namespace berth::cache
