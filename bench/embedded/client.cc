// SPDX-License-Identifier: Apache-2.0
#include "bench/embedded/client.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <optional>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::bench::embedded {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr int kWatchId = -1;

double Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The number after `key` and a prefix, as in "name":"pod-17".
std::optional<std::size_t> NumberBehind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t number = 0;
  const char* begin = text.data() + at + key.size();
  const auto parsed = std::from_chars(begin, text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr == text.data() + text.size() || *parsed.ptr != '"') return std::nullopt;
  return number;
}

}  // namespace

Client::Client(std::uint16_t port, int connections) : port_(port) {
  connections_.resize(static_cast<std::size_t>(connections));
}

Client::~Client() {
  for (const Connection& each : connections_) {
    if (each.fd >= 0) close(each.fd);
  }
  if (watch_ >= 0) close(watch_);
  if (epoll_ >= 0) close(epoll_);
}

int Client::Dial() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    problem_ = std::string("connecting: ") + std::strerror(errno);
    if (fd >= 0) close(fd);
    return -1;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

bool Client::Connect() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    connections_[i].fd = Dial();
    if (connections_[i].fd < 0) return false;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = static_cast<int>(i);
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[i].fd, &event);
  }
  return true;
}

bool Client::Begin(Connection& connection, std::string_view path, std::string_view body) {
  connection.out.clear();
  connection.sent = 0;
  connection.out.append("POST ").append(path).append(" HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n");
  connection.out.append("Content-Type: application/json\r\nContent-Length: ").append(std::to_string(body.size()));
  connection.out.append("\r\n\r\n").append(body);
  connection.is_busy = true;
  return Flush(connection);
}

// A request is far smaller than the socket's buffer: if it does not fit, the peer does not read.
bool Client::Flush(Connection& connection) {
  while (connection.sent < connection.out.size()) {
    const ssize_t wrote =
        send(connection.fd, connection.out.data() + connection.sent, connection.out.size() - connection.sent, 0);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      problem_ = std::string("sending: ") + std::strerror(errno);
      return false;
    }
    connection.sent += static_cast<std::size_t>(wrote);
  }
  return true;
}

bool Client::TakeAnswer(Connection& connection) {
  char buffer[16 << 10];
  const ssize_t got = recv(connection.fd, buffer, sizeof(buffer), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    problem_ = "the server closed a connection";
    return false;
  }
  connection.in.append(buffer, static_cast<std::size_t>(got));
  const std::size_t head = connection.in.find("\r\n\r\n");
  if (head == std::string::npos) return false;
  const std::string_view text = connection.in;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const std::size_t at = text.substr(0, head).find(kLength);
  std::size_t length = 0;
  if (at != std::string_view::npos) {
    (void)std::from_chars(text.data() + at + kLength.size(), text.data() + head, length);
  }
  if (text.size() < head + 4 + length) return false;
  if (!text.starts_with("HTTP/1.1 201")) {
    problem_ = "the server answered " + connection.in;
    return false;
  }
  connection.in.erase(0, head + 4 + length);
  connection.is_busy = false;
  return true;
}

bool Client::StartWatch(std::string_view namespace_name) {
  watch_ = Dial();
  if (watch_ < 0) return false;
  std::string request = "GET /api/v1/namespaces/" + std::string(namespace_name) +
                        "/pods?watch=true HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n";
  if (send(watch_, request.data(), request.size(), 0) != static_cast<ssize_t>(request.size())) {
    problem_ = "the watch could not be asked for";
    return false;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = kWatchId;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, watch_, &event);
  return true;
}

