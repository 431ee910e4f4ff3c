// SPDX-License-Identifier: Apache-2.0
// A server that speaks HTTP/2 over TLS and does what a test's script says with each request. Blocking, a thread a
// connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "berth/shell/net/test_certificates.h"
#include "berth/shell/net/transport.h"

struct ssl_ctx_st;

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
  };
  using Script = std::function<Answer(const Request& request, int connection)>;

  explicit Http2Peer(Script script, std::uint32_t streams_max = 100);
  ~Http2Peer();

  std::uint16_t port() const { return port_; }
  std::string ca_pem() const { return certificate_.pem(); }
  int connections() const { return connections_.load(); }

 private:
  struct Session;
  void Run();
  void Serve(int fd, int connection);

  const Certificate certificate_{{.names = {"IP:127.0.0.1"}}};
  const Script script_;
  const std::uint32_t streams_max_;
  ssl_ctx_st* context_;
  std::uint16_t port_ = 0;
  int fd_;
  std::atomic<int> connections_{0};
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  std::vector<int> open_;           // guarded by mutex_
  std::list<std::thread> servers_;  // of Run's thread, then of the destructor's
  std::thread thread_;
};

}  // namespace berth::net
