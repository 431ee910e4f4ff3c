// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/configuration_file.h"

#include <gtest/gtest.h>

#include "berth/core/config/load.h"
#include "berth/plugins/registry.h"

namespace berth::app {
namespace {

TEST(ConfigurationFile, NamesThatUpstreamTakesNoNoticeOf) {
  const auto configuration = config::LoadConfiguration(R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: a
  plugins:
    multiPoint:
      disabled: [{name: ImageLocallity}, {name: NodePorts}]
    score:
      disabled: [{name: "*"}]
    filter:
      disabled: [{name: VolumeZones}]
  pluginConfig:
  - name: BestPrize
    args: {}
  - name: BestPrice
    args: {}
)");
  ASSERT_TRUE(configuration.ok()) << configuration.error().message;
  EXPECT_EQ(
      UnnoticedNames(*configuration, plugins::InTreePlugins()),
      (std::vector<std::string>{
          "profile \"a\": pluginConfig: there is no plugin \"BestPrize\"; the nearest name is \"BestPrice\"",
          "profile \"a\": plugins.multiPoint.disabled: there is no plugin \"ImageLocallity\"; the nearest name is "
          "\"ImageLocality\"",
          "profile \"a\": plugins.filter.disabled: there is no plugin \"VolumeZones\"; the nearest name is "
          "\"VolumeZone\""}));
}

TEST(ConfigurationFile, FieldsWithoutEffectSayWhy) {
  const std::string every = " has no effect: berth looks at every node, and no extender gets whole nodes";
  const std::string whole = "extenders: [{urlPrefix: http://x, filterVerb: f}]\n";
  const std::string names = "extenders: [{urlPrefix: http://x, filterVerb: f, nodeCacheCapable: true}]\n";
  const struct {
    std::string text;
    std::vector<std::string> lines;
  } cases[] = {
      {"", {}},
      // What is set to its default, or takes effect.
      {"parallelism: 16\nenableContentionProfiling: true\ndelayCacheUntilActive: true\nenableProfiling: false\n"
       "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 3\n"
       "clientConnection: {contentType: application/json, acceptContentTypes: '*/*', qps: 5, burst: 6}\n"
       "leaderElection: {leaseDuration: 30s, resourceName: mine, resourceNamespace: default}\n",
       {}},
      {"clientConnection: {acceptContentTypes: 'application/vnd.kubernetes.protobuf,application/json'}\n", {}},
      {"parallelism: 3\n", {"parallelism has no effect: one thread evaluates nodes, many of them at a time"}},
      {"percentageOfNodesToScore: 30\n", {"percentageOfNodesToScore" + every}},
      {"percentageOfNodesToScore: 30\n" + names, {"percentageOfNodesToScore" + every}},
      {"percentageOfNodesToScore: 30\n" + whole, {}},
      {"profiles: [{percentageOfNodesToScore: 0}]\n", {}},
      {"profiles: [{percentageOfNodesToScore: 30}]\n", {"profiles[0].percentageOfNodesToScore" + every}},
      {"profiles: [{percentageOfNodesToScore: 30}]\n" + whole, {}},
      {"enableContentionProfiling: false\n",
       {"enableContentionProfiling has no effect: berth has no profile of Go's runtime to give"}},
      {"clientConnection: {contentType: application/cbor, acceptContentTypes: application/yaml}\n",
       {"clientConnection.contentType has no effect: berth speaks application/json and "
        "application/vnd.kubernetes.protobuf",
        "clientConnection.acceptContentTypes has no effect: berth speaks application/json and "
        "application/vnd.kubernetes.protobuf"}},
      {"clientConnection: {burst: 7}\n",
       {"clientConnection.burst has no effect: without clientConnection.qps, or with a negative one, there is no "
        "limit"}},
      {"clientConnection: {qps: -1, burst: 7}\n",
       {"clientConnection.burst has no effect: without clientConnection.qps, or with a negative one, there is no "
        "limit"}},
      {"clientConnection: {qps: -1}\n", {}},
      {"delayCacheUntilActive: true\nleaderElection: {leaderElect: false}\n",
       {"delayCacheUntilActive has no effect: without leader election berth is active from the start"}},
  };
  for (const auto& c : cases) {
    const auto configuration = config::LoadConfiguration(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + c.text);
    ASSERT_TRUE(configuration.ok()) << configuration.error().message;
    EXPECT_EQ(FieldsWithoutEffect(*configuration, true), c.lines) << c.text;
  }
  config::KubeSchedulerConfiguration flags;
  flags.enable_contention_profiling = false;  // --contention-profiling=false
  EXPECT_EQ(FieldsWithoutEffect(flags, false), std::vector<std::string>());
}

}  // namespace
}  // namespace berth::app
