// SPDX-License-Identifier: Apache-2.0
// A proxy that works, for tests: CONNECT and SOCKS 5, with TLS or without. Whatever it is asked for, it connects to one
// port of this machine. Blocking, a thread a connection.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "berth/shell/net/test_certificates.h"
#include "berth/shell/net/test_loopback.h"

namespace berth::net {

class FakeProxy {
 public:
  struct Options {
    bool is_socks = false;
    const Certificate* certificate = nullptr;  // with it, TLS; must outlive the proxy
  };
  FakeProxy(std::uint16_t target_port, Options options);

  std::uint16_t port() const { return server_.port(); }
  // What each connection asked for: the head of CONNECT, or SOCKS' "user:password host:port".
  std::vector<std::string> asked();

 private:
  class Wire;
  void Serve(int fd);
  bool Agree(Wire& wire);
  bool AgreeSocks(Wire& wire);

  const std::uint16_t target_port_;
  const Options options_;
  const std::shared_ptr<ssl_ctx_st> context_;  // null without TLS
  std::mutex mutex_;
  std::vector<std::string> asked_;  // guarded by mutex_
  LoopbackServer server_;           // last: its threads use all else
};

}  // namespace berth::net
