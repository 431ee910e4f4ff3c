// SPDX-License-Identifier: Apache-2.0
// The client that loads an API server over HTTP/1.1: it posts objects over kept-alive connections, each with one
// request under way, and watches pods being bound. One thread and epoll, so that it takes little of the machine from
// the server that is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::bench::embedded {

class Client {
 public:
  // 127.0.0.1:port. Without connections nothing is sent.
  Client(std::uint16_t port, int connections);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // False when there is no connection.
  bool Connect();

  // Posts bodies to `path` as fast as answers of 201 come. False at another answer, told in problem().
  bool PostAll(std::string_view path, const std::vector<std::string>& bodies);

  struct Bound {
    std::size_t posted = 0;
    std::size_t bound = 0;    // pods of whose bindings the watch has told
    std::size_t rebound = 0;  // told of with another node: must be 0
    double create_seconds = 0;
    double bind_seconds = 0;   // from the first request to the last binding seen
    double first_seconds = 0;  // ... to the first one
    std::size_t watch_bytes = 0;
    std::vector<std::uint32_t> pods_per_node;
  };
  // Posts `bodies` (of pods "pod-0" ... in their order) while it watches pods of the namespace, until all are bound on
  // nodes "node-0" ... or nothing has happened for `patience_seconds`.
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
  // What PostAndWatch knows of the pods.
  struct Progress {
    Bound bound;
    std::vector<std::int32_t> node_of;  // -1: not bound
    double started = 0;
    double last_event = 0;
  };

  int Dial();
  bool Begin(Connection& connection, std::string_view path, std::string_view body);
  bool Flush(Connection& connection);
  // Reads what there is; true when a whole answer of 201 has come.
  bool TakeAnswer(Connection& connection);
  bool StartWatch(std::string_view namespace_name);
  bool ReadWatch(Progress& progress);
  void TakeEvent(std::string_view line, Progress& progress);
  bool Run(std::string_view path, const std::vector<std::string>& bodies, Progress* progress, double patience_seconds);

  const std::uint16_t port_;
  int epoll_ = -1;
  std::vector<Connection> connections_;
  int watch_ = -1;
  std::string watch_in_;    // raw bytes that are no whole chunk yet
  std::string watch_text_;  // of the body, from the last line's begin
  bool has_watch_head_ = false;
  std::string problem_;
};

}  // namespace berth::bench::embedded
