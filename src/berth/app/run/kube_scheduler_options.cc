// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/kube_scheduler_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "berth/core/config/field_errors.h"
#include "berth/shell/net/url.h"

namespace berth::app {
namespace {

using config::FieldErrors;

// Those that Go's crypto/tls has names for, insecure ones too.
constexpr auto kCipherSuites = std::to_array<std::string_view>({
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
});

bool IsBlank(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; });
}

bool HasIgnoringCase(const std::vector<std::string>& values, std::string_view wanted) {
  return std::any_of(values.begin(), values.end(),
                     [wanted](const std::string& value) { return net::EqualsIgnoreCase(value, wanted); });
}

void CheckServing(FieldErrors& errors, const serving::SecureServingOptions& options) {
  if (options.port < 0 || options.port > 65535)
    errors.Invalid("--secure-port", options.port, "should be from 1 to 65535, or 0 to serve nothing");
  if (options.port == 0) return;  // as upstream: what it does not need it does not look at
  for (const std::string& suite : options.cipher_suites) {
    if (std::find(kCipherSuites.begin(), kCipherSuites.end(), suite) == kCipherSuites.end())
      errors.Invalid("--tls-cipher-suites", suite,
                     "should be the name of a cipher suite in Go, for example TLS_AES_128_GCM_SHA256");
  }
  const auto versions =
      std::to_array<std::string_view>({"", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"});
  if (std::find(versions.begin(), versions.end(), options.min_tls_version) == versions.end())
    errors.NotSupported("--tls-min-version", options.min_tls_version,
                        {"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"});
  // P-256, P-384, P-521, X25519 and the three with ML-KEM.
  const auto curves = std::to_array<std::int32_t>({23, 24, 25, 29, 4587, 4588, 4589});
  std::set<std::int32_t> seen;
  for (const std::int32_t curve : options.curves) {
    if (std::find(curves.begin(), curves.end(), curve) == curves.end())
      errors.Invalid("--tls-curve-preferences", curve,
                     "should be the number of a key exchange that Go has, for example 29");
    if (!seen.insert(curve).second) errors.Duplicate("--tls-curve-preferences", std::to_string(curve));
  }
  if (options.cert_file.empty() != options.key_file.empty())
    errors.Required(options.cert_file.empty() ? "--tls-cert-file" : "--tls-private-key-file",
                    "a certificate and its key are given together");
}

void CheckAuthentication(FieldErrors& errors, const serving::AuthenticationOptions& options,
                         const config::FeatureGates& gates) {
  const auto check = [&](std::string_view flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      if (IsBlank(value)) errors.Invalid(flag, value, "should not be blank");
    }
  };
  check("--requestheader-username-headers", options.request_header.username_headers);
  check("--requestheader-group-headers", options.request_header.group_headers);
  check("--requestheader-extra-headers-prefix", options.request_header.extra_header_prefixes);
  check("--requestheader-allowed-names", options.request_header.allowed_names);
  if (options.request_header.uid_headers.empty()) return;
  if (!gates.Enabled("RemoteRequestHeaderUID")) {
    errors.Forbidden("--requestheader-uid-headers", "needs the feature gate RemoteRequestHeaderUID");
    return;
  }
  check("--requestheader-uid-headers", options.request_header.uid_headers);
  if (!HasIgnoringCase(options.request_header.uid_headers, "X-Remote-Uid"))
    errors.Invalid("--requestheader-uid-headers", options.request_header.uid_headers.front(),
                   "X-Remote-Uid should be among them");
}

bool IsName(std::string_view text, bool may_have_colons) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(), [may_have_colons](unsigned char c) {
    return (std::isalnum(c) != 0 && c < 0x80) || c == '_' || (may_have_colons && c == ':');
  });
}

