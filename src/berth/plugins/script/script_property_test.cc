// SPDX-License-Identifier: Apache-2.0
// Scripts on random clusters that live: all forms of evaluation agree, and with a few lines of C++ that say the same. A
// failure prints the seed.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/helper/policy_cluster_testing.h"
#include "berth/plugins/script/script_testing.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;
using testing::MakePod;

constexpr const char* kScript = R"(
annotations = {"max"}

function prefilter(pod)
  if pod.metadata.annotations.max == "none" then return false, "none at all" end
end

function filter(pod, node)
  local zone = pod.metadata.labels.zone
  if zone and node.metadata.labels.zone ~= zone then return false, "wrong zone" end
  local most = tonumber(pod.metadata.annotations.max)
  if most and #node.pods >= most then return false, "over " .. most end
  if node.free.cpu_milli < 2 * pod.requests.cpu_milli then return false end
  return true
end

function score(pod, node)
  return node.free.cpu_milli
end
)";

// What the filter says, in C++.
bool Admits(const framework::PodInfo& pod, const framework::NodeInfo& node) {
  const std::string* zone = pod.labels().Find("zone");
  const std::string* has = node.node().metadata.labels.Find("zone");
  if (zone != nullptr && (has == nullptr || *has != *zone)) return false;
  const std::string* most = pod.pod_class->annotations.Find("max");
  if (most != nullptr && node.pods().size() >= static_cast<std::size_t>(std::stoi(*most))) return false;
  return node.allocatable().cpu_milli - node.requested().cpu_milli >= 2 * pod.pod_class->requests.cpu_milli;
}

class ScriptProperty : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ScriptProperty, AllFormsAgreeWithThePlainWords) {
  const bool is_node_local = GetParam() % 2 == 0;
  const std::string normalization = GetParam() % 3 == 0   ? "normalization = 'lowest_first'\n"
                                    : GetParam() % 3 == 1 ? "normalization = 'max'\n"
                                                          : "function normalize(scores) local top = 1 for _, s in "
                                                            "pairs(scores) do top = math.max(top, s) end for n, s in "
                                                            "pairs(scores) do scores[n] = s * 100 // top end return "
                                                            "scores end\n";
  PolicyCluster cluster(GetParam(),
                        WithSource((is_node_local ? "depends_on = 'node'\n" : "") + normalization + kScript), {"max"});
  auto& dice = cluster.dice;
  const auto node_name = [&] { return "n" + std::to_string(dice.Below(12)); };
  const auto set_node = [&] {
    auto node = MakeNode(node_name()).Allocatable("cpu", dice.Pick({"1", "2", "4"}));
    if (dice.Below(4) != 0) node.Label("zone", dice.Pick({"a", "b"}));
    cluster.Set(node);
  };
  const auto make_template = [&] {
    auto pod = MakePod("p").Request("cpu", dice.Pick({"100m", "300m", "1"}));
    if (dice.Below(2) == 0) pod.Label("zone", dice.Pick({"a", "b", "c"}));
    if (dice.Below(3) == 0) pod.Annotation("max", dice.Pick({"1", "3", "none"}));
    return pod;
  };
  for (int i = 0; i < 8; ++i) set_node();
  std::vector<testing::PodBuilder> templates;
  for (int i = 0; i < 5; ++i) templates.push_back(make_template());
  int placed_count = 0;
  int refused_count = 0;
  cluster.Live(templates, set_node, node_name, make_template, [&](const PolicyCluster::Placed& placed) {
    const std::string* most = placed.pod->pod_class->annotations.Find("max");
    if (most != nullptr && *most == "none") {
      EXPECT_NE(placed.outcome.result, runtime::Result::kFeasible);
      return;
    }
    std::vector<framework::NodeIndex> want;
    for (const framework::NodeIndex row : placed.without_policy) {
      if (Admits(*placed.pod, cluster.nodes().Info(row))) want.push_back(row);
    }
    if (placed.outcome.result == runtime::Result::kFeasible) {
      EXPECT_EQ(placed.outcome.feasible, want);
      ++placed_count;
    } else {
      EXPECT_TRUE(want.empty());
      ++refused_count;
    }
  });
  EXPECT_GT(placed_count, 10);
  EXPECT_GT(refused_count, 0);
  if (HasFailure()) std::fprintf(stderr, "replay with seed %llu\n", static_cast<unsigned long long>(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ScriptProperty, ::testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace berth::plugins
