// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/in_process.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace berth::apiserver {
namespace {

Error Cancelled() { return {ErrorCode::kCancelled, "the in-process client has been closed"}; }

// One request whose answer comes whole.
class Exchange final : public net::ResponseWriter, public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(net::SendOptions options, net::Transport::Done done) : options_(options), done_(std::move(done)) {}

  ~Exchange() override {
    if (!has_begun_) {
      Finish(Cancelled());  // the loop ended first
    } else {
      Finish(net::Response{500, {{"Content-Type", "text/plain"}}, "the handler gave no answer"});
    }
  }

  // To be called just before the handler is.
  void Begin() { has_begun_ = true; }

  void Send(net::Response response) override {
    if (response.body.size() > options_.body_bytes_max) {
      Finish(Error{ErrorCode::kTooLarge, "the answer has " + std::to_string(response.body.size()) + " bytes, at most " +
                                             std::to_string(options_.body_bytes_max) + " are read"});
      return;
    }
    Finish(std::move(response));
  }
  void StartStream(net::Response response) override {
    const std::lock_guard lock(mutex_);
    streamed_ = std::move(response);
  }
  bool Write(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    if (done_ == nullptr || streamed_.body.size() + bytes.size() > options_.body_bytes_max) return false;
    streamed_.body += bytes;
    return true;
  }
  void End() override {
    net::Response response;
    {
      const std::lock_guard lock(mutex_);
      response = std::move(streamed_);
    }
    Finish(std::move(response));
  }
  void OnClosed(std::function<void()> closed) override {
    const std::lock_guard lock(mutex_);
    closed_ = std::move(closed);
  }

  // Gives the one answer; later ones are ignored.
  void Finish(Expected<net::Response> result) {
    net::Transport::Done done;
    std::function<void()> closed;
    {
      const std::lock_guard lock(mutex_);
      std::swap(done, done_);
      std::swap(closed, closed_);
    }
    if (closed) closed();
    if (done) done(std::move(result));
  }

 private:
  const net::SendOptions options_;
  std::atomic<bool> has_begun_{false};
  std::mutex mutex_;  // guards all below
  net::Transport::Done done_;
  std::function<void()> closed_;
  net::Response streamed_;
};

// One stream: the handler writes into a buffer, the loop's thread takes from it.
class StreamExchange final : public net::ResponseWriter, public std::enable_shared_from_this<StreamExchange> {
 public:
  StreamExchange(net::IoContext& io, net::StreamCallbacks callbacks) : io_(io), callbacks_(std::move(callbacks)) {}

  void Send(net::Response response) override {
    const std::lock_guard lock(mutex_);
    head_ = std::move(response);
    is_ended_ = true;
    ScheduleLocked();
  }
  void StartStream(net::Response response) override {
    const std::lock_guard lock(mutex_);
    unread_ += response.body;
    response.body.clear();
    head_ = std::move(response);
    ScheduleLocked();
  }
  bool Write(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    if (is_cancelled_ || is_ended_) return false;
    if (unread_.size() + bytes.size() > kInProcessUnreadBytesMax) {
      is_overrun_ = true;
      is_ended_ = true;
      ScheduleLocked();
      return false;
    }
    unread_ += bytes;
    ScheduleLocked();
    return true;
  }
  std::size_t BufferedBytes() const override {
    const std::lock_guard lock(mutex_);
    return unread_.size();
  }
  void End() override {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    ScheduleLocked();
  }
  void Abort() override {
    const std::lock_guard lock(mutex_);
    if (is_ended_) return;
    unread_ = {};
    is_overrun_ = true;
    is_ended_ = true;
    ScheduleLocked();
  }
  void OnClosed(std::function<void()> closed) override {
    {
      const std::lock_guard lock(mutex_);
      if (!is_cancelled_) {
        closed_ = std::move(closed);
        return;
      }
    }
    closed();
  }

  void Cancel() {
    std::function<void()> closed;
    {
      // Waits for a callback that runs on another thread; within one it is this thread's own.
      const std::lock_guard calling(callback_mutex_);
      const std::lock_guard lock(mutex_);
      is_cancelled_ = true;
      unread_.clear();
      std::swap(closed, closed_);
    }
    if (closed) closed();
  }

 private:
  void ScheduleLocked() {
    if (is_scheduled_ || is_cancelled_) return;
    is_scheduled_ = true;
    io_.Post([self = shared_from_this()] { self->Deliver(); });
  }

