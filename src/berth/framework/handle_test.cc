// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/handle.h"

#include <memory>

#include <gtest/gtest.h>

#include "berth/testing/fake_handle.h"

namespace berth::framework {
namespace {

struct Counts final : SharedState {
  int value = 0;
};
struct Prices final : SharedState {};

TEST(Handle, SharesOneObjectAName) {
  testing::FakeHandle handle;
  int made = 0;
  const auto make = [&made] {
    ++made;
    return std::make_shared<Counts>();
  };
  const std::shared_ptr<Counts> first = handle.Shared<Counts>("counts", make);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(handle.Shared<Counts>("counts", make), first);
  EXPECT_EQ(made, 1);
  EXPECT_NE(handle.Shared<Counts>("other counts", make), first);
  EXPECT_EQ(made, 2);
}

TEST(Handle, GivesNobodyAnObjectOfAnotherClass) {
  testing::FakeHandle handle;
  static_cast<void>(handle.Shared<Counts>("counts", [] { return std::make_shared<Counts>(); }));
  EXPECT_EQ(handle.Shared<Prices>("counts", [] { return std::make_shared<Prices>(); }), nullptr);
}

TEST(Handle, HasNoNodesWhereThereIsNoTable) {
  const testing::FakeHandle handle;
  EXPECT_EQ(handle.nodes(), nullptr);
}

}  // namespace
}  // namespace berth::framework
