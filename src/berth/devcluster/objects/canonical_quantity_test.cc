// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/canonical_quantity.h"

#include <gtest/gtest.h>

namespace berth::objects {
namespace {

TEST(CanonicalQuantity, IsWhatTheRealServerStores) {
  struct Case {
    const char* in;
    const char* want;
  };
  const Case cases[] = {{"1", "1"},          {"0", "0"},           {"1500m", "1500m"},  {"2000m", "2"},
                        {"0.5", "500m"},     {"1.5", "1500m"},     {"1000", "1k"},      {"1024Mi", "1Gi"},
                        {"1.5Gi", "1536Mi"}, {"1023Ki", "1023Ki"}, {"0.5Ki", "512"},    {"1e3", "1e3"},
                        {"1000e3", "1e6"},   {"1E", "1E"},         {"100000k", "100M"}, {"-1500m", "-1500m"},
                        {"64Gi", "64Gi"},    {"0Gi", "0"},         {"1n", "1n"},        {"nonsense", "nonsense"}};
  for (const Case& c : cases) EXPECT_EQ(CanonicalQuantity(c.in), c.want) << c.in;
}

TEST(CanonicalizeQuantities, TouchesQuantitiesAlone) {
  json::object pod = json::parse(R"({"metadata":{"labels":{"cpu":"1000m"}},"spec":{"containers":[{"name":"1000m",
      "resources":{"limits":{"cpu":2,"memory":"2048Mi","x/y":0.25},"requests":{"cpu":"1000m"}}}],
      "volumes":[{"name":"v","emptyDir":{"sizeLimit":"1024Ki"}}]}})")
                         .as_object();
  CanonicalizeQuantities(*FindResource("", "v1", "pods"), pod);
  EXPECT_EQ(pod, json::parse(R"({"metadata":{"labels":{"cpu":"1000m"}},"spec":{"containers":[{"name":"1000m",
      "resources":{"limits":{"cpu":"2","memory":"2Gi","x/y":"250m"},"requests":{"cpu":"1"}}}],
      "volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Mi"}}]}})")
                     .as_object());
}

}  // namespace
}  // namespace berth::objects
