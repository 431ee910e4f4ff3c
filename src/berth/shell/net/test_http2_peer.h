// SPDX-License-Identifier: Apache-2.0
// A server that speaks HTTP/2, over TLS unless told, and does what a test's script says with each request. Blocking, a
// thread a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/shell/net/test_certificates.h"
#include "berth/shell/net/test_loopback.h"
#include "berth/shell/net/transport.h"

namespace berth::net {

class Http2Peer {
 public:
  struct Answer {
    enum class Then : std::uint8_t {
      kEnd,
      kKeepOpen,    // the body goes on, but nothing comes
      kFallSilent,  // the same, and nothing more is answered on this connection, whatever comes
      kSayNothing,  // not even a head
      kReset,       // with `code`, after the body, or without a head where the status is 0
      kGoAway,      // GOAWAY that leaves this request out, then no more from this connection
      kFinish,      // GOAWAY after it, in good order
      kClose,       // the connection is closed, at once
      kAbort,       // the same, with a reset
      kGarbage,     // bytes that are no frame
    };
    int status = 200;
    std::vector<Header> headers;
    std::string body;
    Then then = Then::kEnd;
    std::uint32_t code = 0;
    std::vector<Header> trailers = {};  // with kEnd: after the body
  };
  using Script = std::function<Answer(const Request& request, int connection)>;

  explicit Http2Peer(Script script, std::uint32_t streams_max = 100, bool has_tls = true);

  std::uint16_t port() const { return server_.port(); }
  std::string ca_pem() const { return certificate_.pem(); }
  int connections() const { return server_.connections(); }

 private:
  struct Session;
  void Serve(int fd, int connection);

  const Certificate certificate_{{.names = {"IP:127.0.0.1"}}};
  const Script script_;
  const std::uint32_t streams_max_;
  const bool has_tls_;
  const std::shared_ptr<ssl_ctx_st> context_;
  LoopbackServer server_;  // last: its threads use all else
};

}  // namespace berth::net
