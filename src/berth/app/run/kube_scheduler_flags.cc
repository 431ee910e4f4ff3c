// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/kube_scheduler_flags.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>

#include "berth/api/quantity.h"
#include "berth/app/kubernetes_release.h"
#include "berth/base/go_text.h"
#include "berth/base/text.h"
#include "berth/framework/release.h"

namespace berth::app {
namespace {

constexpr FlagEffect kSame = FlagEffect::kSame;
constexpr FlagEffect kOther = FlagEffect::kOther;
constexpr FlagEffect kNone = FlagEffect::kNone;

constexpr std::string_view kServed = "on all of berth's metrics, too; they are counted, and not served";
constexpr std::string_view kAllMetrics = "every metric is served";
constexpr std::string_view kFileFirst = "without --config only";
constexpr std::string_view kUnbuffered = "berth writes each line at once";

constexpr auto kNotes = std::to_array<FlagNote>({
    {"config", kSame, ""},
    {"master", kSame, ""},
    {"write-config-to", kOther,
     "`clientConnection.qps` is -1, no limit, where neither the file nor a flag says it, and `burst` is left out where "
     "there is no limit"},
    {"bind-address", kSame, ""},
    {"cert-dir", kSame, ""},
    {"disable-http2-serving", kSame, ""},
    {"http2-max-streams-per-connection", kSame, ""},
    {"permit-address-sharing", kNone, "the port is bound so in any case, as Go does"},
    {"permit-port-sharing", kSame, ""},
    {"secure-port", kOther, "as `berth run` nothing is served unless the flag is given"},
    {"tls-cert-file", kSame, ""},
    {"tls-cipher-suites", kSame, ""},
    {"tls-curve-preferences", kSame, ""},
    {"tls-min-version", kSame, ""},
    {"tls-private-key-file", kSame, ""},
    {"tls-sni-cert-key", kSame, ""},
    {"authentication-kubeconfig", kSame, ""},
    {"authentication-skip-lookup", kSame, ""},
    {"authentication-token-webhook-cache-ttl", kSame, ""},
    {"authentication-tolerate-lookup-failure", kSame, ""},
    {"client-ca-file", kSame, ""},
    {"requestheader-allowed-names", kSame, ""},
    {"requestheader-client-ca-file", kSame, ""},
    {"requestheader-extra-headers-prefix", kSame, ""},
    {"requestheader-group-headers", kSame, ""},
    {"requestheader-uid-headers", kSame, ""},
    {"requestheader-username-headers", kSame, ""},
    {"authorization-always-allow-paths", kSame, ""},
    {"authorization-kubeconfig", kSame, ""},
    {"authorization-webhook-cache-authorized-ttl", kSame, ""},
    {"authorization-webhook-cache-unauthorized-ttl", kSame, ""},
    {"contention-profiling", kNone, "berth has no profile of Go's runtime to give"},
    {"kube-api-burst", kSame, kFileFirst},
    {"kube-api-content-type", kSame, kFileFirst},
    {"kube-api-qps", kOther,
     "without --config only; there is no limit unless a rate above 0 is given; NaN and infinity are refused"},
    {"kubeconfig", kOther,
     "without --config only; as `berth run` it also fills in what a file's clientConnection leaves out"},
    {"pod-max-in-unschedulable-pods-duration", kSame, "with --config, too"},
    {"profiling", kNone, "berth has no profile of Go's runtime to give"},
    {"leader-elect", kSame, "not with --once"},
    {"leader-elect-lease-duration", kSame, ""},
    {"leader-elect-renew-deadline", kSame, ""},
    {"leader-elect-resource-lock", kSame, ""},
    {"leader-elect-resource-name", kOther, "with --scheduler-name that name is the default"},
    {"leader-elect-resource-namespace", kSame, ""},
    {"leader-elect-retry-period", kSame, ""},
    {"emulated-version", kOther,
     "decides which gates may be set and what they are by default; --kubernetes-version is for the rest"},
    {"feature-gates", kOther, "a value that berth has not is refused by name; they are listed at the end of this page"},
    {"min-compatibility-version", kSame, ""},
    {"allow-metric-labels", kSame, kServed},
    {"allow-metric-labels-manifest", kSame, kServed},
    {"disabled-metrics", kSame, kServed},
    {"show-hidden-metrics-for-version", kNone, kAllMetrics},
    {"log-flush-frequency", kNone, kUnbuffered},
    {"log-json-info-buffer-size", kNone, kUnbuffered},
    {"log-json-split-stream", kSame, "without a buffer"},
    {"log-text-info-buffer-size", kNone, kUnbuffered},
    {"log-text-split-stream", kSame, "without a buffer"},
    {"logging-format", kSame, ""},
    {"v", kOther,
     "kube-scheduler's lines about attempts have its levels (docs/run.md), berth's own are at 0, and from 4 on there "
     "is "
     "one for each decision"},
    {"vmodule", kOther,
     "patterns are matched with kube-scheduler's sources where a line is its own (schedule_one, eventhandlers, "
     "scheduling_queue ...), with berth's sources, and with the folders that speak: app, client, queue, scheduler ..."},
    {"help", kSame, ""},
    {"version", kOther,
     "prints the version of Kubernetes that berth stands in for, with its own: v1.36.3+berth.VERSION"},
});

// Go's net.ParseIP: no leading zeros, no zone, no port.
bool IsIpAddress(const std::string& text) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) return true;
  if (inet_pton(AF_INET, text.c_str(), &v4) != 1) return false;
  for (const std::string_view part : Split(text, '.')) {
    if (part.size() > 1 && part[0] == '0') return false;
  }
  return true;
}

