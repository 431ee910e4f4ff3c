// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/test_loopback.h"

#include <csignal>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "berth/base/check.h"

namespace berth::net {

int ListenOnLoopback(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  BERTH_CHECK(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(fd, 64) == 0);
  BERTH_CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port = ntohs(address.sin_port);
  return fd;
}

LoopbackServer::LoopbackServer(Serve serve) : serve_(std::move(serve)), fd_(ListenOnLoopback(port_)) {
  thread_ = std::thread([this] { Accept(); });
}

LoopbackServer::~LoopbackServer() {
  ::shutdown(fd_, SHUT_RDWR);
  thread_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& handler : handlers_) handler.join();
  ::close(fd_);
}

int LoopbackServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void LoopbackServer::Accept() {
  for (;;) {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    handlers_.emplace_back([this, fd, connection = connections_++] { Handle(fd, connection); });
  }
}

void LoopbackServer::Handle(int fd, int connection) {
  // OpenSSL writes with write(2): where the client has gone that is an error for this thread, not the end of all.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  serve_(fd, connection);
  const std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  ::close(fd);
}

}  // namespace berth::net
