// SPDX-License-Identifier: Apache-2.0
#include "berth/app/connection.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "berth/base/log.h"
#include "berth/core/config/types.h"
#include "berth/shell/client/make_transport.h"
#include "berth/shell/client/metered_transport.h"

namespace berth::app {
namespace {

// Bindings, status patches and events, at most 128 of each at once when some are not answered (RequestLanes), should
// not wait for each other. While all are answered it is 88.
constexpr int kConnectionsMax = 3 * 128;

// A renewal, an event, and one that has no answer.
constexpr int kElectionConnectionsMax = 3;

std::string Variable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value != nullptr ? value : "";
}

}  // namespace

RateLimit RateLimitOf(const ConnectionOptions& options) {
  const double qps = options.qps.value_or(0);
  if (qps <= 0) return {};
  return {qps, options.burst.value_or(config::ClientConnection::kDefaultBurst)};
}

Expected<client::ClientConfig> InClusterServer(const Clock& clock) {
  return client::InClusterConfig(Variable, "", clock);
}

Expected<client::ClientConfig> ServerOf(const ConnectionOptions& options, const Clock& clock) {
  if (options.kubeconfig.empty() && options.master.empty()) {
    if (Variable("KUBERNETES_SERVICE_HOST").empty() && Variable("KUBERNETES_SERVICE_PORT").empty()) {
      return InvalidError(
          "which API server? give --kubeconfig FILE (or the variable KUBECONFIG), or --master URL; only in a pod, "
          "where KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are set, neither is needed, and where a command "
          "reads ~/.kube/config");
    }
    BERTH_ASSIGN_OR_RETURN(client::ClientConfig config, InClusterServer(clock));
    return WithProxy(std::move(config));
  }
  BERTH_ASSIGN_OR_RETURN(client::ClientConfig config,
                         client::LoadKubeconfig({options.kubeconfig, options.context, options.master}, clock));
  return WithProxy(std::move(config));
}

Expected<client::ClientConfig> WithProxy(client::ClientConfig config) {
  if (!config.proxy) {
    BERTH_ASSIGN_OR_RETURN(config.proxy, net::ProxyFor(net::ReadProxyEnvironment(Variable), config.server));
  }
  return config;
}

Expected<std::unique_ptr<net::Transport>> MakeOutsideClient(net::IoContext& io, net::HttpClientOptions to) {
  BERTH_ASSIGN_OR_RETURN(to.proxy, net::ProxyFor(net::ReadProxyEnvironment(Variable), to.base_url));
  return net::MakeHttpClient(io, std::move(to));
}

Expected<std::unique_ptr<Connection>> Connection::Make(const ConnectionOptions& options, const Clock& clock,
                                                       std::uint64_t seed) {
  BERTH_ASSIGN_OR_RETURN(const client::ClientConfig config, ServerOf(options, clock));
  for (const std::string& warning : config.warnings) log::Warning("client", warning);
  if (config.proxy) {
    log::Info("client", "The API server is reached through a proxy",
              {{"server", config.server}, {"proxy", config.proxy->shown}});
  }
  std::unique_ptr<Connection> connection(new Connection(clock));
  connection->server_ = config.server;
  BERTH_ASSIGN_OR_RETURN(connection->transport_, client::MakeTransport(connection->io_, config, kConnectionsMax));
  if (options.metrics != nullptr) {
    connection->transport_ = std::make_unique<client::MeteredTransport>(std::move(connection->transport_),
                                                                        *options.metrics, config.server, clock);
  }
  client::RestClientOptions rest;
  rest.headers = config.headers;
  const RateLimit limit = RateLimitOf(options);
  rest.qps = limit.qps;
  rest.burst = limit.burst;
  client::SetContentTypes(rest, options.content_type, options.accept_content_types);
  rest.fence = options.fence;
  rest.when_refused = config.when_refused;
  rest.refusals = client::MakeRefusals();
  connection->rest_ =
      std::make_unique<client::RestClient>(connection->loop_, *connection->transport_, config.credentials, seed, rest);
  connection->events_ = std::make_unique<client::RestClient>(connection->loop_, *connection->transport_,
                                                             config.credentials, seed + 1, rest);
  // It makes no connection before it is used.
  BERTH_ASSIGN_OR_RETURN(connection->election_transport_,
                         client::MakeTransport(connection->io_, config, kElectionConnectionsMax));
  client::RestClientOptions election;
  election.headers = config.headers;
  election.when_refused = rest.when_refused;
  election.refusals = rest.refusals;
  election.user_agent += "/leader-election";  // as upstream's
  connection->election_ = std::make_unique<client::RestClient>(connection->loop_, *connection->election_transport_,
                                                               config.credentials, seed + 2, std::move(election));
  return connection;
}

Connection::~Connection() { io_.Stop(); }

}  // namespace berth::app
