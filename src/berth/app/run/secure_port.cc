// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/secure_port.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/go_text.h"
#include "berth/base/log.h"
#include "berth/base/log_settings.h"
#include "berth/page/page_service.h"
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
    auto config = ServerOf({.kubeconfig = kubeconfig}, clock);
    if (!config.ok()) return config.error().Wrap(flag);
    return std::optional<client::ClientConfig>(*std::move(config));
  }
  auto config = InClusterServer(clock);
  if (config.ok()) {
    BERTH_ASSIGN_OR_RETURN(client::ClientConfig with_proxy, WithProxy(*std::move(config)));
    return std::optional<client::ClientConfig>(std::move(with_proxy));
  }
  log::Warning("app", "Outside of a pod and without a kubeconfig, the secure port asks no API server",
               {{"flag", flag}});
  return std::optional<client::ClientConfig>();
}

// As component-base's GlogSetter.
Expected<std::string> SetVerbosity(std::string_view text) {
  std::uint32_t level = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), level);
  if (failure == std::errc::result_out_of_range)
    return InvalidError("strconv.ParseUint: parsing " + GoQuoted(text) + ": value out of range");
  if (failure != std::errc() || end != text.data() + text.size())
    return InvalidError("strconv.ParseUint: parsing " + GoQuoted(text) + ": invalid syntax");
  log::SetVerbosity(static_cast<int>(std::min<std::uint32_t>(level, std::numeric_limits<int>::max())));
  return "successfully set klog.logging.verbosity to " + std::string(text);
}

// Upstream's server does not begin with cipher suites that HTTP/2 cannot do with, unless it is to do without HTTP/2.
Expected<void> CheckHttp2Suites(const serving::SecureServingOptions& options) {
  const std::vector<std::string>& suites = options.cipher_suites;
  if (suites.empty() || options.disables_http2 || options.min_tls_version == "VersionTLS13") return {};
  for (const std::string_view needed :
       {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}) {
    if (std::find(suites.begin(), suites.end(), needed) != suites.end()) return {};
  }
  return InvalidError(
      "failed to start secure server: error configuring http2: http2: TLSConfig.CipherSuites is missing an "
      "HTTP/2-required AES_128_GCM_SHA256 cipher (need at least one of TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or "
      "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)");
}

}  // namespace

Expected<std::unique_ptr<serving::SecureServer>> ServeSecurePort(
    const KubeSchedulerOptions& flags, SecurePortSources sources, const runner::SchedulerShell& shell,
    Connection& connection, const ConnectionOptions& connection_options, const Clock& clock, std::uint64_t seed) {
  if (flags.secure_serving.port == 0) return std::unique_ptr<serving::SecureServer>();
  BERTH_RETURN_IF_ERROR(CheckHttp2Suites(flags.secure_serving));
  serving::SecureServerOptions server;
  server.serving = flags.secure_serving;
  server.serving.ends_anonymous_http2 = sources.ends_anonymous_http2;
  server.authentication = flags.authentication;
  server.authorization = flags.authorization;
  server.seed = seed;
  BERTH_ASSIGN_OR_RETURN(server.authentication_server,
                         Delegate(flags.authentication.kubeconfig, "--authentication-kubeconfig", clock));
  BERTH_ASSIGN_OR_RETURN(server.authorization_server,
                         Delegate(flags.authorization.kubeconfig, "--authorization-kubeconfig", clock));
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
  const serving::HealthCheck handler_sync{"sched-handler-sync", [&shell] { return runner::NotSynced(shell.Sources()); },
                                          [&shell] { return runner::NotSyncedInBrief(shell.Sources()); }};
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
  state.explain = std::move(sources.explain);
  state.page = std::move(sources.page);
  state.is_page_file = page::PageService::IsFile;
  state.metrics_text = std::move(sources.metrics_text);
  state.reset_metrics = std::move(sources.reset_metrics);
  state.is_leader = std::move(sources.is_leader);
  state.config_json = std::move(sources.config_json);
  state.flags = std::move(sources.flags);
  state.set_verbosity = SetVerbosity;
  state.program_version = client::DefaultUserAgent();
  state.started = clock.WallNow();
  state.is_profiling_enabled = sources.is_profiling_enabled;
  state.has_status_page = sources.has_status_page;
  BERTH_ASSIGN_OR_RETURN(auto started, serving::SecureServer::Start(std::move(server), std::move(state), clock));
  log::Info("app", "Serving securely on " + started->address());
  return started;
}

}  // namespace berth::app
