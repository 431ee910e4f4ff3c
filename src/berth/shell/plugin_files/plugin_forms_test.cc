// SPDX-License-Identifier: Apache-2.0
// The plugin of examples/own-plugin, as part of a program, as a shared object and as a script: the same pods go to the
// same nodes.
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/plugins/own_plugins.h"
#include "berth/shell/plugin_files/plugin_loader.h"
#include "berth/testing/source_path.h"
#include "own-plugin/node_match.h"

namespace berth::plugin_files {
namespace {

constexpr const char* kTeam = "example.com/team";
constexpr int kNodes = 40;
constexpr int kPods = 1000;

std::string ReadFile(const std::string& path) {
  std::ifstream file(testing::SourcePath(path));
  BERTH_CHECK(file.good(), path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

scheduler::Profiles ProfilesOf(const std::string& configuration_text, const std::vector<plugins::OwnPlugin>& own) {
  const auto configuration = config::LoadConfiguration(configuration_text);
  BERTH_CHECK(configuration.ok(), configuration.error().message);
  const auto valid = config::ValidateConfiguration(*configuration);
  BERTH_CHECK(valid.ok(), valid.error().message);
  const auto registry = plugins::AllPlugins(own);
  BERTH_CHECK(registry.ok(), registry.error().message);
  scheduler::Profiles profiles;
  auto made = runtime::MakeProfiles(*configuration, *registry, *profiles.handle);
  BERTH_CHECK(made.ok(), made.error().message);
  static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = std::move(*made);
  return profiles;
}

// The profile of the example with Script instead.
std::string AsScript(const std::string& script) {
  std::string profile = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: node-match
  plugins:
    multiPoint:
      enabled: [{name: Script, weight: 100}]
  pluginConfig:
  - name: Script
    args:
      args: {label: example.com/team}
      source: |
)";
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) profile += "        " + line + "\n";
  return profile;
}

const char* const kTeams[] = {"", "", "red", "blue", "green"};

// "bind p1 to n7", in order, of random pods on a random cluster; both are the same for every form.
std::vector<std::string> Placements(scheduler::Profiles profiles) {
  Random random(20);
  scheduler::Harness harness(std::move(profiles));
  for (int i = 0; i < kNodes; ++i) {
    auto node = testing::MakeNode("n" + std::to_string(i)).Allocatable("cpu", std::to_string(8 + random.Below(8)));
    if (const std::string team = kTeams[random.Below(4)]; !team.empty()) node.Label(kTeam, team);
    harness.Set(node);
  }
  std::vector<std::string> bound;
  for (int i = 0; i < kPods; ++i) {
    auto pod = testing::MakePod("p" + std::to_string(i)).SchedulerName("node-match");
    pod.Request("cpu", std::to_string(50 + 50 * random.Below(8)) + "m");
    if (const std::string team = kTeams[random.Below(5)]; !team.empty()) pod.Label(kTeam, team);
    if (random.Below(4) == 0) pod.Label("app", "a" + std::to_string(random.Below(5)));
    harness.Set(pod);
    harness.Run();
    for (const std::string& line : harness.Take()) {
      if (!line.starts_with("bind ")) continue;
      bound.push_back(line);
      harness.Answer();
      (void)harness.Take();
    }
  }
  return bound;
}

TEST(PluginForms, PlaceAThousandPodsAlike) {
  const std::string profile = ReadFile("examples/own-plugin/profile.yaml");
  const std::vector<std::string> in_program =
      Placements(ProfilesOf(profile, {{WithPlugin("NodeMatch", NodeMatch::Create), {}}}));
  // Pods of the team green find no node, or not for long.
  EXPECT_GT(in_program.size(), std::size_t{kPods} / 2);
  EXPECT_LT(in_program.size(), std::size_t{kPods});

  const auto loaded = LoadPlugins(NODE_MATCH_DIRECTORY);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(Placements(ProfilesOf(profile, *loaded)), in_program);

  EXPECT_EQ(Placements(ProfilesOf(AsScript(ReadFile("examples/own-plugin/node_match.lua")), {})), in_program);
}

}  // namespace
}  // namespace berth::plugin_files
