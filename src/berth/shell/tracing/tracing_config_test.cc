// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/tracing/tracing_config.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::tracing {
namespace {

std::string File(const std::string& rest, const std::string& version = "v1") {
  return "apiVersion: apiserver.config.k8s.io/" + version + "\nkind: TracingConfiguration\n" + rest;
}

TEST(TracingConfigTest, Reads) {
  struct Case {
    std::string endpoint;
    OtlpProtocol protocol;
    std::string url;
    std::string path;
  };
  const std::string grpc = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
  const std::vector<Case> cases = {
      {"", OtlpProtocol::kGrpc, "http://localhost:4317", grpc},
      {"endpoint: collector:5317", OtlpProtocol::kGrpc, "http://collector:5317", grpc},
      {"endpoint: collector", OtlpProtocol::kGrpc, "http://collector:4317", grpc},
      {"endpoint: '[::1]:4317'", OtlpProtocol::kGrpc, "http://[::1]:4317", grpc},
      {"endpoint: dns:///collector.monitoring:4317", OtlpProtocol::kGrpc, "http://collector.monitoring:4317", grpc},
      {"endpoint: dns://10.0.0.10/collector:4317", OtlpProtocol::kGrpc, "http://collector:4317", grpc},
      {"endpoint: dns:collector:4317", OtlpProtocol::kGrpc, "http://collector:4317", grpc},
      {"endpoint: http://collector:4318", OtlpProtocol::kHttp, "http://collector:4318", "/v1/traces"},
      {"endpoint: https://collector/", OtlpProtocol::kHttp, "https://collector:443", "/v1/traces"},
      {"endpoint: http://collector:4318/otlp/v1/traces", OtlpProtocol::kHttp, "http://collector:4318",
       "/otlp/v1/traces"},
  };
  for (const Case& c : cases) {
    const auto config = ParseTracingConfiguration(File("samplingRatePerMillion: 100\n" + c.endpoint));
    ASSERT_TRUE(config.ok()) << c.endpoint << ": " << config.error().message;
    EXPECT_EQ(config->protocol, c.protocol) << c.endpoint;
    EXPECT_EQ(config->url, c.url) << c.endpoint;
    EXPECT_EQ(config->path, c.path) << c.endpoint;
    EXPECT_EQ(config->per_million, 100U) << c.endpoint;
  }
  EXPECT_EQ(ParseTracingConfiguration(File("", "v1beta1"))->per_million, 0U);
  EXPECT_EQ(ParseTracingConfiguration(File("samplingRatePerMillion: 1000000", "v1alpha1"))->per_million, 1'000'000U);
}

TEST(TracingConfigTest, BadInputGetsOneLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "the text is empty: expected one YAML or JSON document"},
      {"[1]", "should be a TracingConfiguration"},
      {"kind: TracingConfiguration",
       "apiVersion: should be apiserver.config.k8s.io/v1, or v1beta1 or v1alpha1 of that group"},
      {"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration", "kind: should be TracingConfiguration"},
      {File("samplingRate: 1"), "unknown field \"samplingRate\""},
      {File("samplingRatePerMillion: -1"), "samplingRatePerMillion: should be a whole number from 0 to 1000000"},
      {File("samplingRatePerMillion: 1000001"), "samplingRatePerMillion: should be a whole number from 0 to 1000000"},
      {File("samplingRatePerMillion: '5'"), "samplingRatePerMillion: should be a whole number from 0 to 1000000"},
      {File("endpoint: unix:///run/otel.sock"),
       "endpoint: unsupported scheme of \"unix:///run/otel.sock\"; should be host:port or dns:///host:port for gRPC, "
       "or a "
       "URL with http:// or https://"},
      {File("endpoint: 7"), "endpoint: should be a text"},
  };
  for (const auto& [text, want] : cases) {
    const auto config = ParseTracingConfiguration(text);
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_EQ(config.error().message, want) << text;
  }
  for (const std::string endpoint : {"collector:port", "':4317'", "http://", "'a b:1'"}) {
    const auto config = ParseTracingConfiguration(File("endpoint: " + endpoint));
    ASSERT_FALSE(config.ok()) << endpoint;
    EXPECT_TRUE(config.error().message.starts_with("endpoint: ")) << config.error().message;
  }
}

}  // namespace
}  // namespace berth::tracing
