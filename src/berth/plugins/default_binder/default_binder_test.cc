// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_binder/default_binder.h"

#include <gtest/gtest.h>

#include "berth/plugins/helper/plugin_testing.h"
#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

TEST(DefaultBinder, WritesOneBindingWithTheUid) {
  const framework::Operation operation =
      TestedPlugin(CreateDefaultBinder()).Bind(*testing::MakePod("p").Namespace("web").Uid("u1").Node("n").Info());
  ASSERT_EQ(operation.writes.size(), 1u);
  const auto* bind = std::get_if<framework::BindWrite>(&operation.writes[0]);
  ASSERT_NE(bind, nullptr);
  EXPECT_EQ(bind->pod.namespace_name, "web");
  EXPECT_EQ(bind->pod.name, "p");
  EXPECT_EQ(bind->pod.uid, "u1");
  EXPECT_EQ(bind->node_name, "n");
}

}  // namespace
}  // namespace berth::plugins
