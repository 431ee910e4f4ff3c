// SPDX-License-Identifier: Apache-2.0
// Column form = plain form, over random pools, classes, claims and pods, while claims come and go. A failure prints the
// seed that replays it.
#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/dynamic_resources/device_testing.h"

namespace berth::plugins {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  bool OneIn(std::uint64_t n) { return random_.Below(n) == 0; }
  int Below(int n) { return static_cast<int>(random_.Below(static_cast<std::uint64_t>(n))); }
  std::string Pick(std::initializer_list<const char*> choices) {
    return choices.begin()[random_.Below(choices.size())];
  }

 private:
  Random random_;
};

std::string Device(Dice& dice, int i) {
  std::string device = "{'name': 'd" + std::to_string(i) +
                       "', 'attributes': {'n': {'int': " + std::to_string(dice.Below(3)) + "}, 'm': {'string': '" +
                       dice.Pick({"x", "y"}) + "'}}";
  if (dice.OneIn(4)) device += ", 'taints': [{'key': 'k', 'effect': 'NoSchedule'}]";
  if (dice.OneIn(6)) device += ", 'bindingConditions': ['ready']";
  if (dice.OneIn(3)) {
    device += ", 'allowMultipleAllocations': true, 'capacity': {'bw': {'value': '4'}}";
  }
  if (dice.OneIn(3)) device += ", " + dice.Pick({"'nodeName': 'n1'", "'allNodes': true", "'nodeName': 'n2'"});
  return device + "}";
}

std::string Selectors(Dice& dice) {
  return Cel(dice.Pick({"true", R"(device.attributes[\u0022d\u0022].n > 0)",
                        R"(device.attributes[\u0022d\u0022].m == \u0022x\u0022)", "!device.allowMultipleAllocations"}));
}

void AddSlices(Dice& dice, DeviceCluster& cluster) {
  for (int s = 2 + dice.Below(6); s > 0; --s) {
    std::string devices;
    for (int i = dice.Below(4); i > 0; --i) devices += (devices.empty() ? "" : ", ") + Device(dice, i);
    const std::string pool = "'pool': {'name': '" + dice.Pick({"p", "q", "r"}) +
                             "', 'generation': " + (dice.OneIn(6) ? "2" : "1") +
                             ", 'resourceSliceCount': " + (dice.OneIn(3) ? "2" : "1") + "}";
    cluster.Set(MakeSlice(
        "s" + std::to_string(s),
        dice.Pick({"'nodeName': 'n1'", "'nodeName': 'n2'", "'allNodes': true", "'perDeviceNodeSelection': true",
                   "'nodeSelector': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', "
                   "'operator': 'In', 'values': ['a']}]}]}"}),
        devices, pool));
  }
}

std::string RandomRequest(Dice& dice, int i) {
  const std::string name = "r" + std::to_string(i);
  std::string more = Selectors(dice);
  if (dice.OneIn(3)) more += ", 'tolerations': [{'operator': 'Exists'}]";
  if (dice.OneIn(4)) more += ", 'capacity': {'requests': {'bw': '" + dice.Pick({"1", "3"}) + "'}}";
  if (dice.OneIn(5)) return All(more, name);
  if (dice.OneIn(4)) {
    const std::string sub = "'deviceClassName': 'c', 'allocationMode': 'ExactCount', 'count': ";
    return "{'name': '" + name + "', 'firstAvailable': [{'name': 'a', " + sub + "2, " + more + "}, {'name': 'b', " +
           sub + "1}]}";
  }
  return Exactly(1 + dice.Below(2), more, name);
}

DeviceClaims::Ptr RandomClaim(Dice& dice, const std::string& name) {
  std::string requests;
  for (int i = 1 + dice.Below(2); i > 0; --i) requests += (requests.empty() ? "" : ", ") + RandomRequest(dice, i);
  std::string spec = Requests(requests);
  if (dice.OneIn(3)) {
    spec += ", 'constraints': [{'" + dice.Pick({"matchAttribute", "distinctAttribute"}) + "': 'd/" +
            dice.Pick({"n", "m"}) + "'}]";
  }
  return MakeClaim(name, spec);
}

class Twin {
 public:
  explicit Twin(std::uint64_t seed) : dice_(seed) {}

  void Run() {
    AddSlices(dice_, cluster_);
    for (int round = 0; round < 12; ++round) {
      if (dice_.OneIn(4)) AddSlices(dice_, cluster_);
      if (dice_.OneIn(5)) cluster_.Set(MakeClass("c", dice_.OneIn(2) ? "" : Selectors(dice_)));
      const std::string name = "x" + std::to_string(round);
      cluster_.Set(RandomClaim(dice_, name));
      auto pod = PodWith("p" + std::to_string(round), {name});
      if (dice_.OneIn(3)) {
        cluster_.Set(RandomClaim(dice_, name + "b"));
        pod.ResourceClaim({"b", name + "b", std::nullopt});
      }
      Compare(pod);
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  // Asks both forms about all nodes, then keeps what was found on the first that will do.
  void Compare(const testing::PodBuilder& builder) {
    const auto pod = builder.Info();
    const framework::NodeTable& table = cluster_.nodes.table();
    if (cluster_.PreFilter(*pod) != "ok") return;
    std::vector<std::string> plain;
    std::vector<std::int64_t> plain_scores;
    for (const framework::NodeIndex row : table.rows()) {
      plain.push_back(cluster_.FilterAgain(*pod, table.Info(row).name()));
      plain_scores.push_back(cluster_.nodes.Score(cluster_.plugin, *pod, table.Info(row).name()));
    }
    ASSERT_EQ(cluster_.PreFilter(*pod), "ok");
    std::vector<framework::VerdictId> verdicts(table.row_count());
    framework::StatusTable statuses;
    cluster_.plugin.FilterRows(cluster_.Cycle(), *pod, table.rows(), verdicts, statuses);
    std::vector<std::int64_t> scores(table.row_count());
    framework::Status failed;
    cluster_.plugin.ScoreRows(cluster_.Cycle(), *pod, table.rows(), scores, failed);
    std::size_t at = 0;
    framework::NodeIndex chosen = framework::kNoNode;
    for (const framework::NodeIndex row : table.rows()) {
      const bool is_ok = verdicts[row] == framework::kVerdictOk;
      EXPECT_EQ(is_ok ? "ok" : TestCluster::Describe(statuses.Get(verdicts[row])), plain[at]) << table.Info(row).name();
      // An error ends the cycle: no node behind it is asked.
      if (plain[at].starts_with("Error:")) return;
      EXPECT_EQ(scores[row], plain_scores[at]) << table.Info(row).name();
      if (is_ok) chosen = row;
      ++at;
    }
    if (chosen == framework::kNoNode) return;
    ++placed_;
    auto assumed = std::make_shared<framework::PodInfo>(*pod);
    assumed->node_name = table.Info(chosen).name();
    EXPECT_TRUE(cluster_.plugin.Reserve(cluster_.Cycle(), *assumed, assumed->node_name).IsSuccess());
    if (dice_.OneIn(4)) cluster_.plugin.Unreserve(*assumed, assumed->node_name);
  }

 public:
  int placed_ = 0;

 private:
  Dice dice_;
  DeviceCluster cluster_;
};

TEST(DynamicResourcesProperty, ColumnFormIsPlainForm) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Twin twin(seed);
    twin.Run();
    placed += twin.placed_;
    if (HasFailure()) return;
  }
  EXPECT_GT(placed, 100);  // or nothing was compared
}

}  // namespace
}  // namespace berth::plugins
