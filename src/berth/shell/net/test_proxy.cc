// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/test_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::net {

// The client's side.
class FakeProxy::Wire {
 public:
  Wire(int fd, SSL_CTX* context) : fd_(fd) {
    if (context == nullptr) return;
    ssl_ = SSL_new(context);
    SSL_set_fd(ssl_, fd_);
    is_open_ = SSL_accept(ssl_) == 1;
  }
  ~Wire() { SSL_free(ssl_); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  int fd() const { return fd_; }
  bool is_open() const { return is_open_; }
  bool HasPending() const { return ssl_ != nullptr && SSL_pending(ssl_) > 0; }

  std::string ReadSome(std::size_t bytes_max = 16384) {
    std::string bytes(bytes_max, '\0');
    const auto received = ssl_ != nullptr ? SSL_read(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                          : ::recv(fd_, bytes.data(), bytes.size(), 0);
    is_open_ = received > 0;
    bytes.resize(is_open_ ? static_cast<std::size_t>(received) : 0);
    return bytes;
  }
  std::string Read(std::size_t count) {
    std::string bytes;
    while (is_open_ && bytes.size() < count) bytes += ReadSome(count - bytes.size());
    return bytes;
  }
  void Write(std::string_view bytes) {
    if (ssl_ != nullptr) {
      is_open_ = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
    } else {
      is_open_ = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
    }
  }

 private:
  const int fd_;
  SSL* ssl_ = nullptr;
  bool is_open_ = true;
};

FakeProxy::FakeProxy(std::uint16_t target_port, Options options)
    : target_port_(target_port),
      options_(options),
      context_(options.certificate != nullptr ? options.certificate->MakeServerContext() : nullptr),
      server_([this](int fd, int) { Serve(fd); }) {}

std::vector<std::string> FakeProxy::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}

bool FakeProxy::Agree(Wire& wire) {
  std::string head;
  while (wire.is_open() && !head.ends_with("\r\n\r\n")) head += wire.Read(1);
  const std::lock_guard lock(mutex_);
  asked_.push_back(head);
  wire.Write("HTTP/1.1 200 Connection established\r\n\r\n");
  return wire.is_open();
}

bool FakeProxy::AgreeSocks(Wire& wire) {
  const std::string methods = wire.Read(2);
  if (methods.size() < 2) return false;
  const bool has_user = wire.Read(static_cast<unsigned char>(methods[1])).find('\2') != std::string::npos;
  wire.Write(has_user ? std::string_view("\5\2", 2) : std::string_view("\5\0", 2));
  std::string asked;
  if (has_user) {
    const std::string name = wire.Read(static_cast<unsigned char>(wire.Read(2).back()));
    asked = name + ":" + wire.Read(static_cast<unsigned char>(wire.Read(1).back())) + " ";
    wire.Write(std::string_view("\1\0", 2));
  }
  const std::string head = wire.Read(5);  // of a name: others are not asked for in tests
  if (head.size() < 5 || head[3] != 3) return false;
  asked += wire.Read(static_cast<unsigned char>(head[4]));
  const std::string port = wire.Read(2);
  asked += ":" + std::to_string(static_cast<unsigned char>(port[0]) * 256 + static_cast<unsigned char>(port[1]));
  const std::lock_guard lock(mutex_);
  asked_.push_back(asked);
  wire.Write(std::string_view("\5\0\0\1\0\0\0\0\0\0", 10));
  return wire.is_open();
}

void FakeProxy::Serve(int fd) {
  const int target = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  {
    Wire wire(fd, context_.get());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(target_port_);
    bool goes_on = wire.is_open() && (options_.is_socks ? AgreeSocks(wire) : Agree(wire)) &&
                   ::connect(target, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    while (goes_on) {
      pollfd polled[2] = {{wire.fd(), POLLIN, 0}, {target, POLLIN, 0}};
      if (!wire.HasPending() && ::poll(polled, 2, -1) < 0) break;
      if (wire.HasPending() || polled[0].revents != 0) {
        const std::string bytes = wire.ReadSome();
        goes_on = !bytes.empty() && ::send(target, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
      }
      if (goes_on && polled[1].revents != 0) {
        char buffer[16384];
        const auto received = ::recv(target, buffer, sizeof(buffer), 0);
        if (received > 0) wire.Write({buffer, static_cast<std::size_t>(received)});
        goes_on = received > 0 && wire.is_open();
      }
    }
  }
  ::close(target);
}

}  // namespace berth::net
