// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/write.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"
#include "berth/core/config/load.h"

namespace berth::config {
namespace {

constexpr std::string_view kHead = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

std::string Written(std::string_view text) {
  const auto loaded = LoadConfiguration(std::string(kHead) + std::string(text));
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return loaded.ok() ? WriteConfiguration(*loaded) : "";
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(WriteConfiguration, WritesEveryDefault) {
  const std::string text = WriteConfiguration(DefaultConfiguration());
  EXPECT_TRUE(
      text.starts_with("apiVersion: kubescheduler.config.k8s.io/v1\n"
                       "clientConnection:\n"
                       "  acceptContentTypes: \"\"\n"
                       "  contentType: application/vnd.kubernetes.protobuf\n"
                       "  kubeconfig: \"\"\n"
                       "  qps: -1\n"))
      << text;
  EXPECT_TRUE(Has(text, "      - name: TaintToleration\n        weight: 3\n")) << text;
  EXPECT_TRUE(Has(text, "    score: {}\n  schedulerName: default-scheduler\n")) << text;
  EXPECT_TRUE(Has(text, "      bindingTimeout: 10m0s\n      filterTimeout: 10s\n")) << text;
}

TEST(WriteConfiguration, ReadBackItIsTheSame) {
  for (const std::string_view text : {
           std::string_view(""),
           std::string_view(
               "parallelism: 3\npercentageOfNodesToScore: 40\ndelayCacheUntilActive: true\nenableProfiling: false\n"),
           std::string_view("clientConnection: {kubeconfig: /a, qps: 5.5, burst: 7, contentType: application/json}\n"),
           std::string_view("leaderElection: {leaderElect: false, leaseDuration: 1m30s}\n"),
           std::string_view("profiles:\n- schedulerName: a\n  percentageOfNodesToScore: 0\n  plugins:\n    score: "
                            "{disabled: [{name: '*'}], "
                            "enabled: [{name: ImageLocality, weight: 5}]}\n- schedulerName: b\n"),
           std::string_view("profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {ignoredResources: "
                            "[a.b/c], scoringStrategy: "
                            "{type: RequestedToCapacityRatio, resources: [{name: cpu, weight: 2}], "
                            "requestedToCapacityRatio: {shape: "
                            "[{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}\n"),
           std::string_view("profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: {addedAffinity: "
                            "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
                            "[{key: a, operator: In, "
                            "values: [b]}]}]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, "
                            "preference: {matchFields: [{key: "
                            "metadata.name, operator: NotIn, values: [x]}]}}]}}\n"),
           std::string_view("profiles:\n- pluginConfig:\n  - name: PodTopologySpread\n    args: {defaultingType: List, "
                            "defaultConstraints: "
                            "[{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 3}]}\n"),
           std::string_view("extenders:\n- {urlPrefix: 'http://e', filterVerb: f, weight: 2, prioritizeVerb: p, "
                            "tlsConfig: {insecure: true}, "
                            "managedResources: [{name: a.b/c}]}\n"),
       }) {
    const std::string once = Written(text);
    const auto again = LoadConfiguration(once);
    ASSERT_TRUE(again.ok()) << again.error().message << '\n' << once;
    EXPECT_EQ(WriteConfiguration(*again), once);
  }
}

TEST(WriteConfiguration, ABurstGoesWithALimit) {
  EXPECT_TRUE(Has(Written("clientConnection: {qps: 5}\n"), "  burst: 100\n"));
  EXPECT_TRUE(Has(Written("clientConnection: {qps: 5, burst: 7}\n"), "  burst: 7\n"));
  EXPECT_TRUE(Has(Written("clientConnection: {qps: -1, burst: 7}\n"), "  burst: 7\n"));
  EXPECT_FALSE(Has(Written("clientConnection: {qps: -1}\n"), "burst"));
}

TEST(WriteConfiguration, ResourcesThatExtendersTakeAwayAreIgnored) {
  const std::string text =
      Written("extenders: [{urlPrefix: 'http://e', managedResources: [{name: a.b/c, ignoredByScheduler: true}]}]\n");
  EXPECT_TRUE(Has(text, "      ignoredResources:\n      - a.b/c\n")) << text;
}

TEST(WriteConfiguration, WhatIsShownHasNoSecrets) {
  constexpr std::string_view kText =
      "extenders: [{urlPrefix: 'https://jane:hunter2@e/x?k=hunter2', filterVerb: f, tlsConfig: {certData: Y2VydA==, "
      "keyData: aHVudGVyMg==}}]\nprofiles:\n- pluginConfig:\n  - name: ExternalHealth\n    args: {source: nagios, url: "
      "'http://jane:hunter2@nagios/', bearerTokenFile: /token}\n  plugins: {filter: {enabled: [{name: "
      "ExternalHealth}]}}\n";
  const auto loaded = LoadConfiguration(std::string(kHead) + std::string(kText));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const std::string shown = ShowConfiguration(*loaded);
  for (const std::string_view secret : {"hunter2", "aHVudGVyMg==", "jane"}) EXPECT_FALSE(Has(shown, secret)) << shown;
  for (const std::string_view plain : {"https://e/x?k=xxxxx", "keyData: xxxxx", "Y2VydA==", "http://nagios/", "/token"})
    EXPECT_TRUE(Has(shown, plain)) << shown;
  constexpr std::string_view kScript =
      "profiles:\n- pluginConfig:\n  - name: Script\n    args: {source: \"return ('a://b@c?d=e'):find('x')\", apiKey: "
      "hunter2}\n  plugins: {filter: {enabled: [{name: Script}]}}\n";
  const auto with_script = LoadConfiguration(std::string(kHead) + std::string(kScript));
  ASSERT_TRUE(with_script.ok()) << with_script.error().message;
  EXPECT_TRUE(Has(ShowConfiguration(*with_script), "a://b@c?d=e")) << "a script is shown as it is";
  EXPECT_FALSE(Has(ShowConfiguration(*with_script), "hunter2"));
  EXPECT_TRUE(Has(WriteConfiguration(*loaded), "aHVudGVyMg==")) << "a file that is to be read again has them";
}

TEST(WriteConfiguration, FollowsTheGates) {
  const auto gates = FeatureGates::Parse({.gates = {"DRASchedulerFilterTimeout=false"}});
  ASSERT_TRUE(gates.ok());
  EXPECT_TRUE(Has(WriteConfiguration(DefaultConfiguration(*gates), *gates), "filterTimeout: null\n"));
}

TEST(WriteConfiguration, WritesWhatTheReleaseHas) {
  for (const int minor : {35, 36}) {
    const FeatureGates gates(minor);
    const std::string text = WriteConfiguration(DefaultConfiguration(gates), gates);
    for (const std::string_view field : {"bindingTimeout:", "placementGenerate:", "placementScore:"})
      EXPECT_EQ(Has(text, field), minor == 36) << field << " in 1." << minor;
  }
}

}  // namespace
}  // namespace berth::config
