// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/metrics/text_format.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::metrics {
namespace {

// As strconv.FormatFloat(v, 'g', -1, 64) answers.
TEST(TextFormatTest, NumbersAreThoseOfGo) {
  const struct {
    double value;
    const char* want;
  } kCases[] = {{0, "0"},
                {1, "1"},
                {0.001, "0.001"},
                {0.0001, "0.0001"},
                {1e-5, "1e-05"},
                {0.000015, "1.5e-05"},
                {123456, "123456"},
                {100000, "100000"},
                {1000000, "1e+06"},
                {1234567, "1.234567e+06"},
                {16777216, "1.6777216e+07"},
                {1763938394.25, "1.76393839425e+09"},
                {-2.5, "-2.5"},
                {1.0 / 0.0, "+Inf"}};
  for (const auto& c : kCases) EXPECT_EQ(FormatNumber(c.value), c.want);
}

TEST(TextFormatTest, FamiliesLabelsAndSeriesAreInOrder) {
  MetricRegistry registry;
  CounterFamily& pods = registry.AddCounter({"pods_total", "Pods.", {"queue", "event"}});
  pods.With({"b", "y"}).Add(3);
  pods.With({"a", "z"}).Add();
  pods.With({"c", "y"}).Add();
  registry.AddGauge({"level", "How \"high\"\n\\ it is.", {}}).With({}).Set(0.5);
  EXPECT_EQ(WriteText(registry),
            "# HELP level How \"high\"\\n\\\\ it is.\n# TYPE level gauge\nlevel 0.5\n"
            "# HELP pods_total Pods.\n# TYPE pods_total counter\n"
            "pods_total{event=\"y\",queue=\"b\"} 3\n"
            "pods_total{event=\"y\",queue=\"c\"} 1\n"
            "pods_total{event=\"z\",queue=\"a\"} 1\n");
}

TEST(TextFormatTest, HistogramsAreCumulative) {
  MetricRegistry registry;
  HistogramFamily& seconds = registry.AddHistogram({"seconds", "S.", {"of"}, ExponentialBuckets(0.001, 2, 3)});
  HistogramCell& cell = seconds.With({"a\"b"});
  cell.Observe(0.001);
  cell.Observe(0.0015, 2);
  cell.Observe(7);
  EXPECT_EQ(WriteText(registry),
            "# HELP seconds S.\n# TYPE seconds histogram\n"
            "seconds_bucket{of=\"a\\\"b\",le=\"0.001\"} 1\n"
            "seconds_bucket{of=\"a\\\"b\",le=\"0.002\"} 3\n"
            "seconds_bucket{of=\"a\\\"b\",le=\"0.004\"} 3\n"
            "seconds_bucket{of=\"a\\\"b\",le=\"+Inf\"} 4\n"
            "seconds_sum{of=\"a\\\"b\"} 7.004\n"
            "seconds_count{of=\"a\\\"b\"} 4\n");
}

TEST(TextFormatTest, FamiliesWithoutSeriesShowWhatTheyAre) {
  MetricRegistry registry;
  registry.AddCounter({"pods_total", "Pods.", {"queue"}});
  EXPECT_EQ(WriteText(registry), "# HELP pods_total Pods.\n# TYPE pods_total counter\n");
}

TEST(MetricRegistryTest, ANameOfAnotherTypeIsNotRead) {
  MetricRegistry registry;
  registry.AddCounter({"pods_total", "Pods.", {}}).With({}).Add();
  registry.AddGauge({"pods_total", "Else.", {}}).With({}).Set(5);
  EXPECT_EQ(WriteText(registry), "# HELP pods_total Pods.\n# TYPE pods_total counter\npods_total 1\n");
}

TEST(MetricRegistryTest, SeriesAreBounded) {
  MetricRegistry registry;
  CounterFamily& family = registry.AddCounter({"pods_total", "Pods.", {"name"}});
  for (std::size_t i = 0; i < MetricFamily::kSeriesMax + 5; ++i) family.With({std::to_string(i)}).Add();
  EXPECT_EQ(family.Collect().size(), MetricFamily::kSeriesMax);
}

TEST(MetricRegistryTest, LooksThingsUpBeforeReading) {
  MetricRegistry registry;
  GaugeCell& level = registry.AddGauge({"level", "L.", {}}).With({});
  registry.BeforeReading([&] { level.Set(level.value() + 1); });
  WriteText(registry);
  EXPECT_NE(WriteText(registry).find("level 2\n"), std::string::npos);
}

}  // namespace
}  // namespace berth::metrics
