// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/tracing/tracing_config.h"

#include <algorithm>
#include <array>

#include "berth/codec/json.h"
#include "berth/codec/yaml.h"
#include "berth/shell/net/url.h"

namespace berth::tracing {
namespace {

using codec::json::object;
using codec::json::value;

constexpr std::array<std::string_view, 3> kVersions = {"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1",
                                                       "apiserver.config.k8s.io/v1alpha1"};
constexpr std::int64_t kRateMax = 1'000'000;
constexpr std::uint16_t kGrpcPort = 4317;
constexpr std::string_view kHttpPath = "/v1/traces";

std::string_view TextOf(const object& from, std::string_view key) {
  const value* const found = from.if_contains(key);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

Expected<void> ReadRate(const value& rate, TracingConfig& config) {
  if (rate.is_null()) return {};
  const bool is_number = rate.is_int64() || rate.is_uint64();
  const std::int64_t number = rate.is_int64() ? rate.get_int64()
                              : rate.is_uint64()
                                  ? static_cast<std::int64_t>(std::min<std::uint64_t>(rate.get_uint64(), INT64_MAX))
                                  : 0;
  if (!is_number || number < 0 || number > kRateMax)
    return InvalidError("samplingRatePerMillion: should be a whole number from 0 to 1000000");
  config.per_million = static_cast<std::uint32_t>(number);
  return {};
}

Expected<void> SetGrpc(std::string_view authority, TracingConfig& config) {
  const auto parsed = net::ParseAuthority(authority, kGrpcPort);
  if (!parsed.ok())
    return InvalidError("endpoint: " + parsed.error().message +
                        "; should be host:port of a collector, as in localhost:4317");
  config.protocol = OtlpProtocol::kGrpc;
  config.url = "http://" + net::JoinHostPort(parsed->first, parsed->second);
  if (const auto url = net::ParseUrl(config.url); !url.ok()) return InvalidError("endpoint: " + url.error().message);
  return {};
}

Expected<void> SetHttp(const std::string& endpoint, TracingConfig& config) {
  const auto url = net::ParseUrl(endpoint);
  if (!url.ok()) return InvalidError("endpoint: " + url.error().message);
  config.protocol = OtlpProtocol::kHttp;
  config.url = url->scheme + "://" + net::JoinHostPort(url->host, url->port);
  config.path = url->path.empty() || url->path == "/" ? std::string(kHttpPath) : url->path;
  return {};
}

Expected<void> ReadEndpoint(const value& given, TracingConfig& config) {
  if (given.is_null()) return {};
  if (!given.is_string()) return InvalidError("endpoint: should be a text");
  const std::string endpoint(given.get_string().c_str());
  if (endpoint.starts_with("http://") || endpoint.starts_with("https://")) return SetHttp(endpoint, config);
  std::string_view target = endpoint;
  // gRPC's names of a host: dns:host:port, dns:///host:port, dns://server/host:port.
  if (target.starts_with("dns:")) {
    target.remove_prefix(4);
    if (target.starts_with("//")) {
      const std::size_t slash = target.find('/', 2);
      target = slash == std::string_view::npos ? std::string_view() : target.substr(slash + 1);
    }
  } else if (target.find("//") != std::string_view::npos || target.starts_with("unix:")) {
    return InvalidError("endpoint: unsupported scheme of \"" + endpoint.substr(0, 100) +
                        "\"; should be host:port or dns:///host:port for gRPC, or a URL with http:// or https://");
  }
  return SetGrpc(target, config);
}

}  // namespace

Expected<TracingConfig> ParseTracingConfiguration(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const value document, codec::ParseYaml(text));
  if (!document.is_object()) return InvalidError("should be a TracingConfiguration");
  const object& fields = document.get_object();
  const std::string_view version = TextOf(fields, "apiVersion");
  if (std::find(kVersions.begin(), kVersions.end(), version) == kVersions.end())
    return InvalidError("apiVersion: should be " + std::string(kVersions[0]) +
                        ", or v1beta1 or v1alpha1 of that group");
  if (TextOf(fields, "kind") != "TracingConfiguration") return InvalidError("kind: should be TracingConfiguration");
  TracingConfig config;
  for (const auto& field : fields) {
    const std::string_view key = field.key();
    if (key == "apiVersion" || key == "kind") continue;
    if (key == "endpoint") {
      BERTH_RETURN_IF_ERROR(ReadEndpoint(field.value(), config));
    } else if (key == "samplingRatePerMillion") {
      BERTH_RETURN_IF_ERROR(ReadRate(field.value(), config));
    } else {
      return InvalidError("unknown field \"" + std::string(key) + "\"");
    }
  }
  return config;
}

}  // namespace berth::tracing
