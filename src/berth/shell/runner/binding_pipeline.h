// SPDX-License-Identifier: Apache-2.0
// BindingPipeline: sends bindings to the API server. A concurrency limit bounds how many are under way: it rises while
// answers come as fast as with few requests, and falls when more requests only wait longer. The others wait in a lane
// for each namespace (RequestLanes): bindings without an answer, because a webhook hangs, hold up their namespace only,
// and those that wait in its lane are refused once the server answers others meanwhile. While it is slow for all, they
// wait. Bindings that the server puts off (429) wait outside the lanes, for as long as the server says. Only the event
// loop's thread may use it, apart from limit().
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/framework/metrics.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/request_lanes.h"

namespace berth::runner {

// The number of requests to have under way at once, from the time that their answers take. Gradient descent on latency,
// after "concurrency-limits" of Netflix: the limit grows by its root while the latency is at most twice the best one
// seen, shrinks with the ratio of the two beyond that, and by a quarter when the server pushes back. The best latency
// is forgotten slowly, since a server may become slower for good. Not thread-safe.
class ConcurrencyLimit {
 public:
  ConcurrencyLimit(int limit_min, int limit_max);

  int limit() const { return limit_; }
  // A request ended that took `latency`, with `in_flight` under way when it was sent, itself included.
  void Answered(Duration latency, int in_flight);
  // The server is overloaded: 429, or no answer in time.
  void PushedBack();

 private:
  void EndWindow();

  const int limit_min_;
  const int limit_max_;
  int limit_;
  // The present window, which lasts for as many answers as are under way at once, but at least kWindowMin.
  Duration latency_sum_{};
  int answers_ = 0;
  int in_flight_most_ = 0;
  bool is_pushed_back_ = false;
  double best_ns_ = 0;  // 0: unknown
};

class BindingPipeline {
 public:
  struct Options {
    int in_flight_min = 16;
    int in_flight_max = 64;
    std::shared_ptr<client::ServerPace> pace = nullptr;  // see RequestLanesOptions
    framework::Counter* refused = nullptr;               // outlives it; null: nobody counts
  };

  // Both must outlive it. `on_busy` is called when the first binding is under way and when none is any more; those of
  // slow lanes do not count.
  BindingPipeline(client::ApiWriter& writer, client::EventLoop& loop, Options options,
                  std::function<void(bool is_busy)> on_busy = {});
  ~BindingPipeline();

  // Binds as ApiWriter::Bind does, in the order of the calls within a namespace. The core bounds how many wait.
  void Bind(client::PodTarget pod, std::string node_name, client::ApiWriter::Done done);

  std::size_t waiting() const { return lanes_->waiting(); }
  // Bindings that it would have under way at once. Any thread.
  int limit() const { return limit_shown_.load(std::memory_order_relaxed); }

 private:
  struct Binding {
    client::PodTarget pod;
    std::string node_name;
    client::ApiWriter::Done done;
    int tries = 0;
  };

  void Enqueue(const std::shared_ptr<Binding>& binding);
  void Send(const std::shared_ptr<Binding>& binding, client::RequestLanes::Ended ended);
  bool TryLater(const std::shared_ptr<Binding>& binding, const Expected<void>& result);
  void OnAnswer(const std::string& namespace_name, Time sent_at, int in_flight, const Expected<void>& result);

  client::ApiWriter& writer_;
  client::EventLoop& loop_;
  const std::function<void(bool)> on_busy_;
  framework::Counter* const refused_;
  ConcurrencyLimit limit_;
  std::atomic<int> limit_shown_;
  const std::shared_ptr<client::RequestLanes> lanes_;
  bool is_busy_ = false;
  Random random_{1};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::runner
