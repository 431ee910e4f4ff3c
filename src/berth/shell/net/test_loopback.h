// SPDX-License-Identifier: Apache-2.0
// Sockets of this machine, for servers in tests.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::net {

// A socket that listens on a free port of 127.0.0.1, which is written to `port`.
int ListenOnLoopback(std::uint16_t& port);

// Accepts connections on a free port of 127.0.0.1 and hands each to `serve`, on a thread of its own. The destructor
// ends them all: reads and writes that block return then.
class LoopbackServer {
 public:
  // The connection's number counts from 0. `serve` may shut the socket down; closing it is the server's part.
  using Serve = std::function<void(int fd, int connection)>;
  explicit LoopbackServer(Serve serve);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  std::uint16_t port() const { return port_; }
  // How many have come.
  int connections() const;

 private:
  void Accept();
  void Handle(int fd, int connection);

  const Serve serve_;
  std::uint16_t port_ = 0;
  const int fd_;
  mutable std::mutex mutex_;
  int connections_ = 0;              // guarded by mutex_
  std::vector<int> open_;            // guarded by mutex_
  std::list<std::thread> handlers_;  // of Accept's thread, then of the destructor's
  std::thread thread_;
};

}  // namespace berth::net