  void Deliver() {
    std::string bytes;
    std::optional<net::Response> head;
    bool is_last = false;
    bool is_overrun = false;
    {
      const std::lock_guard lock(mutex_);
      is_scheduled_ = false;
      bytes.swap(unread_);
      if (head_ && !std::exchange(has_sent_head_, true)) head = std::move(head_);
      is_last = is_ended_ && !std::exchange(has_ended_, is_ended_);
      is_overrun = is_overrun_;
    }
    // The body of a success that came whole is the stream's bytes, as over HTTP.
    if (head && head->status / 100 == 2) bytes.insert(0, std::exchange(head->body, {}));
    if (head)
      Call([&] {
        if (callbacks_.on_head) callbacks_.on_head(*head);
      });
    if (!bytes.empty())
      Call([&] {
        if (callbacks_.on_bytes) callbacks_.on_bytes(bytes);
      });
    if (!is_last) return;
    std::function<void()> closed;
    {
      const std::lock_guard lock(mutex_);
      std::swap(closed, closed_);
    }
    if (closed) closed();
    Call([&] {
      if (!callbacks_.on_end) return;
      if (is_overrun) {
        callbacks_.on_end(Error{ErrorCode::kUnavailable, "the stream was closed: its reader fell too far behind"});
      } else {
        callbacks_.on_end({});
      }
    });
  }

  template <typename Callback>
  void Call(const Callback& callback) {
    const std::lock_guard calling(callback_mutex_);
    {
      const std::lock_guard lock(mutex_);
      if (is_cancelled_) return;
    }
    callback();
  }

  net::IoContext& io_;
  const net::StreamCallbacks callbacks_;
  // Held while a callback runs, so that none runs once Cancel() has returned; a callback may itself cancel. Before
  // mutex_.
  std::recursive_mutex callback_mutex_;
  mutable std::mutex mutex_;  // guards all below
  std::optional<net::Response> head_;
  std::string unread_;
  std::function<void()> closed_;
  bool has_sent_head_ = false;
  bool is_ended_ = false;
  bool has_ended_ = false;
  bool is_overrun_ = false;
  bool is_cancelled_ = false;
  bool is_scheduled_ = false;
};

class Handle final : public net::StreamHandle {
 public:
  explicit Handle(std::shared_ptr<StreamExchange> stream) : stream_(std::move(stream)) {}
  ~Handle() override { stream_->Cancel(); }
  void Cancel() override { stream_->Cancel(); }

 private:
  std::shared_ptr<StreamExchange> stream_;
};

class InProcessTransport final : public net::Transport {
 public:
  InProcessTransport(net::IoContext& io, net::Handler handler) : io_(io), handler_(std::move(handler)) {}
  ~InProcessTransport() override { is_alive_->store(false); }

  void Send(net::Request request, net::SendOptions options, Done done) override {
    auto exchange = std::make_shared<Exchange>(options, std::move(done));
    io_.Post([this_handler = handler_, alive = is_alive_, exchange, io = &io_, timeout = options.timeout,
              request = std::move(request)]() mutable {
      if (!alive->load()) {
        exchange->Finish(Cancelled());
        return;
      }
      exchange->Begin();
      const std::weak_ptr<Exchange> weak = exchange;
      this_handler(std::move(request), std::move(exchange));
      // The server answers within the call, but for a watch that was asked for with Send().
      if (weak.expired()) return;
      (void)io->PostAfter(timeout, [weak] {
        if (const auto late = weak.lock()) {
          late->Finish(Error{ErrorCode::kTimeout, "no whole answer within the timeout", true});
        }
      });
    });
  }

  std::unique_ptr<net::StreamHandle> Stream(net::Request request, net::StreamOptions,
                                            net::StreamCallbacks callbacks) override {
    // Nothing can be silently lost between the two ends here, so the options' timeouts have nothing to find out.
    auto stream = std::make_shared<StreamExchange>(io_, std::move(callbacks));
    auto handle = std::make_unique<Handle>(stream);
    io_.Post([handler = handler_, stream, request = std::move(request)]() mutable {
      handler(std::move(request), std::move(stream));
    });
    return handle;
  }

 private:
  net::IoContext& io_;
  const net::Handler handler_;
  const std::shared_ptr<std::atomic<bool>> is_alive_ = std::make_shared<std::atomic<bool>>(true);
};

}  // namespace

std::unique_ptr<net::Transport> MakeInProcessTransport(net::IoContext& io, net::Handler handler) {
  return std::make_unique<InProcessTransport>(io, std::move(handler));
}

}  // namespace berth::apiserver
