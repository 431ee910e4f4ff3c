// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/metrics/process_metrics.h"

#include <string>

#include <gtest/gtest.h>

#include "berth/shell/metrics/text_format.h"

namespace berth::metrics {
namespace {

double ValueOf(const std::string& text, const std::string& series) {
  const std::size_t at = text.find("\n" + series + " ");
  EXPECT_NE(at, std::string::npos) << series << "\n" << text;
  return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
}

TEST(ProcessMetricsTest, ReportsThisProcess) {
  MetricRegistry registry;
  AddProcessMetrics(registry);
  const std::string text = WriteText(registry);
  EXPECT_GE(ValueOf(text, "process_cpu_seconds_total"), 0);
  EXPECT_GT(ValueOf(text, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(ValueOf(text, "process_virtual_memory_bytes"), ValueOf(text, "process_resident_memory_bytes"));
  EXPECT_GE(ValueOf(text, "process_open_fds"), 3);
  EXPECT_GE(ValueOf(text, "process_max_fds"), ValueOf(text, "process_open_fds"));
  EXPECT_GT(ValueOf(text, "process_start_time_seconds"), 1.6e9);
}

TEST(ProcessMetricsTest, ReportsTheVersion) {
  MetricRegistry registry;
  AddBuildMetrics(registry, {"1", "36", "v1.36.3"});
  EXPECT_NE(WriteText(registry).find("git_version=\"v1.36.3\",go_version=\"\",major=\"1\",minor=\"36\""),
            std::string::npos);
}

TEST(ProcessMetricsTest, ReportsWhoLeads) {
  MetricRegistry registry;
  SetLeader(registry, "kube-scheduler", true);
  EXPECT_NE(WriteText(registry).find("leader_election_master_status{name=\"kube-scheduler\"} 1\n"), std::string::npos);
  SetLeader(registry, "kube-scheduler", false);
  EXPECT_NE(WriteText(registry).find("leader_election_master_status{name=\"kube-scheduler\"} 0\n"), std::string::npos);
}

TEST(ProcessMetricsTest, ReportsReleases) {
  MetricRegistry registry;
  SetReleases(registry, 36, 36);
  SetReleases(registry, 36, 37);
  const std::string text = WriteText(registry);
  EXPECT_NE(text.find("\nberth_followed_kubernetes_minor 36\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nberth_api_server_kubernetes_minor 37\n"), std::string::npos) << text;
}

TEST(ProcessMetricsTest, ReportsRenewalsThatTookTwoRequests) {
  MetricRegistry registry;
  std::uint64_t count = 0;
  AddSlowRenewals(registry, "kube-scheduler", [&count] { return count; });
  EXPECT_NE(WriteText(registry).find("leader_election_slowpath_total{name=\"kube-scheduler\"} 0\n"), std::string::npos);
  count = 2;
  EXPECT_NE(WriteText(registry).find("leader_election_slowpath_total{name=\"kube-scheduler\"} 2\n"), std::string::npos);
}

TEST(ProcessMetricsTest, ReportsTheLog) {
  MetricRegistry registry;
  AddLogMetrics(registry);
  EXPECT_EQ(ValueOf(WriteText(registry), "berth_log_lines_dropped_total"), 0);
}

TEST(ProcessMetricsTest, ReportsTheFeatures) {
  MetricRegistry registry;
  AddFeatureMetrics(registry, {{"A", "BETA", true}, {"B", "", false}});
  const std::string text = WriteText(registry);
  EXPECT_NE(text.find("kubernetes_feature_enabled{name=\"A\",stage=\"BETA\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("kubernetes_feature_enabled{name=\"B\",stage=\"\"} 0\n"), std::string::npos);
}

}  // namespace
}  // namespace berth::metrics
