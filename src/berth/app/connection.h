// SPDX-License-Identifier: Apache-2.0
// Connection: an API server reached from the command line's options: event loop, transports, clients.
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
  std::shared_ptr<const net::WriteFence> fence;  // of rest() and events(); null: none
  // Where requests are counted; null: nowhere. Must outlive the connection.
  MetricRegistry* metrics = nullptr;
};

// The API server of these options: a kubeconfig's, that of the pod's service account, or neither (--master alone).
Expected<client::ClientConfig> ServerOf(const ConnectionOptions& options, const Clock& clock);
// That of the pod that we run in, whatever else is given.
Expected<client::ClientConfig> InClusterServer(const Clock& clock);

class Connection {
 public:
  // Reads the kubeconfig, the service account or neither (--master alone). Errors are one line each; nothing is sent
  // yet.
  static Expected<std::unique_ptr<Connection>> Make(const ConnectionOptions& options, const Clock& clock,
                                                    std::uint64_t seed);
  ~Connection();

  client::RestClient& rest() { return *rest_; }
  // For events, with a rate limit of their own. Over one transport with the others: what is sent at the same time then
  // goes in one piece.
  client::RestClient& events() { return *events_; }
  // For leader election: without the fence and the rate limit, and over connections of its own, so that it waits for
  // nothing else.
  client::RestClient& election() { return *election_; }
  const std::string& server() const { return server_; }
  // For other servers; its callbacks come on the same loop.
  net::IoContext& io() { return io_; }

  // Ends the loop: no callback runs afterwards.
  void Stop() { io_.Stop(); }

 private:
  explicit Connection(const Clock& clock) : loop_(io_, clock) {}

  // One after the other come the answer to a binding, the watch's word of it and the answer to an event.
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
