// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/registry.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

using NullHandle = testing::FakeHandle;

TEST(Registry, EveryPluginIsMadeUnderItsName) {
  NullHandle handle;
  std::set<std::string_view> names;
  for (const config::KnownPlugin& registration : InTreePlugins()) {
    SCOPED_TRACE(registration.name);
    EXPECT_TRUE(names.insert(registration.name).second) << "listed twice";
    // There is no source, no script and no topology that everybody has: their own tests make them.
    const std::set<std::string_view> with_required = {"ExternalHealth", "Script", "TopologyDistance"};
    if (with_required.contains(registration.name)) continue;
    for (const config::PluginArgs& args : {config::PluginArgs(), config::DefaultArgs(registration.name)}) {
      auto plugin = registration.create(args, handle);
      ASSERT_TRUE(plugin.ok()) << plugin.error().message;
      EXPECT_EQ((*plugin)->Name(), registration.name);
    }
  }
  EXPECT_GE(names.size(), 22u);
}

TEST(Registry, ArgumentsOfAnotherKindAreRefused) {
  NullHandle handle;
  for (const config::KnownPlugin& registration : InTreePlugins()) {
    if (registration.name != "NodeAffinity" && registration.name != "Random") continue;
    const auto plugin = registration.create(config::RawArgs{"{}"}, handle);
    ASSERT_FALSE(plugin.ok());
    EXPECT_EQ(plugin.error().message,
              registration.name == "Random"
                  ? "plugin \"Random\": arguments of another kind, want none"
                  : "plugin \"NodeAffinity\": arguments of another kind, want NodeAffinityArgs");
  }
}

TEST(Registry, SomeMayBeThereUnderSeveralNames) {
  const auto& all = InTreePlugins();
  const config::KnownPlugin* script = config::FindPlugin(all, "Script");
  ASSERT_NE(script, nullptr);
  EXPECT_EQ(config::FindPlugin(all, "Script/zones"), script);
  EXPECT_EQ(config::FindPlugin(all, "Script/a/b"), script);
  for (const char* name : {"Script/", "Scrip", "script/zones", "/zones", "Random/zones", ""})
    EXPECT_EQ(config::FindPlugin(all, name), nullptr) << name;
  EXPECT_EQ(config::FindPlugin(all, "Random")->name, "Random");
}

}  // namespace
}  // namespace berth::plugins
