// SPDX-License-Identifier: Apache-2.0
// HttpClient: HTTP/2 where a TLS server offers it: all requests and streams on one connection, which saves a system
// call and a TLS record for most of them. Else HTTP/1.1 with keep-alive and a bounded connection pool. TLS is verified.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "berth/shell/net/io_context.h"
#include "berth/shell/net/proxy.h"
#include "berth/shell/net/transport.h"

namespace berth::net {

struct TlsClientOptions {
  std::string ca_pem;              // trusted roots; empty: the system's
  bool adds_system_roots = false;  // to those of `ca_pem`
  // The same, asked for at each new connection so that a rotated file takes effect; where it fails, or says what are no
  // certificates, the last ones stay. Empty: `ca_pem` holds for good.
  std::function<Expected<std::string>()> ca_pem_now;
  bool verify_peer = true;  // false only for insecure-skip-tls-verify
  std::string server_name;  // SNI and name to verify; empty: the URL's host
  // Client certificate and key, asked for at each new connection so that rotated files take effect. PEM; both or none.
  std::function<Expected<std::pair<std::string, std::string>>()> client_certificate_pem;
  bool offers_http2 = true;
};

struct HttpClientOptions {
  std::string base_url;                 // "https://host:port/prefix" or "http://..."; a prefix goes before every target
  std::optional<TlsClientOptions> tls;  // required for https
  // With http:// HTTP/2 from the first byte, without an upgrade (RFC 9113, "prior knowledge"): as gRPC without TLS is
  // spoken. Not through a proxy that takes the requests themselves.
  bool speaks_http2_without_tls = false;
  // On the way to the server, which is asked for at the proxy by name: through a tunnel for https and SOCKS, else by
  // requests to the proxy. That of an https:// proxy has TLS of its own inside which the server's is: its certificate
  // is always verified, against the system's authorities and those of `tls`.
  std::optional<Proxy> proxy;
  int connections_max = 64;  // for Send(), or requests at once over HTTP/2; streams are not counted
  // Waiting for a connection; beyond it Send() answers kTooManyRequests at once.
  std::size_t queued_requests_max = 200'000;
  Duration connect_timeout = std::chrono::seconds(10);
  // A connection (HTTP/2) with something under way on which nothing has come for so long is asked for a sign of life.
  Duration silence_max = std::chrono::seconds(10);
  // For a sign of life from a connection that was asked for one; then it is given up.
  Duration ping_timeout = std::chrono::seconds(10);
  Duration keep_alive_idle = std::chrono::seconds(50);  // an idle connection older than this is not used again
};

// Checks the options (URL, PEMs) and says in one line what is wrong. `io` must outlive the client. Destroying the
// client cancels what is in flight: its callbacks get kCancelled, before the destructor returns, which waits for the
// loop (so hold no lock that a callback takes). Once the IoContext has been stopped, callbacks are dropped instead.
//
// Error codes besides those of transport.h: kUnavailable for what may be better next time (refused, closed, cut short,
// name not found, TLS, a client certificate that does not load), kInternal for an answer that is not HTTP, kTooLarge,
// kTimeout, kInvalid for a request that cannot be sent.
Expected<std::unique_ptr<Transport>> MakeHttpClient(IoContext& io, HttpClientOptions options);

}  // namespace berth::net