void CheckMetrics(FieldErrors& errors, const MetricsOptions& options, int release_minor) {
  const std::string previous = "1." + std::to_string(release_minor - 1);
  if (!options.show_hidden_metrics_for_version.empty() && options.show_hidden_metrics_for_version != previous)
    errors.Invalid("--show-hidden-metrics-for-version", options.show_hidden_metrics_for_version,
                   "should be " + previous + ", or left out");
  for (const std::string& name : options.disabled_metrics) {
    if (!IsName(name, true)) errors.Invalid("--disabled-metrics", name, "should be the full name of a metric");
  }
  for (const auto& [key, values] : options.allow_metric_labels) {
    if (!IsMetricLabel(key)) errors.Invalid("--allow-metric-labels", key, "should be METRIC,LABEL");
  }
  if (!options.allow_metric_labels.empty() && !options.allow_metric_labels_manifest.empty())
    errors.Forbidden("--allow-metric-labels-manifest", "may not be given together with --allow-metric-labels");
}

void CheckLogging(FieldErrors& errors, const LoggingOptions& options, const config::FeatureGates& gates) {
  if (options.flush_frequency <= Duration::zero())
    errors.Invalid("--log-flush-frequency", FormatGoDuration(options.flush_frequency), "must be greater than 0");
  if (options.format != "text" && options.format != "json")
    errors.NotSupported("--logging-format", options.format, {"text", "json"});
  if (options.format == "json" && !gates.Enabled("LoggingBetaOptions"))
    errors.Forbidden("--logging-format", "json needs the feature gate LoggingBetaOptions");
  if (!options.vmodule.empty() && options.format != "text")
    errors.Forbidden("--vmodule", "is for --logging-format=text only");
  for (const auto& [pattern, level] : options.vmodule) {
    if (pattern.find_first_of("=,") != std::string::npos)
      errors.Invalid("--vmodule", pattern, "should be PATTERN=NUMBER");
  }
  if (gates.Enabled("LoggingAlphaOptions")) return;
  const auto check = [&](std::string_view flag, bool is_set) {
    if (is_set) errors.Forbidden(flag, "needs the feature gate LoggingAlphaOptions");
  };
  check("--log-text-split-stream", options.text_split_stream);
  check("--log-text-info-buffer-size", options.text_info_buffer_size != 0);
  check("--log-json-split-stream", options.json_split_stream);
  check("--log-json-info-buffer-size", options.json_info_buffer_size != 0);
}

}  // namespace

bool IsMetricLabel(std::string_view text) {
  const std::size_t comma = text.find(',');
  return comma != std::string_view::npos && IsName(text.substr(0, comma), true) &&
         IsName(text.substr(comma + 1), false);
}

Expected<void> ValidateOptions(const KubeSchedulerOptions& options, const config::FeatureGates& gates) {
  FieldErrors errors;
  CheckLogging(errors, options.logging, gates);
  CheckServing(errors, options.secure_serving);
  CheckAuthentication(errors, options.authentication, gates);
  CheckMetrics(errors, options.metrics, gates.release_minor());
  return errors.Result();
}

void ApplyOptions(const KubeSchedulerOptions& options, bool is_from_file,
                  config::KubeSchedulerConfiguration& configuration) {
  const auto apply = [&](std::string_view flag, const auto& from, auto& to) {
    if (options.IsGiven(flag)) to = from;
  };
  if (!is_from_file) {
    const DeprecatedOptions& deprecated = options.deprecated;
    config::ClientConnection& connection = configuration.client_connection;
    apply("profiling", deprecated.profiling, configuration.enable_profiling);
    apply("contention-profiling", deprecated.contention_profiling, configuration.enable_contention_profiling);
    apply("kubeconfig", deprecated.kubeconfig, connection.kubeconfig);
    apply("kube-api-content-type", deprecated.kube_api_content_type, connection.content_type);
    apply("kube-api-qps", deprecated.kube_api_qps, connection.qps);
    apply("kube-api-burst", deprecated.kube_api_burst, connection.burst);
  }
  const config::LeaderElection& from = options.leader_election;
  config::LeaderElection& to = configuration.leader_election;
  apply("leader-elect", from.leader_elect, to.leader_elect);
  apply("leader-elect-lease-duration", from.lease_duration, to.lease_duration);
  apply("leader-elect-renew-deadline", from.renew_deadline, to.renew_deadline);
  apply("leader-elect-retry-period", from.retry_period, to.retry_period);
  apply("leader-elect-resource-lock", from.resource_lock, to.resource_lock);
  apply("leader-elect-resource-name", from.resource_name, to.resource_name);
  apply("leader-elect-resource-namespace", from.resource_namespace, to.resource_namespace);
}

}  // namespace berth::app
