// SPDX-License-Identifier: Apache-2.0
#include "berth/app/secure_port.h"

#include <charconv>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/base/log.h"
#include "berth/shell/client/kubeconfig.h"
#include "berth/shell/runner/feeds.h"
#include "berth/shell/runner/informer_liveness.h"
#include "berth/shell/serving/heartbeat.h"

namespace berth::app {
namespace {

using Failure = std::optional<std::string>;

// The API server of a kubeconfig; without one that of the pod's service account, or none.
Expected<std::optional<client::ClientConfig>> Delegate(const std::string& kubeconfig, std::string_view flag,
                                                       const Clock& clock) {
  if (!kubeconfig.empty()) {
    auto config = client::LoadKubeconfig({kubeconfig, {}, {}}, clock);
    if (!config.ok()) return config.error().Wrap(flag);
    return std::optional<client::ClientConfig>(*std::move(config));
  }
  auto config = InClusterServer(clock);
  if (config.ok()) return std::optional<client::ClientConfig>(*std::move(config));
  log::Warning("app", "Outside of a pod and without a kubeconfig, the secure port asks no API server",
               {{"flag", flag}});
  return std::optional<client::ClientConfig>();
}

// As component-base's GlogSetter. Two levels are told apart: below 4, and from 4 on.
Expected<std::string> SetVerbosity(std::string_view text) {
  std::uint32_t level = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), level);
  if (failure == std::errc::result_out_of_range)
    return InvalidError("strconv.ParseUint: parsing " + GoQuoted(text) + ": value out of range");
  if (failure != std::errc() || end != text.data() + text.size())
    return InvalidError("strconv.ParseUint: parsing " + GoQuoted(text) + ": invalid syntax");
  log::SetLevel(level >= 4 ? log::Level::kDebug : log::Level::kInfo);
  return "successfully set klog.logging.verbosity to " + std::string(text);
}

}  // namespace

SecurePortOptions SecurePortOf(const KubeSchedulerOptions& flags, bool is_kube_scheduler) {
  SecurePortOptions options;
  const SecureServingOptions& serving = flags.secure_serving;
  options.serving.bind_address = serving.bind_address;
  options.serving.port = is_kube_scheduler || flags.IsGiven("secure-port") ? serving.secure_port : 0;
  options.serving.cert_file = serving.tls_cert_file;
  options.serving.key_file = serving.tls_private_key_file;
  options.serving.cert_dir = serving.cert_dir;
  options.serving.min_tls_version = serving.tls_min_version;
  options.serving.cipher_suites = serving.tls_cipher_suites;
  options.serving.curves = serving.tls_curve_preferences;
  const AuthenticationOptions& authentication = flags.authentication;
  options.authentication.kubeconfig = authentication.kubeconfig;
  options.authentication.token_cache_ttl = authentication.token_webhook_cache_ttl;
  options.authentication.skip_lookup = authentication.skip_lookup;
  options.authentication.tolerate_lookup_failure = authentication.tolerate_lookup_failure;
  options.authentication.client_ca_file = authentication.client_ca_file;
  serving::RequestHeaderOptions& request_header = options.authentication.request_header;
  request_header.client_ca_file = authentication.requestheader_client_ca_file;
  request_header.allowed_names = authentication.requestheader_allowed_names;
  request_header.username_headers = authentication.requestheader_username_headers;
  request_header.uid_headers = authentication.requestheader_uid_headers;
  request_header.group_headers = authentication.requestheader_group_headers;
  request_header.extra_header_prefixes = authentication.requestheader_extra_headers_prefix;
  options.authorization.kubeconfig = flags.authorization.kubeconfig;
  options.authorization.always_allow_paths = flags.authorization.always_allow_paths;
  options.authorization.authorized_ttl = flags.authorization.webhook_cache_authorized_ttl;
  options.authorization.unauthorized_ttl = flags.authorization.webhook_cache_unauthorized_ttl;
  return options;
}

Expected<std::unique_ptr<serving::SecureServer>> ServeSecurePort(
    const SecurePortOptions& options, SecurePortSources sources, const runner::SchedulerShell& shell,
    Connection& connection, const ConnectionOptions& connection_options, const Clock& clock, std::uint64_t seed) {
  if (options.serving.port == 0) return std::unique_ptr<serving::SecureServer>();
  serving::SecureServerOptions server;
  server.serving = options.serving;
  server.authentication = options.authentication;
  server.authorization = options.authorization;
  server.seed = seed;
  BERTH_ASSIGN_OR_RETURN(server.authentication_server,
                         Delegate(options.authentication.kubeconfig, "--authentication-kubeconfig", clock));
  BERTH_ASSIGN_OR_RETURN(server.authorization_server,
                         Delegate(options.authorization.kubeconfig, "--authorization-kubeconfig", clock));
  BERTH_ASSIGN_OR_RETURN(server.pods_server, ServerOf(connection_options, clock));

  // Of our own, behind upstream's on each path.
  const auto heartbeat = std::make_shared<serving::Heartbeat>(connection.rest().loop(), clock);
  const serving::HealthCheck event_loop{"event-loop", [heartbeat]() -> Failure {
                                          const Duration owed = heartbeat->Look();
                                          if (owed <= kStuckAfter) return std::nullopt;
                                          return "the event loop has not turned for " + FormatGoDuration(owed);
                                        }};
  const serving::HealthCheck core{"core", [&shell]() -> Failure {
                                    const Duration age = shell.TurnAge();
                                    if (age <= kStuckAfter) return std::nullopt;
                                    return "a turn of the core has taken " + FormatGoDuration(age) + " so far";
                                  }};
  const auto liveness = std::make_shared<runner::InformerLiveness>();
  const serving::HealthCheck informers{
      "informers", [&shell, &clock, liveness] { return liveness->Look(shell.Sources(), clock.Now()); }};
  const serving::HealthCheck handler_sync{"sched-handler-sync",
                                          [&shell] { return runner::NotSynced(shell.Sources()); }};
  const serving::HealthCheck shutdown{"shutdown", [is_ending = std::move(sources.is_ending)]() -> Failure {
                                        if (is_ending && is_ending()) return "process is shutting down";
                                        return std::nullopt;
                                      }};

  serving::ServedState state;
  if (sources.leader_election) {
    state.healthz = {*sources.leader_election, event_loop, core};
    state.readyz = {*sources.leader_election, shutdown, handler_sync, event_loop, core, informers};
  } else {
    state.healthz = {serving::PingCheck(), event_loop, core};
    state.readyz = {shutdown, handler_sync, event_loop, core, informers};
  }
  state.livez = {serving::PingCheck(), event_loop, core};
  state.metrics_text = std::move(sources.metrics_text);
  state.reset_metrics = std::move(sources.reset_metrics);
  state.is_leader = std::move(sources.is_leader);
  state.config_json = std::move(sources.config_json);
  state.flags = std::move(sources.flags);
  state.set_verbosity = SetVerbosity;
  state.program_version = client::DefaultUserAgent();
  state.started = clock.WallNow();
  state.is_profiling_enabled = sources.is_profiling_enabled;
  BERTH_ASSIGN_OR_RETURN(auto started, serving::SecureServer::Start(std::move(server), std::move(state), clock));
  log::Info("app", "Serving securely", {{"address", started->address()}});
  return started;
}

}  // namespace berth::app
