// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/test_peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "berth/shell/net/test_loopback.h"

namespace berth::net {

std::unique_ptr<Transport> MakeClient(IoContext& io, const std::string& url, HttpClientOptions options) {
  options.base_url = url;
  auto client = MakeHttpClient(io, std::move(options));
  BERTH_CHECK(client.ok(), client.ok() ? "" : client.error().message);
  return std::move(client).value();
}

std::unique_ptr<HttpServer> MakeServer(IoContext& io, Handler handler, HttpServerOptions options) {
  auto server = StartHttpServer(io, std::move(options), std::move(handler));
  BERTH_CHECK(server.ok(), server.ok() ? "" : server.error().message);
  return std::move(server).value();
}

void EchoBody(const Request& request, const std::shared_ptr<ResponseWriter>& writer) {
  writer->Send({200, {}, request.body});
}

std::string LargeBody(std::size_t bytes) {
  std::string body;
  for (int i = 0; body.size() < bytes; ++i) body += std::to_string(i);
  body.resize(bytes);
  return body;
}

Expected<Response> SendAndWait(Transport& transport, Request request, SendOptions options) {
  const auto promise = std::make_shared<std::promise<Expected<Response>>>();
  auto future = promise->get_future();
  transport.Send(std::move(request), options,
                 [promise](Expected<Response> result) { promise->set_value(std::move(result)); });
  BERTH_CHECK(future.wait_for(kPatience) == std::future_status::ready, "no answer and no error came");
  return future.get();
}

StreamCallbacks StreamRecorder::Callbacks() {
  return {
      .on_head = [this](const Response& head) { log.Update([&](StreamLog& l) { l.heads.push_back(head); }); },
      .on_bytes = [this](std::string_view bytes) { log.Update([&](StreamLog& l) { l.bytes += bytes; }); },
      .on_end = [this](Expected<void> end) { log.Update([&](StreamLog& l) { l.ends.push_back(std::move(end)); }); },
  };
}

StreamLog StreamRecorder::WaitForEnd() {
  BERTH_CHECK(log.WaitFor([](const StreamLog& l) { return !l.ends.empty(); }), "the stream did not end");
  return log.Get();
}

RawSocket::RawSocket(int fd) : fd_(fd) {
  const timeval patience{std::chrono::seconds(kPatience).count(), 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

RawSocket RawSocket::Connect(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  BERTH_CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return RawSocket(fd);
}

RawSocket::~RawSocket() { Close(); }

void RawSocket::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // The peer has gone: the test looks at what it did instead.
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string RawSocket::ReadUntil(std::string_view end) {
  for (;;) {
    const auto found = end.empty() ? std::string::npos : unread_.find(end);
    if (found != std::string::npos) {
      std::string result = unread_.substr(0, found + end.size());
      unread_.erase(0, result.size());
      return result;
    }
    char buffer[16384];
    const auto received = ::recv(fd_, buffer, sizeof(buffer), 0);
    if (received <= 0) return std::exchange(unread_, {});
    unread_.append(buffer, static_cast<std::size_t>(received));
  }
}

std::string RawSocket::ReadRequest() {
  std::string request = ReadUntil("\r\n\r\n");
  const auto header = request.find("Content-Length: ");
  std::size_t body_bytes = header == std::string::npos ? 0 : std::stoul(request.substr(header + 16));
  while (unread_.size() < body_bytes) {
    char buffer[16384];
    const auto received = ::recv(fd_, buffer, sizeof(buffer), 0);
    if (received <= 0) break;
    unread_.append(buffer, static_cast<std::size_t>(received));
  }
  body_bytes = std::min(body_bytes, unread_.size());
  request += unread_.substr(0, body_bytes);
  unread_.erase(0, body_bytes);
  return request;
}

void RawSocket::ShutdownWrite() { ::shutdown(fd_, SHUT_WR); }

void RawSocket::Close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void RawSocket::Reset() {
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  Close();
}

RawServer::RawServer(Script script) : script_(std::move(script)), fd_(ListenOnLoopback(port_)) {
  thread_ = std::thread([this] { Run(); });
}

RawServer::~RawServer() {
  is_stopping_ = true;
  ::shutdown(fd_, SHUT_RDWR);
  thread_.join();
  ::close(fd_);
}

void RawServer::Run() {
  while (!is_stopping_) {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    RawSocket socket(fd);
    script_(socket, connections_++);
  }
}

std::uint16_t ClosedPort() {
  std::uint16_t port = 0;
  ::close(ListenOnLoopback(port));
  return port;
}

}  // namespace berth::net
