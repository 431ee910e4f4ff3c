// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_release.h"

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/app/config_map_hint.h"
#include "berth/app/questions/question_configuration.h"
#include "berth/plugins/registry.h"

namespace berth::app {
namespace {

QuestionRelease Gated(std::vector<std::string> gates, const std::string& version = "auto") {
  return {*ParseReleaseChoice(version), std::move(gates)};
}

TEST(QuestionConfigurationTest, WhatIsUnknownIsLeftOutAndTheUsualQueueSortComesBack) {
  const std::string path = ::testing::TempDir() + "berth-question-configuration.yaml";
  const auto load = [&](const std::string& plugins) {
    std::ofstream(path) << "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
                        << "- plugins: " << plugins << "\n  pluginConfig: [{name: Coscheduling, args: {a: 1}}]\n";
    return LoadQuestionConfiguration("--config", path, plugins::InTreePlugins(), "v1.36.0");
  };
  const std::string unknown =
      "profile \"default-scheduler\": plugin \"Coscheduling\" is unknown here: its part of the decision is missing";
  const std::string sorted = "profile \"default-scheduler\": PrioritySort is in place of its queue sort";
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"{queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}}", {unknown, sorted}},
      {"{multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}}", {unknown, sorted}},
      {"{permit: {enabled: [{name: Coscheduling}]}}", {unknown}},
  };
  for (const auto& [plugins, want] : cases) {
    const auto loaded = load(plugins);
    ASSERT_TRUE(loaded.ok()) << plugins << ": " << loaded.error().message;
    EXPECT_EQ(loaded->unknown, want) << plugins;
    auto profile = loaded->configuration.profiles.front();
    const auto& sort =
        profile.plugins.points.values[static_cast<std::size_t>(config::ExtensionPoint::kQueueSort)].enabled;
    EXPECT_EQ(sort.size(), want.size() - 1) << plugins;
  }
}

TEST(ConfigMapHintTest, NamesTheCommandThatTakesTheFileOut) {
  constexpr std::string_view kMap =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: scheduler, namespace: kube-system}\n"
      "data: {a.txt: hello, scheduler.yaml: 'kind: KubeSchedulerConfiguration'}\n";
  EXPECT_EQ(
      ConfigMapHint(kMap, "KubeSchedulerConfiguration"),
      "is a ConfigMap, and should be the KubeSchedulerConfiguration that is in one: kubectl get configmap scheduler "
      "-n kube-system -o jsonpath='{.data.scheduler\\.yaml}' > scheduler.yaml");
  EXPECT_EQ(ConfigMapHint("apiVersion: v1\nkind: ConfigMap\n", "DeschedulerPolicy"),
            "is a ConfigMap, and should be the DeschedulerPolicy that is in one");
  EXPECT_EQ(ConfigMapHint("apiVersion: v1\nkind: Pod\n", "DeschedulerPolicy"), std::nullopt);
  EXPECT_EQ(ConfigMapHint("- a\n", "DeschedulerPolicy"), std::nullopt);
}

TEST(QuestionReleaseTest, TheFlagDecidesAndThenTheServer) {
  EXPECT_EQ(ReleasesOf({}, "v1.36.3"), std::vector<int>{36});
  EXPECT_EQ(ReleasesOf({}, "v1.35.1"), std::vector<int>{35});
  EXPECT_EQ(ReleasesOf({}, "v1.99.0"), std::vector<int>{38}) << "the newest that is followed";
  EXPECT_EQ(ReleasesOf(Gated({}, "1.37"), "v1.36.3"), std::vector<int>{37});
  EXPECT_EQ(ReleasesOf({}, ""), (std::vector<int>{36, 37, 38, 35, 34}));
}

TEST(QuestionReleaseTest, PodGroupsMayBeReadOnlyWithTheirGate) {
  EXPECT_FALSE(MayHavePodGroups({}));
  EXPECT_TRUE(MayHavePodGroups(Gated({"GenericWorkload=true"}))) << "the cluster may be of 1.37";
  EXPECT_TRUE(MayHavePodGroups(Gated({"GenericWorkload=true"}, "1.37")));
  EXPECT_FALSE(MayHavePodGroups(Gated({"GenericWorkload=true"}, "1.36")));
  EXPECT_FALSE(MayHaveCompositePodGroups(Gated({"GenericWorkload=true"})));
  EXPECT_TRUE(MayHaveCompositePodGroups(
      Gated({"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true", "CompositePodGroup=true"})));
}

TEST(QuestionReleaseTest, WhatSuitsAnotherReleaseAloneIsSaid) {
  const auto plugins = plugins::InTreePlugins();
  const auto load = [&](const QuestionRelease& release, const std::string& server) {
    return LoadQuestionConfiguration("--config", "", plugins, server, release);
  };
  EXPECT_TRUE(load(Gated({"GenericWorkload=true"}), "")->configuration.release.has_pod_groups);
  EXPECT_TRUE(load(Gated({"GenericWorkload=true"}), "v1.37.2").ok());
  const auto old = load(Gated({"GenericWorkload=true"}), "v1.36.3");
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().message,
            "--feature-gates: GenericWorkload=true cannot be had: berth has pod groups as in Kubernetes 1.37, and not "
            "the older ones; the cluster is of 1.36: --kubernetes-version 1.37 decides as that version does");
  const auto unknown = load(Gated({"GenericWorklod=true"}), "");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message,
            "--feature-gates: unrecognized feature gate: GenericWorklod; the nearest is GenericWorkload");
}

TEST(QuestionReleaseTest, Flags) {
  cli::Command program("berth", "");
  QuestionRelease release;
  AddQuestionRelease(program, release);
  const std::vector<std::string> line = {"--feature-gates", "A=true,B=false", "--kubernetes-version", "1.37",
                                         "--feature-gates", "C=true"};
  ASSERT_TRUE(program.Read(line).ok());
  EXPECT_EQ(release.version.minor, 37);
  EXPECT_EQ(release.feature_gates, (std::vector<std::string>{"A=true,B=false", "C=true"}));
  cli::Command other("berth", "");
  AddQuestionRelease(other, release);
  const std::vector<std::string> wrong = {"--kubernetes-version", "1.12"};
  EXPECT_FALSE(other.Read(wrong).ok());
}

}  // namespace
}  // namespace berth::app
