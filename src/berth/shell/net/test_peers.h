// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: waiting for callbacks, and peers that speak in raw bytes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "berth/shell/net/http_client.h"
#include "berth/shell/net/http_server.h"

namespace berth::net {

// No wait in a test that goes well comes near it.
inline constexpr std::chrono::seconds kPatience(20);

// A value that callbacks change and the test waits for.
template <typename T>
class Watched {
 public:
  explicit Watched(T value = {}) : value_(std::move(value)) {}

  template <typename Change>
  void Update(Change change) {
    const std::lock_guard lock(mutex_);
    change(value_);
    changed_.notify_all();
  }

  template <typename Predicate>
  [[nodiscard]] bool WaitFor(Predicate predicate) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return predicate(value_); });
  }

  T Get() {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  T value_;
};

// For options that are known to be good.
std::unique_ptr<Transport> MakeClient(IoContext& io, const std::string& url, HttpClientOptions options = {});
std::unique_ptr<HttpServer> MakeServer(IoContext& io, Handler handler, HttpServerOptions options = {});

// A handler that answers with the request's body.
void EchoBody(const Request& request, const std::shared_ptr<ResponseWriter>& writer);

// A body of that size in which no piece stands twice, so that a lost or repeated one is seen.
std::string LargeBody(std::size_t bytes);

// Sends and waits for the answer.
Expected<Response> SendAndWait(Transport& transport, Request request, SendOptions options = {});

// Everything that a stream's callbacks said, in order.
struct StreamLog {
  std::vector<Response> heads;
  std::string bytes;
  std::vector<Expected<void>> ends;
};

class StreamRecorder {
 public:
  StreamCallbacks Callbacks();
  // When the end has come.
  StreamLog WaitForEnd();
  Watched<StreamLog> log;
};

// A blocking TCP socket with a patience, for the side that a test plays by hand.
class RawSocket {
 public:
  explicit RawSocket(int fd);
  static RawSocket Connect(std::uint16_t port);
  ~RawSocket();
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;

  void Write(std::string_view bytes);
  // What comes until `end` is seen, or until the peer closes.
  std::string ReadUntil(std::string_view end);
  std::string ReadToEnd() { return ReadUntil({}); }
  // One request with its Content-Length's worth of body; empty when the peer closed.
  std::string ReadRequest();
  void ShutdownWrite();
  void Close();
  void Reset();  // closes with RST
  int fd() const { return fd_; }

 private:
  int fd_;
  std::string unread_;
};

// A server that does what the script says with each connection, one after the other, on a thread of its own.
class RawServer {
 public:
  using Script = std::function<void(RawSocket& socket, int connection)>;
  explicit RawServer(Script script);
  ~RawServer();

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_.load(); }

 private:
  void Run();

  Script script_;
  std::uint16_t port_ = 0;
  int fd_;
  std::atomic<int> connections_{0};
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

// A port on which nobody listens.
std::uint16_t ClosedPort();

}  // namespace berth::net