std::string ParseNamedCertKey(std::string_view value, serving::NamedCertificateFiles& out) {
  const std::size_t colon = value.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view names = Trim(value.substr(colon + 1));
    if (names.empty()) return "should have a domain after the colon, as in foo.crt,foo.key:foo.example.com";
    for (const std::string_view name : Split(names, ',')) out.names.emplace_back(Trim(name));
  }
  const std::vector<std::string_view> files = Split(Trim(value.substr(0, colon)), ',');
  if (files.size() != 2) return "should be two files, as in foo.crt,foo.key";
  out.cert_file = Trim(files[0]);
  out.key_file = Trim(files[1]);
  return "";
}

std::optional<std::int32_t> ParseVerbosity(std::string_view text) {
  std::int32_t level = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level);
  if (text.empty() || text[0] == '-' || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return level;
}

std::string GatesHelp() {
  std::string text;
  for (const config::GateRow& row : config::FeatureGates::Table()) {
    const auto spec = config::FeatureGates::SpecAt(row.name, framework::kNewestRelease);
    if (!row.IsIn(framework::kNewestRelease)) continue;
    if (spec->stage != config::GateStage::kAlpha && spec->stage != config::GateStage::kBeta) continue;
    text += "\nkube:" + std::string(row.name) + "=true|false (" + std::string(ToString(spec->stage)) +
            " - default=" + (spec->is_on ? "true" : "false") + ')';
  }
  return text;
}

