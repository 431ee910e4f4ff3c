// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/autoscaler_conversion.h"

#include <gtest/gtest.h>

namespace berth::objects {
namespace {

namespace json = codec::json;

TEST(AutoscalerConversion, ThereAndBack) {
  const json::object v2 = json::parse(R"({"apiVersion":"autoscaling/v2","metadata":{"name":"a"},"spec":{"maxReplicas":5,
      "metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}},
                 {"type":"Pods","pods":{"metric":{"name":"q"}}}]},"status":{}})")
                              .as_object();
  json::object object = v2;
  ToAutoscalerV1(object);
  EXPECT_EQ(object.at("apiVersion"), "autoscaling/v1");
  EXPECT_EQ(object.at("spec"), json::parse(R"({"maxReplicas":5,"targetCPUUtilizationPercentage":50})"));
  EXPECT_EQ(object.at("metadata").at("annotations").at("autoscaling.alpha.kubernetes.io/metrics"),
            R"([{"type":"Pods","pods":{"metric":{"name":"q"}}}])");
  ToAutoscalerV2(object);
  EXPECT_EQ(object, v2);
}

TEST(AutoscalerConversion, OfLittle) {
  json::object object = json::parse(R"({"spec":{"maxReplicas":5},"metadata":{"annotations":
      {"autoscaling.alpha.kubernetes.io/metrics":"no JSON"}}})")
                            .as_object();
  ToAutoscalerV2(object);
  EXPECT_FALSE(object.at("spec").as_object().contains("metrics"));
  EXPECT_EQ(object.at("metadata").at("annotations").as_object().size(), 1u);
  ToAutoscalerV1(object);
  EXPECT_EQ(object.at("spec"), json::parse(R"({"maxReplicas":5})"));
}

}  // namespace
}  // namespace berth::objects
