// SPDX-License-Identifier: Apache-2.0
// Inputs that are written one after the other come back, whatever came before them.
#include "berth/shell/recording/object_bases.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/shell/recording/records.h"
#include "berth/testing/builders.h"

namespace berth::recording {
namespace {

using scheduler::Input;

std::shared_ptr<const api::Pod> Shared(api::Pod pod) { return std::make_shared<const api::Pod>(std::move(pod)); }

api::Pod Web(int number, const std::string& workload = "web") {
  api::Pod pod = testing::MakePod(workload + "-" + std::to_string(number))
                     .Request("cpu", "500m")
                     .Label("app", workload)
                     .Label("team", "a team with a name")
                     .Build();
  pod.metadata.uid = workload + "-uid-" + std::to_string(number);
  return pod;
}

TEST(ObjectBases, PodsOfAWorkloadHaveOneSlot) {
  EXPECT_EQ(ObjectBases::SlotOf(Web(1)), ObjectBases::SlotOf(Web(2)));
  EXPECT_NE(ObjectBases::SlotOf(Web(1)), ObjectBases::SlotOf(Web(1, "other")));
  api::Pod owned = testing::MakePod("a").Label("index", "1").Controller("apps/v1", "ReplicaSet", "web").Build();
  const std::size_t slot = ObjectBases::SlotOf(owned);
  owned.metadata.labels.Set("index", "2");
  EXPECT_EQ(ObjectBases::SlotOf(owned), slot) << "the owner counts, where there is one";
  const ObjectBases bases;
  EXPECT_EQ(bases.PodAt(slot), nullptr);
  EXPECT_EQ(bases.PodAt(ObjectBases::kPodsMax), nullptr);
}

TEST(ObjectBases, APodOfAWorkloadTakesFewBytes) {
  InputWriter writer({});
  ByteWriter out;
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 3; ++i) {
    const std::size_t before = out.bytes().size();
    writer.Put(out, scheduler::PodSet{Shared(Web(i))});
    sizes.push_back(out.bytes().size() - before);
  }
  EXPECT_LT(sizes[2], 45u);
  EXPECT_LT(2 * sizes[2], sizes[0]);
}

TEST(ObjectBases, ANodesHeartbeatTakesFewBytes) {
  InputWriter writer({});
  ByteWriter out;
  testing::NodeBuilder node = testing::MakeNode("node-with-a-name");
  for (int i = 0; i < 50; ++i) node.Label("label-" + std::to_string(i), "value");
  writer.Put(out, scheduler::NodeSet{node.Build()});
  out.Clear();
  api::Node later = *node.Build();
  later.metadata.resource_version = "123456789";
  writer.Put(out, scheduler::NodeSet{std::make_shared<const api::Node>(later)});
  EXPECT_LT(out.bytes().size(), 20u);
}

TEST(ObjectBases, WhatIsReadIsWhatWasWritten) {
  Random dice(3);
  InputWriter writer({});
  InputReader reader;
  ByteWriter out;
  std::vector<Input> inputs;
  std::vector<api::Pod> pods;
  for (int i = 0; i < 30'000; ++i) {
    const auto which = dice.Below(10);
    if (which < 4 || pods.empty()) {
      // More than there are slots, so that objects take each other's places.
      pods.push_back(Web(i, "workload-" + std::to_string(dice.Below(3000))));
      inputs.emplace_back(scheduler::PodSet{Shared(pods.back())});
    } else if (which < 8) {
      api::Pod& pod = pods[dice.Below(pods.size())];
      pod.metadata.resource_version = std::to_string(i);
      if (dice.Below(2) == 0) pod.spec.node_name = "node-" + std::to_string(dice.Below(9));
      if (dice.Below(4) == 0) pod.metadata.labels.Set("phase", std::to_string(dice.Below(3)));
      if (dice.Below(4) == 0) pod.spec.containers.clear();
      inputs.emplace_back(scheduler::PodSet{Shared(pod)});
    } else {
      testing::NodeBuilder node = testing::MakeNode("node-" + std::to_string(dice.Below(20'000)));
      node.Allocatable("cpu", std::to_string(dice.Below(3)));
      inputs.emplace_back(scheduler::NodeSet{node.Build()});
    }
  }
  for (const Input& input : inputs) writer.Put(out, input);
  ByteReader in(out.bytes());
  for (const Input& input : inputs) {
    const Input back = reader.Get(in, {});
    ASSERT_TRUE(in.is_good());
    ASSERT_EQ(back.index(), input.index());
    if (const auto* pod = std::get_if<scheduler::PodSet>(&input)) {
      ASSERT_EQ(*std::get<scheduler::PodSet>(back).pod, *pod->pod);
    } else {
      ASSERT_EQ(*std::get<scheduler::NodeSet>(back).node, *std::get<scheduler::NodeSet>(input).node);
    }
  }
  EXPECT_TRUE(in.is_at_end());
}

TEST(ObjectBases, AnInputWhoseBaseIsNotThereIsDamaged) {
  InputWriter writer({});
  ByteWriter out;
  writer.Put(out, scheduler::PodSet{Shared(Web(1))});
  out.Clear();
  writer.Put(out, scheduler::PodSet{Shared(Web(1))});
  ByteReader in(out.bytes());
  InputReader reader;
  static_cast<void>(reader.Get(in, {}));
  EXPECT_FALSE(in.is_good());
}

}  // namespace
}  // namespace berth::recording
