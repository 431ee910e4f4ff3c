// SPDX-License-Identifier: Apache-2.0
// SecureServer: kube-scheduler's secure port: HTTPS, authentication, authorization and the response. It has an event
// loop and a thread of its own, so that requests to this port take no time of the scheduler's event loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/shell/client/kubeconfig.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/serving/authentication.h"
#include "berth/shell/serving/authorization.h"
#include "berth/shell/serving/endpoints.h"
#include "berth/shell/serving/options.h"
#include "berth/shell/serving/pod_resources.h"
#include "berth/shell/serving/trust.h"

namespace berth::serving {

struct SecureServerOptions {
  SecureServingOptions serving;
  AuthenticationOptions authentication;
  AuthorizationOptions authorization;
  // The API servers for reviews: those of the two kubeconfigs or, without a kubeconfig, that of the pod's service
  // account. nullopt: there is none. The composition root reads them (client::LoadKubeconfig).
  std::optional<client::ClientConfig> authentication_server;
  std::optional<client::ClientConfig> authorization_server;
  // The cluster whose pods /metrics/resources shows, over a connection of its own. nullopt: ServedState's function is
  // used.
  std::optional<client::ClientConfig> pods_server;
  std::uint64_t seed = 0;
};

class SecureServer {
 public:
  static constexpr int kConnectionsMax = 1024;
  // The most bytes of responses that peers have not read yet.
  static constexpr std::size_t kAnswersBytesMax = std::size_t{64} << 20;
  static constexpr std::size_t kRequestBodyBytesMax = std::size_t{64} << 10;
  // Where there is a page, which is asked about manifests of 5 MiB; and what all requests may hold together then.
  static constexpr std::size_t kPageBodyBytesMax = std::size_t{8} << 20;
  static constexpr std::size_t kPageRequestsBytesMax = std::size_t{24} << 20;
  // How often certificate files are checked for changes.
  static constexpr Duration kFilesPeriod = std::chrono::seconds(2);
  // How long the start waits for the cluster's authorities before the port is opened.
  static constexpr Duration kLookupTime = std::chrono::seconds(3);

  // The server listens when this returns. An error is one line that names the flag. `clock`, and what the functions of
  // `state` use, must outlive the server. Must not be called with port 0.
  static Expected<std::unique_ptr<SecureServer>> Start(SecureServerOptions options, ServedState state,
                                                       const Clock& clock);
  // Closes every connection and ends the thread.
  ~SecureServer();
  SecureServer(const SecureServer&) = delete;
  SecureServer& operator=(const SecureServer&) = delete;

  std::string address() const { return server_->address(); }
  std::uint16_t port() const { return server_->port(); }

 private:
  // A client of one API server.
  struct Asked {
    std::unique_ptr<net::Transport> transport;
    std::unique_ptr<client::RestClient> rest;
    std::unique_ptr<ReviewClient> reviews;
  };
  struct KeyPair {
    std::string certificate_pem;
    std::string key_pem;
    bool operator==(const KeyPair&) const = default;
  };
  struct Certificates {
    KeyPair own;
    std::vector<KeyPair> named;  // in the order of SecureServingOptions::named_certificates
  };

  SecureServer(SecureServerOptions options, ServedState state, const Clock& clock);

  ServedState WithPodResources(ServedState state);
  Expected<void> Begin();
  Expected<Asked> Connect(const std::optional<client::ClientConfig>& config, const std::string& path,
                          ReviewClient::Limits limits, std::uint64_t seed);
  Expected<void> LookUpTrust();
  Expected<KeyPair> LoadKeyPair();
  Expected<KeyPair> MakeKeyPair();
  Expected<KeyPair> LoadNamed(std::size_t index) const;
  net::TlsServerOptions Tls() const;
  void RenewTls();
  void CheckFiles();
  void ArmFilesCheck();
  void Handle(net::Request request, const std::shared_ptr<net::ResponseWriter>& writer);
  // Sends a response. One that `is_unauthenticated` may have to be the last on its connection.
  using Answer = std::function<void(net::Response response)>;
  Answer AnswerTo(const std::shared_ptr<net::ResponseWriter>& writer, bool is_unauthenticated) const;
  // One request on its way.
  struct Incoming {
    net::Request request;
    net::Target target;
    std::string path;  // decoded
    std::shared_ptr<net::ResponseWriter> writer;
  };
  void Authorize(const std::shared_ptr<const Incoming>& incoming, const User& user, const Answer& answer);

  SecureServerOptions options_;
  const Clock& clock_;
  net::IoContext io_;
  client::IoEventLoop loop_;
  Endpoints endpoints_;
  Asked token_;
  Asked access_;
  Asked pods_;
  std::unique_ptr<PodResources> pod_resources_;
  std::unique_ptr<TrustSource> trust_;
  std::optional<Authenticator> authenticator_;
  std::unique_ptr<Authorizer> authorizer_;
  Certificates certificates_;
  std::string certificates_failure_;         // of the last check, so that it is logged once
  std::unique_ptr<net::HttpServer> server_;  // set before the loop does anything that needs it
};

}  // namespace berth::serving