void AddServing(cli::FlagSet& flags, serving::SecureServingOptions& options, UnusedServingOptions& unused) {
  flags.BeginGroup("Secure serving");
  flags
      .Add("bind-address", "ip", "The IP address to listen on for --secure-port; 0.0.0.0 and :: are all interfaces",
           [&options](std::string_view value) -> std::string {
             const std::string address(Trim(value));
             if (address.empty()) return "";
             if (!IsIpAddress(address)) return "should be an IP address, for example 127.0.0.1";
             options.bind_address = address;
             return "";
           })
      .default_text = options.bind_address;
  flags.Add("cert-dir", options.cert_dir,
            "Directory of the certificates; not read when --tls-cert-file and --tls-private-key-file are given");
  flags.Add("disable-http2-serving", options.disables_http2, "Serve HTTP/1.1 only");
  flags.Add("http2-max-streams-per-connection", options.http2_streams_max,
            "Requests that a client may have under way at once on an HTTP/2 connection; 0 is 100");
  flags.Add("permit-address-sharing", unused.permit_address_sharing, "Listen with SO_REUSEADDR");
  flags.Add("permit-port-sharing", options.shares_port,
            "Listen with SO_REUSEPORT, so that several processes may share the port");
  flags.Add("secure-port", options.port,
            "The port of HTTPS; 0 serves nothing, and so does `berth run` unless this flag is given");
  flags.Add("tls-cert-file", options.cert_file,
            "Certificate for HTTPS, followed by those of its issuers; without it one is made that signs itself");
  flags.Add("tls-cipher-suites", options.cipher_suites,
            "Cipher suites of the server by their names in Go, separated by commas");
  const auto replaces = std::make_shared<bool>(true);
  flags.Add("tls-curve-preferences", "int32Slice",
            "Numbers of the key exchanges that are allowed, as Go's crypto/tls counts them (23: P-256, 29: X25519), "
            "separated by commas",
            [&options, replaces](std::string_view value) -> std::string {
              std::vector<std::int32_t> curves;
              for (const std::string_view part : Split(value, ',')) {
                const auto curve = cli::ParseGoInteger(part, 32);
                if (!curve) return "should be numbers, separated by commas, for example 29,23";
                curves.push_back(static_cast<std::int32_t>(*curve));
              }
              if (*replaces) options.curves.clear();
              *replaces = false;
              options.curves.insert(options.curves.end(), curves.begin(), curves.end());
              return "";
            });
  flags.Add("tls-min-version", options.min_tls_version,
            "The oldest version of TLS: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13");
  flags.Add("tls-private-key-file", options.key_file, "The key of --tls-cert-file");
  flags.Add("tls-sni-cert-key", "namedCertKey",
            "A certificate and its key, with the domains that it is for after a colon "
            "(foo.crt,foo.key:*.foo.com,foo.com); without, those of the certificate. May be given several times",
            [&options](std::string_view value) -> std::string {
              serving::NamedCertificateFiles key;
              if (std::string wrong = ParseNamedCertKey(value, key); !wrong.empty()) return wrong;
              options.named_certificates.push_back(std::move(key));
              return "";
            });
}

void AddAuthentication(cli::FlagSet& flags, serving::AuthenticationOptions& options) {
  flags.BeginGroup("Authentication");
  flags.Add("authentication-kubeconfig", options.kubeconfig,
            "kubeconfig of the API server that is asked who a token belongs to; without it tokens are not looked at");
  flags.Add("authentication-skip-lookup", options.skip_lookup,
            "Do not read the cluster's own authentication settings with --authentication-kubeconfig");
  flags.Add("authentication-token-webhook-cache-ttl", options.token_cache_ttl,
            "How long the answer about a token counts");
  flags.Add("authentication-tolerate-lookup-failure", options.tolerate_lookup_failure,
            "Go on when the cluster's authentication settings cannot be read; requests may then be anonymous");
  flags.Add("client-ca-file", options.client_ca_file,
            "Authorities whose client certificates say by their common name who asks");
  flags.Add(
      "requestheader-allowed-names", options.request_header.allowed_names,
      "Common names of the proxies that may say who asks; none: any that --requestheader-client-ca-file vouches for");
  flags.Add("requestheader-client-ca-file", options.request_header.client_ca_file,
            "Authorities of the certificates of such proxies");
  flags.Add("requestheader-extra-headers-prefix", options.request_header.extra_header_prefixes,
            "Prefixes of headers with more about the user");
  flags.Add("requestheader-group-headers", options.request_header.group_headers, "Headers with the user's groups");
  flags.Add("requestheader-uid-headers", options.request_header.uid_headers,
            "Headers with the user's UID; needs the gate RemoteRequestHeaderUID");
  flags.Add("requestheader-username-headers", options.request_header.username_headers, "Headers with the user's name");
}

