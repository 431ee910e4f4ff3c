// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/make_transport.h"

#include "berth/shell/client/file.h"
#include "berth/shell/net/http_client.h"

namespace berth::client {

Expected<std::unique_ptr<net::Transport>> MakeTransport(net::IoContext& io, const ClientConfig& config,
                                                        int connections_max) {
  net::HttpClientOptions options;
  options.base_url = config.server;
  options.connections_max = connections_max;
  options.proxy = config.proxy;
  if (config.server.starts_with("https://")) {
    net::TlsClientOptions tls;
    tls.ca_pem = config.ca_pem;
    if (!config.ca_path.empty()) tls.ca_pem_now = [path = config.ca_path] { return ReadSmallFile(path); };
    tls.verify_peer = !config.insecure_skip_tls_verify;
    tls.server_name = config.tls_server_name;
    if (config.credentials && config.credentials->HasClientCertificate()) {
      tls.client_certificate_pem = [credentials = config.credentials] { return credentials->ClientCertificatePem(); };
    }
    options.tls = std::move(tls);
  }
  return net::MakeHttpClient(io, std::move(options));
}

}  // namespace berth::client
