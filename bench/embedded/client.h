// SPDX-License-Identifier: Apache-2.0
// A client that loads an API server over HTTP/1.1: it posts objects over kept-alive connections, with one request under
// way on each, and watches the bindings of pods. One thread with epoll, so that it takes little CPU from the measured
// server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::bench::embedded {

class Client {
 public:
  // Connects to 127.0.0.1:port. Without connections nothing is sent.
  Client(std::uint16_t port, int connections);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Returns false when a connection fails.
  bool Connect();

  // Posts bodies to `path` as fast as responses with status 201 arrive. Returns false at any other response; see
  // problem().
  bool PostAll(std::string_view path, const std::vector<std::string>& bodies);

  struct Bound {
    std::size_t posted = 0;
    std::size_t bound = 0;    // pods whose binding the watch has shown
    std::size_t rebound = 0;  // pods that the watch has shown with a second node: must be 0
    double create_seconds = 0;
    double bind_seconds = 0;   // from the first request to the last binding seen
    double first_seconds = 0;  // ... to the first one
    std::size_t watch_bytes = 0;
    std::vector<std::uint32_t> pods_per_node;
  };
  // Posts `bodies` (of pods "pod-0" ... in order) while it watches the namespace's pods, until all are bound to nodes
  // "node-0" ... or nothing has happened for `patience_seconds`.
  Bound PostAndWatch(std::string_view namespace_name, const std::vector<std::string>& bodies, std::size_t nodes,
                     double patience_seconds);

  const std::string& problem() const { return problem_; }

 private:
  struct Connection {
    int fd = -1;
    std::string in;
    std::string out;
    std::size_t sent = 0;
    bool is_busy = false;
  };
  // PostAndWatch's state of the pods.
  struct Progress {
    Bound bound;
    std::vector<std::int32_t> node_of;  // -1: not bound
    double started = 0;
    double last_event = 0;
  };

  int Dial();
  bool Begin(Connection& connection, std::string_view path, std::string_view body);
  bool Flush(Connection& connection);
  // Reads what is available; returns true when a complete response with status 201 has arrived.
  bool TakeAnswer(Connection& connection);
  bool StartWatch(std::string_view namespace_name);
  bool ReadWatch(Progress& progress);
  void TakeEvent(std::string_view line, Progress& progress);
  bool Run(std::string_view path, const std::vector<std::string>& bodies, Progress* progress, double patience_seconds);

  const std::uint16_t port_;
  int epoll_ = -1;
  std::vector<Connection> connections_;
  int watch_ = -1;
  std::string watch_in_;    // raw bytes of an incomplete chunk
  std::string watch_text_;  // the body from the start of its last line
  bool has_watch_head_ = false;
  std::string problem_;
};

}  // namespace berth::bench::embedded