void AddAuthorization(cli::FlagSet& flags, serving::AuthorizationOptions& options) {
  flags.BeginGroup("Authorization");
  flags.Add("authorization-always-allow-paths", options.always_allow_paths, "Paths that anybody may read");
  flags.Add(
      "authorization-kubeconfig", options.kubeconfig,
      "kubeconfig of the API server that is asked whether a request is allowed; without it all others are forbidden");
  flags.Add("authorization-webhook-cache-authorized-ttl", options.authorized_ttl, "How long a yes counts");
  flags.Add("authorization-webhook-cache-unauthorized-ttl", options.unauthorized_ttl, "How long a no counts");
}

void AddDeprecated(cli::FlagSet& flags, DeprecatedOptions& options) {
  flags.BeginGroup("Deprecated");
  flags.Add("contention-profiling", options.contention_profiling,
            "Profile waiting for locks, if --profiling; not with --config");
  flags.Add("kube-api-burst", options.kube_api_burst, "Requests at once to the API server; not with --config");
  flags.Add("kube-api-content-type", options.kube_api_content_type,
            "Content type of requests to the API server; not with --config");
  flags
      .Add("kube-api-qps", "float32",
           "Requests a second to the API server, less than 0 for no limit; not with --config",
           [&options](std::string_view value) -> std::string {
             double rate = 0;
             std::string_view digits = value;
             if (digits.starts_with('+')) digits.remove_prefix(1);
             const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rate);
             if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(rate) ||
                 std::abs(rate) > 3.4e38)
               return "should be a number of requests a second";
             options.kube_api_qps = rate;
             return "";
           })
      .default_text = "50";
  flags.Add("kubeconfig", options.kubeconfig, "kubeconfig file; not with --config");
  flags.Add("pod-max-in-unschedulable-pods-duration", options.pod_max_in_unschedulable_pods_duration,
            "How long a pod stays among the unschedulable ones before it is tried again without an event; with "
            "--config, too");
  flags.Add("profiling", options.profiling, "Serve profiles under /debug/pprof/; not with --config");
}

void AddLeaderElection(cli::FlagSet& flags, config::LeaderElection& options) {
  flags.BeginGroup("Leader election");
  flags.Add("leader-elect", options.leader_elect, "Schedule only while holding the lease, so that several may run");
  flags.Add("leader-elect-lease-duration", options.lease_duration,
            "How long others wait after the last renewal before they take the lease");
  flags.Add("leader-elect-renew-deadline", options.renew_deadline,
            "How long the holder tries to renew before it gives up; less than the lease duration");
  flags.Add("leader-elect-resource-lock", options.resource_lock, "The kind of the lock: leases");
  flags.Add("leader-elect-resource-name", options.resource_name, "The name of the lock");
  flags.Add("leader-elect-resource-namespace", options.resource_namespace, "The namespace of the lock");
  flags.Add("leader-elect-retry-period", options.retry_period, "How long to wait between two tries");
}

void AddFeatureGates(cli::FlagSet& flags, config::FeatureGateSettings& options) {
  flags.BeginGroup("Feature gate");
  flags.Add("emulated-version", options.emulated_versions,
            "The version whose features are known and on: kube=1.N, from three before the version that is followed on "
            "(default: that version)");
  // Commas stand between gates, and the gates are read when all have been given.
  flags.Add("feature-gates", "gates",
            "Features to switch on and off, NAME=BOOL separated by commas, with or without kube: before the name. May "
            "be given several times. The gates:" +
                GatesHelp(),
            [&options](std::string_view value) -> std::string {
              options.gates.emplace_back(value);
              return "";
            });
  flags.Add(
      "min-compatibility-version", options.min_compatibility_versions,
      "The oldest version of the control plane's other components: kube=1.N (default: the one before the emulated "
      "version)");
}

