// SPDX-License-Identifier: Apache-2.0
// Connection: event loop, transports and clients for the API server that the command line names.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "berth/base/expected.h"
#include "berth/base/metric_registry.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/kubeconfig.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/io_context.h"

namespace berth::app {

struct ConnectionOptions {
  std::string kubeconfig;
  std::string context;
  std::string master;
  std::optional<double> qps;
  std::optional<int> burst;
  // As in KubeSchedulerConfiguration's clientConnection; empty: JSON.
  std::string content_type;
  std::string accept_content_types;
  std::shared_ptr<const net::WriteFence> fence;  // for rest() and events(); null: no fence
  // Counts the requests; null: they are not counted. Must outlive the connection.
  MetricRegistry* metrics = nullptr;
};

// How many requests a second are sent on average, and how many at once.
struct RateLimit {
  double qps = 0;  // 0: no limit
  int burst = 0;
};
// As client-go and kube-scheduler's defaults have it: a qps below 0 is no limit, whatever the burst, and a burst that
// is not given is 100. Without a qps there is no limit either, where kube-scheduler has 50.
RateLimit RateLimitOf(const ConnectionOptions& options);

// The API server of these options: that of the kubeconfig, of --master, or of the pod's service account; with the proxy
// on the way to it.
Expected<client::ClientConfig> ServerOf(const ConnectionOptions& options, const Clock& clock);
// The API server of the pod's service account, whatever the options say; without a proxy.
Expected<client::ClientConfig> InClusterServer(const Clock& clock);
// The same with the proxy that the environment names, unless the kubeconfig names one.
Expected<client::ClientConfig> WithProxy(client::ClientConfig config);

// A client of any other server, through the proxy that the environment names. `io` must outlive it.
Expected<std::unique_ptr<net::Transport>> MakeOutsideClient(net::IoContext& io, net::HttpClientOptions to);

class Connection {
 public:
  // Reads the kubeconfig or the service account; with --master alone, neither. Sends nothing yet. Errors are one line
  // each.
  static Expected<std::unique_ptr<Connection>> Make(const ConnectionOptions& options, const Clock& clock,
                                                    std::uint64_t seed);
  ~Connection();

  client::RestClient& rest() { return *rest_; }
  // For events, with a rate limit of their own. They share the transport with rest(), so that requests of the same
  // moment go out in one piece.
  client::RestClient& events() { return *events_; }
  // For leader election: without fence and rate limit, and over connections of its own, so that renewals wait for no
  // other request.
  client::RestClient& election() { return *election_; }
  const std::string& server() const { return server_; }
  // For clients of other servers. Their callbacks come on the same event loop.
  net::IoContext& io() { return io_; }

  // Ends the loop: no callback runs afterwards.
  void Stop() { io_.Stop(); }

 private:
  explicit Connection(const Clock& clock) : loop_(io_, clock) {}

  // The loop pauses for so long, because three things follow each other: the answer to a binding, the watch event for
  // it, and the answer to an event. One turn then handles them all.
  static constexpr Duration kGather = std::chrono::milliseconds(3);

  net::IoContext io_{1, kGather};
  client::IoEventLoop loop_;
  std::string server_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<client::RestClient> rest_;
  std::unique_ptr<client::RestClient> events_;
  std::unique_ptr<net::Transport> election_transport_;
  std::unique_ptr<client::RestClient> election_;
};

}  // namespace berth::app
