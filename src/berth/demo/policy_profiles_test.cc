// SPDX-License-Identifier: Apache-2.0
// The ready profiles of deploy/config: each is what it says it is, and `berth demo --policy` knows it.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/demo/nagios_stand_in.h"
#include "berth/demo/policy_configurations.h"
#include "berth/demo/policy_demo.h"
#include "berth/demo/policy_scenarios.h"
#include "berth/plugins/registry.h"
#include "berth/testing/source_path.h"

namespace berth::demo {
namespace {

std::string ReadyFile(const std::string& name) {
  std::ifstream file(testing::SourcePath("deploy/config/" + name + ".yaml"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

config::KubeSchedulerConfiguration Load(const std::string& text) {
  const auto loaded = config::LoadConfiguration(text);
  BERTH_CHECK(loaded.ok(), loaded.error().message);
  const auto valid = config::ValidateConfiguration(*loaded);
  BERTH_CHECK(valid.ok(), valid.error().message);
  return *loaded;
}

std::vector<std::unique_ptr<runtime::ProfilePlugins>> Make(const config::KubeSchedulerConfiguration& configuration,
                                                           scheduler::CoreHandle& handle) {
  auto made = runtime::MakeProfiles(configuration, plugins::InTreePlugins(), handle);
  BERTH_CHECK(made.ok(), made.error().message);
  return std::move(*made);
}

TEST(PolicyProfilesTest, EachIsAProfileOfItsName) {
  ASSERT_EQ(PolicyScenarios().size(), 9U);
  for (const PolicyScenario& scenario : PolicyScenarios()) {
    SCOPED_TRACE(scenario.policy);
    EXPECT_EQ(PolicyConfiguration(scenario.policy), ReadyFile(scenario.policy)) << "the binary has another text";
    const auto configuration = Load(ReadyFile(scenario.policy));
    ASSERT_EQ(configuration.profiles.size(), 1U);
    EXPECT_EQ(configuration.profiles[0].scheduler_name, scenario.policy);
    EXPECT_FALSE(configuration.leader_election.leader_elect);
  }
}

// The policy decides and the rest break ties: whatever the others say, together they weigh less than the one point that
// the policy's best nodes are ahead.
TEST(PolicyProfilesTest, ThePolicyOutweighsAllOthersTogether) {
  for (const PolicyScenario& scenario : PolicyScenarios()) {
    SCOPED_TRACE(scenario.policy);
    scheduler::CoreHandle handle([](framework::PermitDecision) {});
    const auto profiles = Make(Load(ReadyFile(scenario.policy)), handle);
    std::int64_t largest = 0;
    std::int64_t sum = 0;
    for (const auto& scored : profiles.front()->score) {
      largest = std::max(largest, scored.weight);
      sum += scored.weight;
    }
    // NodeLabelMatch and ExternalHealth may filter alone.
    if (largest < 1000) continue;
    EXPECT_GT(largest, (sum - largest) * framework::kNodeScoreMax);
  }
}

TEST(PolicyProfilesTest, AllPoliciesHasTheSameProfilesSideBySide) {
  const auto all = Load(ReadyFile("all-policies"));
  std::vector<std::string> names;
  for (const config::Profile& profile : all.profiles) names.push_back(profile.scheduler_name);
  std::vector<std::string> want;
  for (const PolicyScenario& scenario : PolicyScenarios()) want.push_back(scenario.policy);
  ASSERT_EQ(names, want);
  for (const config::Profile& profile : all.profiles) {
    SCOPED_TRACE(profile.scheduler_name);
    const config::Profile single = Load(ReadyFile(profile.scheduler_name)).profiles.front();
    EXPECT_EQ(profile.plugins.points.values, single.plugins.points.values);
    EXPECT_EQ(profile.plugins.multi_point, single.plugins.multi_point);
    EXPECT_EQ(profile.plugin_config, single.plugin_config);
  }
  scheduler::CoreHandle handle([](framework::PermitDecision) {});
  EXPECT_EQ(Make(all, handle).size(), PolicyScenarios().size());
}

TEST(PolicyProfilesTest, AnUnknownPolicyIsAnsweredWithTheNearest) {
  EXPECT_EQ(CheckPolicyDemo("best-price"), "");
  EXPECT_EQ(CheckPolicyDemo("bestprize"),
            "there is no policy \"bestprize\"; the nearest is best-price, of " + PolicyDemoNames());
  for (const auto& [typed, nearest] : std::vector<std::pair<std::string, std::string>>{{"Round-Robin", "round-robin"},
                                                                                       {"spot-frist", "spot-first"},
                                                                                       {"zonebalance", "zone-balance"},
                                                                                       {"rando", "random"}}) {
    const std::string said = CheckPolicyDemo(typed);
    EXPECT_NE(said.find("the nearest is " + nearest + ","), std::string::npos) << said;
  }
  const std::string odd = CheckPolicyDemo(std::string("\x1b[2J\n", 5) + std::string(10'000, 'x'));
  EXPECT_EQ(odd.find_first_of("\x1b\n"), std::string::npos);
  EXPECT_LT(odd.size(), 1'000U);
  EXPECT_EQ(
      PolicyDemoNames(),
      "random, round-robin, best-price, spot-first, zone-balance, load-aware, node-label-match, topology-distance, "
      "external-health");
}

TEST(PolicyProfilesTest, TheStandInIsAskedWithThePathOfTheProfile) {
  const auto asked = AskStandIn(Load(ReadyFile("external-health")), "http://127.0.0.1:4711");
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  std::string json;
  for (const config::PluginConfig& plugin : asked->profiles.front().plugin_config) {
    if (plugin.name == "ExternalHealth") json = std::get<config::RawArgs>(plugin.args).json;
  }
  EXPECT_NE(json.find("http://127.0.0.1:4711/"), std::string::npos) << json;
}

}  // namespace
}  // namespace berth::demo