void Client::TakeEvent(std::string_view line, Progress& progress) {
  const auto node = NumberBehind(line, R"("nodeName":"node-)");
  if (!node) return;
  const auto pod = NumberBehind(line, R"("name":"pod-)");
  if (!pod || *pod >= progress.node_of.size() || *node >= progress.bound.pods_per_node.size()) return;
  std::int32_t& known = progress.node_of[*pod];
  if (known < 0) {
    known = static_cast<std::int32_t>(*node);
    ++progress.bound.pods_per_node[*node];
    const double seconds = Now() - progress.started;
    if (progress.bound.bound++ == 0) progress.bound.first_seconds = seconds;
    progress.bound.bind_seconds = seconds;
  } else if (known != static_cast<std::int32_t>(*node)) {
    ++progress.bound.rebound;
  }
}

bool Client::ReadWatch(Progress& progress) {
  const std::size_t before = watch_in_.size();
  watch_in_.resize(before + kReadBytes);
  const ssize_t got = recv(watch_, watch_in_.data() + before, kReadBytes, 0);
  watch_in_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) {
    problem_ = "the watch has ended";
    return false;
  }
  progress.bound.watch_bytes += static_cast<std::size_t>(got);
  std::size_t at = 0;
  if (!has_watch_head_) {
    const std::size_t head = watch_in_.find("\r\n\r\n");
    if (head == std::string::npos) return true;
    has_watch_head_ = true;
    at = head + 4;
  }
  while (true) {  // one chunk per iteration
    const std::size_t line = watch_in_.find("\r\n", at);
    if (line == std::string::npos) break;
    std::size_t length = 0;
    (void)std::from_chars(watch_in_.data() + at, watch_in_.data() + line, length, 16);
    if (watch_in_.size() < line + 2 + length + 2) break;
    watch_text_.append(watch_in_, line + 2, length);
    at = line + 2 + length + 2;
  }
  watch_in_.erase(0, at);
  std::size_t begin = 0;
  for (std::size_t end; (end = watch_text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    TakeEvent(std::string_view(watch_text_).substr(begin, end - begin), progress);
  }
  watch_text_.erase(0, begin);
  return true;
}

bool Client::Run(std::string_view path, const std::vector<std::string>& bodies, Progress* progress,
                 double patience_seconds) {
  std::size_t next = 0;
  std::size_t answered = 0;
  for (Connection& connection : connections_) {
    if (next < bodies.size() && !Begin(connection, path, bodies[next++])) return false;
  }
  double last_progress = Now();
  const double started = last_progress;
  epoll_event events[64];
  while (answered < bodies.size() || (progress != nullptr && progress->bound.bound < bodies.size())) {
    const int count = epoll_wait(epoll_, events, 64, 100);
    if (count > 0) last_progress = Now();
    if (Now() - last_progress > patience_seconds) {
      problem_ = "nothing has happened for a long time";
      return false;
    }
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == kWatchId) {
        if (!ReadWatch(*progress)) return false;
        continue;
      }
      Connection& connection = connections_[static_cast<std::size_t>(events[i].data.fd)];
      if (!TakeAnswer(connection)) {
        if (!problem_.empty()) return false;
        continue;
      }
      if (++answered == bodies.size() && progress != nullptr) progress->bound.create_seconds = Now() - started;
      if (next < bodies.size() && !Begin(connection, path, bodies[next++])) return false;
    }
    if (progress != nullptr) progress->bound.posted = answered;
  }
  return true;
}

bool Client::PostAll(std::string_view path, const std::vector<std::string>& bodies) {
  return Run(path, bodies, nullptr, 30);
}

Client::Bound Client::PostAndWatch(std::string_view namespace_name, const std::vector<std::string>& bodies,
                                   std::size_t nodes, double patience_seconds) {
  Progress progress;
  progress.node_of.assign(bodies.size(), -1);
  progress.bound.pods_per_node.assign(nodes, 0);
  if (!StartWatch(namespace_name)) return progress.bound;
  progress.started = Now();
  const std::string path = "/api/v1/namespaces/" + std::string(namespace_name) + "/pods";
  (void)Run(path, bodies, &progress, patience_seconds);  // errors are in problem()
  return progress.bound;
}

}  // namespace berth::bench::embedded
