// SPDX-License-Identifier: Apache-2.0
// A proxy that works, for tests: CONNECT and SOCKS 5, with TLS or without. Whatever it is asked for, it connects to one
// port of this machine. Blocking, a thread a connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "berth/shell/net/test_certificates.h"

struct ssl_ctx_st;
struct ssl_st;

namespace berth::net {

class FakeProxy {
 public:
  struct Options {
    bool is_socks = false;
    const Certificate* certificate = nullptr;  // with it, TLS; must outlive the proxy
  };
  FakeProxy(std::uint16_t target_port, Options options);
  ~FakeProxy();

  std::uint16_t port() const { return port_; }
  // What each connection asked for: the head of CONNECT, or SOCKS' "user:password host:port".
  std::vector<std::string> asked();

 private:
  class Wire;
  void Run();
  void Serve(int fd);
  bool Agree(Wire& wire);
  bool AgreeSocks(Wire& wire);

  const std::uint16_t target_port_;
  const Options options_;
  ssl_ctx_st* context_ = nullptr;
  std::uint16_t port_ = 0;
  int fd_;
  std::mutex mutex_;
  std::vector<std::string> asked_;  // guarded by mutex_
  std::vector<int> open_;           // guarded by mutex_
  std::list<std::thread> servers_;  // of Run's thread, then of the destructor's
  std::thread thread_;
};

}  // namespace berth::net