// "metric,label=a,b": one pair. More than one "=" in it: several pairs, separated by commas, in quotes where they hold
// one.
std::string ParseLabels(std::string_view value, std::map<std::string, std::string>& out) {
  constexpr const char* kWanted = "should be METRIC,LABEL=VALUE,VALUE";
  std::vector<std::string> pairs;
  const auto count = std::count(value.begin(), value.end(), '=');
  if (count == 0) return kWanted;
  if (count == 1) {
    while (value.starts_with('"')) value.remove_prefix(1);
    while (value.ends_with('"')) value.remove_suffix(1);
    pairs.emplace_back(value);
  } else {
    auto parsed = cli::ParseCommaSeparated(value);
    if (!parsed) return kWanted;
    pairs = std::move(*parsed);
  }
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) return kWanted;
    out[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return "";
}

void AddMetrics(cli::FlagSet& flags, MetricsOptions& options) {
  flags.BeginGroup("Metrics");
  flags.Add("allow-metric-labels", "stringToString",
            "Values that a label may have, others count as \"unexpected\": METRIC,LABEL=VALUE,VALUE",
            [&options](std::string_view value) { return ParseLabels(value, options.allow_metric_labels); });
  flags.Add(
      "allow-metric-labels-manifest", options.allow_metric_labels_manifest,
      "File with the same, as a map of \"METRIC,LABEL\": \"VALUE,VALUE\"; not together with --allow-metric-labels");
  flags.Add("disabled-metrics", options.disabled_metrics, "Names of metrics that are not collected");
  flags.Add("show-hidden-metrics-for-version", options.show_hidden_metrics_for_version,
            "The version before the one that is followed, such as 1." + std::to_string(framework::kDefaultRelease - 1) +
                ": shows the metrics that it has and this one hides");
}

cli::Flag::Parse BytesInto(std::int64_t& target) {
  return [&target](std::string_view value) -> std::string {
    const auto quantity = api::Quantity::Parse(value);
    if (!quantity.ok()) return "should be a number of bytes such as 512, 1K or 2Ki";
    target = quantity->Value();
    return "";
  };
}

void AddLogs(cli::FlagSet& flags, LoggingOptions& options) {
  flags.BeginGroup("Logs");
  flags.Add("log-flush-frequency", options.flush_frequency, "How long a line may wait before it is written");
  flags.Add("log-json-info-buffer-size", "quantity",
            "[Alpha] Bytes of lines that may wait; needs --log-json-split-stream and the gate LoggingAlphaOptions",
            BytesInto(options.json_info_buffer_size));
  flags.Add("log-json-split-stream", options.json_split_stream,
            "[Alpha] Errors to standard error, the rest to standard output; needs the gate LoggingAlphaOptions");
  flags.Add("log-text-info-buffer-size", "quantity",
            "[Alpha] Bytes of lines that may wait; needs --log-text-split-stream and the gate LoggingAlphaOptions",
            BytesInto(options.text_info_buffer_size));
  flags.Add("log-text-split-stream", options.text_split_stream,
            "[Alpha] Errors to standard error, the rest to standard output; needs the gate LoggingAlphaOptions");
  flags.Add("logging-format", options.format, "How lines are written: text or json");
  flags
      .Add("v", "Level",
           "How much is said: 0 for the least; 2 has a line for each pod bound or refused, 4 also why, 10 all scores",
           [&options](std::string_view value) -> std::string {
             const auto level = ParseVerbosity(value);
             if (!level) return "should be a number from 0 to 2147483647";
             options.verbosity = *level;
             return "";
           })
      .letter = 'v';
  flags.Add("vmodule", "pattern=N,...", "Other levels for some sources, with text format only",
            [&options](std::string_view value) -> std::string {
              for (const std::string_view item : Split(value, ',')) {
                if (item.empty()) continue;
                const std::vector<std::string_view> parts = Split(item, '=');
                const auto level = parts.size() == 2 ? ParseVerbosity(parts[1]) : std::nullopt;
                if (!level || parts[0].empty()) return "should be PATTERN=NUMBER, separated by commas";
                options.vmodule.emplace_back(parts[0], *level);
              }
              return "";
            });
}

