// SPDX-License-Identifier: Apache-2.0
// EmbeddedCluster: the embedded API server with simulated nodes and the few controllers that a demo needs, in this
// process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/devcluster/apiserver/server.h"
#include "berth/devcluster/controllers/controllers.h"
#include "berth/devcluster/data_file/data_file.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"

namespace berth::embedded_cluster {

struct EmbeddedClusterOptions {
  std::string listen;  // empty: in process only
  int nodes = 5;
  std::uint64_t seed = 1;
  std::string hostname = "localhost";   // that the controllers' events name
  std::vector<std::string> host_names;  // ApiServerOptions::host_names
  // The nodes from --nodes-file, in place of `nodes`. Where there are simulated nodes, those that a user creates get a
  // kubelet, too, and there is a default StorageClass.
  std::vector<kubelet::NodeShape> shapes;
  bool has_controllers = true;  // false: a kube-controller-manager runs there, or nobody makes pods
  std::string kubeconfig;       // a file to write that leads to the server (kubeconfig_file.h); empty: none
  bool has_tls = false;         // a certificate of its own is made, which the kubeconfig names
  std::string token;            // that clients have to show; empty: none
  std::string token_key;        // ApiServerOptions::token_key, a secret: needed with a token
  int release_minor = 36;       // of the Kubernetes that server and kubelets say they are
  decltype(apiserver::ApiServerOptions::creation_warnings) creation_warnings{};
  std::string data;  // a file that the objects are kept in (data_file.h); empty: they are forgotten
};

class EmbeddedCluster {
 public:
  // Serving has begun when it returns; nodes come up in the background. Fails when the address cannot be listened on.
  static Expected<std::unique_ptr<EmbeddedCluster>> Start(const EmbeddedClusterOptions& options, const Clock& clock);
  ~EmbeddedCluster();

  // In-process clients; their callbacks come on one loop of the cluster's own.
  client::RestClient& rest() { return *rest_; }
  client::RestClient& events() { return *events_; }
  // The event loop on which rest() and events() call back.
  net::IoContext& io() { return client_io_; }
  int ReadyNodes() const { return kubelets_ ? kubelets_->Stats().nodes_ready : 0; }
  // "127.0.0.1:8001"; empty without a listener.
  std::string address() const { return http_ ? http_->address() : std::string(); }
  // Where clients on this machine reach it, with https:// or http://: 127.0.0.1 in place of 0.0.0.0.
  std::string url() const;

  // Ends simulators and loops: no callback of the clients runs afterwards.
  void Stop();

 private:
  explicit EmbeddedCluster(const Clock& clock);

  // The server has a thread of its own, so that a client's callback never holds it up.
  net::IoContext server_io_;
  net::IoContext client_io_;
  client::IoEventLoop loop_;
  std::unique_ptr<data_file::DataFile> data_;
  std::unique_ptr<apiserver::ApiServer> server_;
  std::unique_ptr<net::HttpServer> http_;
  bool has_tls_ = false;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<net::Transport> events_transport_;
  std::unique_ptr<client::RestClient> rest_;
  std::unique_ptr<client::RestClient> events_;
  std::unique_ptr<kubelet::KubeletSimulator> kubelets_;
  std::unique_ptr<controllers::Controllers> controllers_;
};

}  // namespace berth::embedded_cluster
