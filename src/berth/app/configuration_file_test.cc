// SPDX-License-Identifier: Apache-2.0
#include "berth/app/configuration_file.h"

#include <gtest/gtest.h>

#include "berth/core/config/load.h"

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

}  // namespace
}  // namespace berth::app
