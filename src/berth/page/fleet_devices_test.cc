// SPDX-License-Identifier: Apache-2.0
#include "berth/page/fleet_devices.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/page/page_testing.h"
#include "berth/testing/builders.h"

namespace berth::page {
namespace {

using ::testing::ElementsAre;
using testing::MakeNode;
using testing::MakePod;

api::ResourceSlice Slice(const std::string& name, const std::string& node, std::size_t count,
                         std::int64_t generation = 1) {
  api::ResourceSlice slice;
  slice.metadata.name = name;
  slice.driver = "gpu.example.com";
  slice.pool_name = node;
  slice.pool_generation = generation;
  slice.nodes.node_name = node;
  for (std::size_t i = 0; i < count; ++i) slice.devices.emplace_back().name = "gpu-" + std::to_string(i);
  return slice;
}

api::ResourceClaim Claim(const std::string& name, const std::string& pod, std::size_t count) {
  api::ResourceClaim claim;
  claim.metadata.namespace_name = "default";
  claim.metadata.name = name;
  claim.allocation.emplace();
  for (std::size_t i = 0; i < count; ++i) claim.allocation->results.emplace_back().driver = "gpu.example.com";
  if (!pod.empty()) claim.reserved_for.push_back({"", "pods", pod, "uid-default-" + pod});
  return claim;
}

class FleetDevicesTest : public ::testing::Test {
 protected:
  FleetDevicesTest() {
    fleet_.SetNode(MakeNode("a").Build());
    fleet_.SetPod(std::make_shared<const api::Pod>(MakePod("p").Node("a").Build()), std::nullopt);
  }

  // What a node has of the devices, what is requested there, and what the pod requests.
  std::vector<double> Shown() {
    const FrameReader frame(fleet_.Frame().bytes);
    const auto names = frame.directory.at("resources").as_array();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].as_string() != "gpu.example.com/devices") continue;
      return {frame.Column<double>("node.allocatable").at(i), frame.Column<double>("node.requested").at(i),
              frame.Column<double>("pod.requests").at(i)};
    }
    return {};
  }

  Fleet fleet_{1};
  FleetDevices devices_{fleet_};
};

TEST_F(FleetDevicesTest, AreResourcesOfNodesAndPods) {
  EXPECT_TRUE(Shown().empty());
  devices_.SetSlice(Slice("s1", "a", 4));
  devices_.SetSlice(Slice("s2", "a", 2));
  devices_.SetClaim(Claim("c1", "p", 1));
  devices_.SetClaim(Claim("c2", "p", 2));
  EXPECT_THAT(Shown(), ElementsAre(6, 3, 3));
  devices_.SetSlice(Slice("s3", "a", 3, 2));
  EXPECT_THAT(Shown(), ElementsAre(3, 3, 3)) << "of an older generation";
  devices_.RemoveSlice("s3");
  devices_.RemoveSlice("s2");
  devices_.RemoveClaim("default", "c2");
  EXPECT_THAT(Shown(), ElementsAre(4, 1, 1));
  devices_.SetClaim(Claim("c1", "", 1));
  EXPECT_THAT(Shown(), ElementsAre(4, 0, 0)) << "no pod holds it any more";
  devices_.RemoveSlice("s1");
  EXPECT_THAT(Shown(), ElementsAre(0, 0, 0));
}

TEST_F(FleetDevicesTest, MayComeBeforeTheirNodesAndPods) {
  devices_.SetSlice(Slice("s1", "b", 4));
  devices_.SetClaim(Claim("c1", "q", 2));
  fleet_.RemovePod("default", "p", "uid-default-p");
  fleet_.RemoveNode("a");
  fleet_.SetNode(MakeNode("b").Build());
  fleet_.SetPod(std::make_shared<const api::Pod>(MakePod("q").Node("b").Build()), std::nullopt);
  EXPECT_THAT(Shown(), ElementsAre(4, 2, 2));
  fleet_.SetNode(MakeNode("b").Label("new", "yes").Build());
  EXPECT_THAT(Shown(), ElementsAre(4, 2, 2)) << "a node that changes keeps them";
}

// Each device of a slice may be on a node of its own; administrators and those who share hold none.
TEST_F(FleetDevicesTest, CountsWhatIsOneNodesAndOnePods) {
  api::ResourceSlice slice = Slice("s", "", 3);
  slice.nodes = {};
  slice.per_device_node_selection = true;
  slice.devices[0].nodes.node_name = "a";
  slice.devices[1].nodes.node_name = "a";
  slice.devices[1].allow_multiple_allocations = true;
  slice.devices[2].nodes.all_nodes = true;
  devices_.SetSlice(slice);
  api::ResourceClaim claim = Claim("c", "p", 3);
  claim.allocation->results[1].admin_access = true;
  claim.allocation->results[2].share_id = "x";
  devices_.SetClaim(claim);
  EXPECT_THAT(Shown(), ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace berth::page