constexpr std::string_view kOurVersions =
    "the version of a kube-scheduler that is followed, such as v1.36.3 or v1.37.2";

// "v1.36.3", or the version of another release that is followed, with something after it.
bool IsOurVersion(std::string_view text) {
  std::string_view ours;
  for (int minor = framework::kOldestRelease; minor <= framework::kNewestRelease; ++minor) {
    if (text.starts_with(KubernetesVersion(minor))) ours = KubernetesVersion(minor);
  }
  if (ours.empty()) return false;
  text.remove_prefix(ours.size());
  if (text.empty()) return true;
  return text.size() > 1 && (text[0] == '-' || text[0] == '+') && std::all_of(text.begin() + 1, text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
                  c == '+';
         });
}

void AddGlobal(cli::FlagSet& flags, KubeSchedulerOptions& options) {
  flags.BeginGroup("Global");
  flags.Add("help", options.help, "This text").letter = 'h';
  flags
      .Add(
          "version", "",
          "The version, and end; --version=raw has more of it, --version=v1.36.3-SUFFIX is what is told as the version",
          [&options](std::string_view value) -> std::string {
            if (value == "raw") {
              options.version = VersionRequest::kRaw;
              return "";
            }
            if (value.starts_with('v')) {
              if (!IsOurVersion(value)) return "should begin with " + std::string(kOurVersions);
              options.reported_version = value;
              return "";
            }
            const auto is_asked = cli::ParseGoBool(value);
            if (!is_asked) return "should be true, false, raw or begin with " + std::string(kOurVersions);
            options.version = *is_asked ? VersionRequest::kShort : VersionRequest::kNone;
            return "";
          })
      .value_alone = "true";
}

}  // namespace

std::span<const FlagNote> FlagNotes() { return kNotes; }

void AddKubeSchedulerFlags(cli::FlagSet& flags, KubeSchedulerOptions& options) {
  flags.BeginGroup("Misc");
  flags.Add("config", options.config, "KubeSchedulerConfiguration file");
  flags.Add("master", options.master,
            "URL of the API server, before that of the kubeconfig, for example http://127.0.0.1:8001");
  flags.Add("write-config-to", options.write_config_to,
            "Write the configuration with all defaults to this file, and end");
  AddServing(flags, options.secure_serving, options.unused_serving);
  AddAuthentication(flags, options.authentication);
  AddAuthorization(flags, options.authorization);
  AddDeprecated(flags, options.deprecated);
  AddLeaderElection(flags, options.leader_election);
  AddFeatureGates(flags, options.feature_gates);
  AddMetrics(flags, options.metrics);
  AddLogs(flags, options.logging);
  AddGlobal(flags, options);
  for (const std::string_view file : {"config", "write-config-to", "tls-cert-file", "tls-private-key-file",
                                      "authentication-kubeconfig", "client-ca-file", "requestheader-client-ca-file",
                                      "authorization-kubeconfig", "kubeconfig", "allow-metric-labels-manifest"})
    flags.At(file).hint = cli::kFileHint;
  flags.At("cert-dir").hint = cli::kDirectoryHint;
  flags.At("logging-format").hint = "{text,json}";
  flags.At("tls-min-version").hint = "{VersionTLS12,VersionTLS13,VersionTLS11,VersionTLS10}";
  flags.At("version").hint = "{true,raw}";
}

}  // namespace berth::app
