// SPDX-License-Identifier: Apache-2.0
// What the connections of one client have in common. For the sources of this folder.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "berth/base/expected.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/net/link.h"
#include "berth/shell/net/transport.h"

namespace berth::net {

// Reads from one connection before the others of the loop get their turn.
inline constexpr int kReadsPerTurn = 16;
inline constexpr std::size_t kAnswerHeaderBytesMax = std::size_t{256} << 10;
// The most answers of the 1xx kind before the real one.
inline constexpr int kInterimAnswersMax = 8;

// Immutable.
struct ClientSettings {
  LinkOptions link;
  std::string where;   // LinkOptions::where, for errors
  std::string host;    // the Host header
  std::string prefix;  // goes before every target: a path, or a whole URL if a proxy takes the requests
  bool asks_proxy = false;
  std::string proxy_authorization;  // the header's value; empty: none is sent
  HttpClientOptions options;

  // Whether an open link speaks HTTP/2 though TLS has not agreed on it.
  bool IsHttp2WithoutTls() const { return options.speaks_http2_without_tls && !link.tls; }
  bool HasClientCertificate() const { return link.tls && link.tls->client_certificate_pem; }
};

// kInvalid when the request cannot be sent as it is.
Expected<void> CheckRequest(const Request& request);

// The request as bytes of HTTP/1.1, head and body in one piece so that it is one write.
std::string SerializeRequest(const ClientSettings& settings, const Request& request);

// Whether the answer is the proxy's own: the server has not got the request.
inline bool IsProxyRefusal(const ClientSettings& settings, const Response& response) {
  return settings.asks_proxy && response.status == 407;
}
Error ProxyRefusal(const ClientSettings& settings);

inline Error Unavailable(std::string message, bool outcome_unknown) {
  return {ErrorCode::kUnavailable, std::move(message), outcome_unknown};
}

}  // namespace berth::net
