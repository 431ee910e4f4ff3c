// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/profile_factory.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/plugins/own_plugins.h"
#include "berth/plugins/registry.h"
#include "berth/testing/fake_handle.h"

namespace berth::runtime {
namespace {

class Accepting final : public framework::FilterPlugin {
 public:
  std::string_view Name() const override { return "Accepting"; }
  framework::Status Filter(const framework::Cycle&, const framework::PodInfo&,
                           const framework::NodeInfo&) const override {
    return {};
  }
};

std::unique_ptr<framework::Plugin> MakeAccepting(framework::PluginArgs&, framework::Handle&) {
  return std::make_unique<Accepting>();
}

// The error of a default profile with one more plugin, which has this name.
std::string Problem(const std::string& name, const std::vector<plugins::OwnPlugin>& own) {
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  configuration.profiles.front().plugins.multi_point.enabled.push_back({name, 0});
  const auto registry = plugins::AllPlugins(own);
  BERTH_CHECK(registry.ok(), registry.error().message);
  testing::FakeHandle handle;
  const auto profiles = MakeProfiles(configuration, *registry, handle);
  return profiles.ok() ? "" : profiles.error().message;
}

TEST(ProfileFactory, TakesPluginsOfOnesOwn) {
  EXPECT_EQ(Problem("Accepting", {{framework::WithPlugin("Accepting", MakeAccepting), {}}}), "");
}

TEST(ProfileFactory, NamesTheNearestOfUnknownPlugins) {
  const std::vector<plugins::OwnPlugin> own{{framework::WithPlugin("Accepting", MakeAccepting), {}}};
  const std::string begin = "creating profile for scheduler name default-scheduler: PreFilterPlugin ";
  EXPECT_EQ(Problem("Acepting", own), begin + "\"Acepting\" does not exist; the nearest name is \"Accepting\"");
  EXPECT_EQ(Problem("NodePort", own), begin + "\"NodePort\" does not exist; the nearest name is \"NodePorts\"");
}

TEST(ProfileFactory, AProfilesPercentageGoesBeforeTheGlobalOne) {
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  configuration.percentage_of_nodes_to_score = 30;
  configuration.profiles.resize(3, configuration.profiles.front());
  configuration.profiles[0].scheduler_name = "a";
  configuration.profiles[1].scheduler_name = "b";
  configuration.profiles[2].scheduler_name = "c";
  configuration.profiles[1].percentage_of_nodes_to_score = 0;
  configuration.profiles[2].percentage_of_nodes_to_score = 70;
  testing::FakeHandle handle;
  const auto profiles = MakeProfiles(configuration, plugins::InTreePlugins(), handle);
  ASSERT_TRUE(profiles.ok()) << profiles.error().message;
  ASSERT_EQ(profiles->size(), 3U);
  EXPECT_EQ((*profiles)[0]->percentage_of_nodes_to_score, 30);
  EXPECT_EQ((*profiles)[1]->percentage_of_nodes_to_score, 0);
  EXPECT_EQ((*profiles)[2]->percentage_of_nodes_to_score, 70);
}

TEST(ProfileFactory, AFactoryThatThrowsIsNamed) {
  const auto make = [](bool with_text) {
    return [with_text](framework::PluginArgs&, framework::Handle&) -> std::unique_ptr<framework::Plugin> {
      if (with_text) throw std::runtime_error("no such rack");
      throw 7;
    };
  };
  EXPECT_EQ(Problem("Thrower", {{framework::WithPlugin("Thrower", make(true)), {}}}),
            "initializing plugin \"Thrower\": panic: no such rack");
  EXPECT_EQ(Problem("Thrower", {{framework::WithPlugin("Thrower", make(false)), {}}}),
            "initializing plugin \"Thrower\": panic: unknown exception");
}

}  // namespace
}  // namespace berth::runtime
