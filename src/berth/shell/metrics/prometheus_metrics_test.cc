// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/metrics/prometheus_metrics.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::metrics {
namespace {

TEST(PrometheusMetricsTest, WritesTheTextFormat) {
  PrometheusMetrics metrics;
  metrics.GetCounter("berth_things_total", "Things.", {{"kind", "a"}}).Add();
  metrics.GetCounter("berth_things_total", "Things.", {{"kind", "a"}}).Add(2);
  metrics.GetCounter("berth_things_total", "Things.", {{"kind", "b\"c"}}).Add();
  metrics.GetGauge("berth_level", "Level.", {}).Set(0.5);
  metrics.GetHistogram("berth_waits_seconds", "Waits.", {0.5, 2}, {{"kind", "a"}}).Observe(1);
  metrics.GetHistogram("berth_waits_seconds", "Waits.", {0.5, 2}, {{"kind", "a"}}).Observe(3);
  const std::string text = metrics.Text();
  for (const char* line :
       {"# HELP berth_things_total Things.\n", "# TYPE berth_things_total counter\n",
        "berth_things_total{kind=\"a\"} 3\n", "berth_things_total{kind=\"b\\\"c\"} 1\n", "# TYPE berth_level gauge\n",
        "berth_level 0.5\n", "# TYPE berth_waits_seconds histogram\n",
        "berth_waits_seconds_bucket{kind=\"a\",le=\"0.5\"} 0\n", "berth_waits_seconds_bucket{kind=\"a\",le=\"2\"} 1\n",
        "berth_waits_seconds_bucket{kind=\"a\",le=\"+Inf\"} 2\n", "berth_waits_seconds_sum{kind=\"a\"} 4\n",
        "berth_waits_seconds_count{kind=\"a\"} 2\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

}  // namespace
}  // namespace berth::metrics
