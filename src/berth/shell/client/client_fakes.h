// SPDX-License-Identifier: Apache-2.0
// For tests: an event loop that is turned by hand, and a transport whose answers the test writes.
// Not thread-safe: everything runs on the test's thread.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/net/transport.h"

namespace berth::client {

class FakeLoop final : public EventLoop, public Clock {
 public:
  // Work posted beyond this many steps means that something runs in circles.
  static constexpr int kStepsMax = 1'000'000;

  void Post(std::function<void()> work) override { posted_.push_back(std::move(work)); }
  std::function<void()> PostAfter(Duration delay, std::function<void()> work) override {
    const auto key = std::make_pair(now_ + std::max(delay, Duration::zero()), id_next_++);
    timers_.emplace(key, std::move(work));
    return [this, key] { timers_.erase(key); };
  }
  bool IsCurrent() const override { return true; }
  Time Now() const override { return now_; }
  Time WallNow() const override { return now_ + wall_ahead_; }
  // Somebody sets the machine's clock.
  void StepWall(Duration by) { wall_ahead_ += by; }

  // Runs what is due now and what that posts.
  void Run() {
    for (int step = 0; step < kStepsMax; ++step) {
      if (!posted_.empty()) {
        auto work = std::move(posted_.front());
        posted_.pop_front();
        work();
      } else if (!timers_.empty() && timers_.begin()->first.first <= now_) {
        auto timer = timers_.extract(timers_.begin());
        timer.mapped()();
      } else {
        return;
      }
    }
    BERTH_CHECK(false, "the loop does not come to rest");
  }
  // Sets the time, and calls no timer.
  void SetNow(Time now) { now_ = now; }
  // Lets time pass, stopping at each timer on the way.
  void Advance(Duration by) {
    const Time end = now_ + by;
    Run();
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      now_ = std::max(now_, timers_.begin()->first.first);
      Run();
    }
    now_ = end;
  }
  // How long until the next timer; -1 when there is none.
  Duration UntilTimer() const { return timers_.empty() ? Duration(-1) : timers_.begin()->first.first - now_; }
  std::size_t TimerCount() const { return timers_.size(); }

 private:
  Time now_ = Time(std::chrono::hours(24 * 365 * 56));
  Duration wall_ahead_{0};
  std::deque<std::function<void()>> posted_;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> timers_;
  std::uint64_t id_next_ = 0;
};

class FakeTransport final : public net::Transport {
 public:
  struct Call {
    net::Request request;
    net::SendOptions options;
    Done done;

    void Answer(int status, std::string body, std::vector<net::Header> headers = {}) {
      Finish(net::Response{status, std::move(headers), std::move(body)});
    }
    void Fail(ErrorCode code, bool outcome_unknown, std::string message = "connection lost") {
      Finish(Error{code, std::move(message), outcome_unknown, 0});
    }
    void Finish(Expected<net::Response> result) {
      BERTH_CHECK(done != nullptr, request.target, "is answered twice");
      std::exchange(done, nullptr)(std::move(result));
    }
  };

  struct FakeStream {
    net::Request request;
    net::StreamOptions options;
    net::StreamCallbacks callbacks;
    bool is_cancelled = false;
    bool is_ended = false;

    void Open() { Head(200, ""); }
    void Open(std::string content_type) { Head(200, "", {{"Content-Type", std::move(content_type)}}); }
    void Head(int status, std::string body, std::vector<net::Header> headers = {}) {
      if (!is_cancelled) callbacks.on_head(net::Response{status, std::move(headers), std::move(body)});
    }
    void Bytes(std::string_view bytes) {
      if (!is_cancelled) callbacks.on_bytes(bytes);
    }
    void End(Expected<void> result = {}) {
      is_ended = true;
      if (!is_cancelled) callbacks.on_end(std::move(result));
    }
    bool IsLive() const { return !is_cancelled && !is_ended; }
  };

  void Send(net::Request request, net::SendOptions options, Done done) override {
    calls_.push_back(std::make_shared<Call>(Call{std::move(request), options, std::move(done)}));
    all_targets.push_back(calls_.back()->request.method + ' ' + calls_.back()->request.target);
    if (on_send) on_send(*calls_.back());
  }
  std::unique_ptr<net::StreamHandle> Stream(net::Request request, net::StreamOptions options,
                                            net::StreamCallbacks callbacks) override {
    auto stream = std::make_shared<FakeStream>();
    stream->request = std::move(request);
    stream->options = options;
    stream->callbacks = std::move(callbacks);
    streams_.push_back(stream);
    all_targets.push_back("WATCH " + stream->request.target);
    return std::make_unique<Handle>(stream);
  }

  // The oldest call that has no answer yet; it leaves the queue.
  std::shared_ptr<Call> Next() {
    while (!calls_.empty()) {
      auto call = calls_.front();
      calls_.pop_front();
      if (call->done) return call;
    }
    BERTH_CHECK(false, "no call is waiting");
    return nullptr;
  }
  std::size_t Waiting() const {
    return static_cast<std::size_t>(
        std::count_if(calls_.begin(), calls_.end(), [](const auto& call) { return call->done != nullptr; }));
  }
  const std::vector<std::shared_ptr<FakeStream>>& AllStreams() const { return streams_; }
  // The newest stream; null when none was opened.
  std::shared_ptr<FakeStream> LastStream() { return streams_.empty() ? nullptr : streams_.back(); }
  std::size_t LiveStreams() const {
    return static_cast<std::size_t>(
        std::count_if(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->IsLive(); }));
  }

  std::function<void(Call& call)> on_send;  // may answer at once
  std::vector<std::string> all_targets;     // "GET /api/...", "WATCH /api/..."

 private:
  class Handle final : public net::StreamHandle {
   public:
    explicit Handle(std::shared_ptr<FakeStream> stream) : stream_(std::move(stream)) {}
    ~Handle() override { Cancel(); }
    void Cancel() override { stream_->is_cancelled = true; }

   private:
    std::shared_ptr<FakeStream> stream_;
  };

  std::deque<std::shared_ptr<Call>> calls_;
  std::vector<std::shared_ptr<FakeStream>> streams_;
};

inline std::string_view FindHeader(const net::Request& request, std::string_view name) {
  for (const auto& header : request.headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

// A transport for those who own theirs, while the test goes on reading `to`, which must outlive it.
class BorrowedTransport final : public net::Transport {
 public:
  explicit BorrowedTransport(FakeTransport& to) : to_(to) {}
  void Send(net::Request request, net::SendOptions options, Done done) override {
    to_.Send(std::move(request), options, std::move(done));
  }
  std::unique_ptr<net::StreamHandle> Stream(net::Request request, net::StreamOptions options,
                                            net::StreamCallbacks callbacks) override {
    return to_.Stream(std::move(request), options, std::move(callbacks));
  }

 private:
  FakeTransport& to_;
};

}  // namespace berth::client
