// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/client_pool.h"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "berth/shell/net/client_connection.h"
#include "berth/shell/net/client_stream.h"
#include "berth/shell/net/http2_connection.h"
#include "berth/shell/net/http2_session.h"
#include "berth/shell/net/write_fence.h"

namespace berth::net {

using boost::system::error_code;

// An exchange on a connection that speaks HTTP/2.
class Http2Call final : public Http2Reader, public std::enable_shared_from_this<Http2Call> {
 public:
  Http2Call(std::shared_ptr<ClientPool> pool, ExchangeList::iterator exchange,
            std::shared_ptr<Http2Connection> connection);
  ~Http2Call() override;

  // False when the connection takes no further request.
  bool Begin();
  // Ends the call without an answer.
  void Leave();

  const std::shared_ptr<Http2Connection>& connection() const { return connection_; }
  ExchangeList::iterator exchange() const { return exchange_; }

  void OnHttp2Head(Response&& head) override;
  void OnHttp2Body(std::string_view bytes) override;
  void OnHttp2End(const Http2End& end) override;

 private:
  void Finish(Expected<Response> result);
  const std::string& where() const;

  const std::shared_ptr<ClientPool> pool_;
  const ExchangeList::iterator exchange_;
  const std::shared_ptr<Http2Connection> connection_;
  std::int32_t id_ = 0;
  Response response_;
};

Http2Call::Http2Call(std::shared_ptr<ClientPool> pool, ExchangeList::iterator exchange,
                     std::shared_ptr<Http2Connection> connection)
    : pool_(std::move(pool)), exchange_(exchange), connection_(std::move(connection)) {}

Http2Call::~Http2Call() { Leave(); }

bool Http2Call::Begin() {
  // The exchange keeps its body: the peer may refuse it, and it is sent again.
  id_ = connection_->Submit(exchange_->request, exchange_->request.body, *this);
  return id_ != 0;
}

void Http2Call::Leave() {
  if (id_ != 0) connection_->Reset(std::exchange(id_, 0));
}

void Http2Call::OnHttp2Head(Response&& head) { response_ = std::move(head); }

void Http2Call::OnHttp2Body(std::string_view bytes) {
  if (response_.body.size() + bytes.size() > exchange_->body_bytes_max) {
    return Finish(Error{
        ErrorCode::kTooLarge,
        where() + ": the answer's body is longer than " + std::to_string(exchange_->body_bytes_max) + " bytes", true});
  }
  response_.body.append(bytes);
}

void Http2Call::OnHttp2End(const Http2End& end) {
  id_ = 0;
  using How = Http2End::How;
  const bool is_safe = end.how == How::kRefused || (exchange_->is_repeatable && response_.status == 0);
  switch (end.how) {
    case How::kComplete:
      // A new client certificate may get a better answer, and needs a new connection.
      if (pool_->settings().HasClientCertificate() && exchange_->IsCertificateRefused(response_)) connection_->Retire();
      for (const Header& trailer : end.trailers) response_.headers.push_back(trailer);
      return Finish(std::move(response_));
    case How::kTooLarge: return Finish(Error{ErrorCode::kTooLarge, where() + ": " + end.reason, true});
    case How::kFenced: return Finish(FencedError(where(), end.was_sent));
    case How::kRefused:
    case How::kBroken: break;
  }
  if (is_safe && exchange_->attempts < kAttemptsMax) {
    const auto self = shared_from_this();
    exchange_->call.reset();
    return pool_->Again(exchange_);
  }
  const std::string detail = end.reason.empty() ? "" : ": " + end.reason;
  const bool is_unknown = end.how != How::kRefused;
  if (response_.status != 0) return Finish(Unavailable(where() + ": the answer was cut short" + detail, true));
  Finish(Unavailable(where() + (detail.empty() ? ": the connection was closed before an answer came" : detail),
                     is_unknown));
}

// Completes the exchange, which destroys this object.
void Http2Call::Finish(Expected<Response> result) {
  const auto self = shared_from_this();
  pool_->Complete(pool_->in_flight(), exchange_, std::move(result));
}

const std::string& Http2Call::where() const { return pool_->settings().where; }

ClientPool::ClientPool(IoContext::Impl& io, Loop& loop, ClientSettings settings)
    : io_(io),
      loop_(loop),
      settings_(std::make_shared<const ClientSettings>(std::move(settings))),
      deadline_timer_(loop.io),
      idle_timer_(loop.io),
      mode_((settings_->link.tls && settings_->link.tls->offers_http2) || settings_->IsHttp2WithoutTls()
                ? Mode::kUnknown
                : Mode::kHttp1) {}

void ClientPool::Send(Request request, SendOptions options, Transport::Done done) {
  const auto checked = CheckRequest(request);
  ExchangeList made(1);
  Exchange& exchange = made.front();
  exchange.done = std::move(done);
  std::optional<Error> refusal;
  if (!checked.ok()) {
    refusal = checked.error();
  } else if (queued_.fetch_add(1) >= settings_->options.queued_requests_max) {
    queued_.fetch_sub(1);
    refusal = Error{ErrorCode::kTooManyRequests, settings_->where + ": " +
                                                     std::to_string(settings_->options.queued_requests_max) +
                                                     " requests wait for a connection already"};
  }
  if (refusal) {
    boost::asio::post(loop_.io, [done = std::move(exchange.done), error = std::move(*refusal)] { done(error); });
    return;
  }
  exchange.timeout = options.timeout;
  exchange.deadline = SteadyAfter(options.timeout);
  exchange.body_bytes_max = options.body_bytes_max;
  exchange.is_about_certificate = options.is_about_certificate;
  exchange.is_head = request.method == "HEAD";
  exchange.is_repeatable = exchange.is_head || request.method == "GET";
  exchange.request = std::move(request);
  bool must_post = false;
  {
    const std::lock_guard lock(inbox_mutex_);
    if (is_inbox_closed_) return;  // called from a callback of the closing client: the exchange is dropped
    inbox_.splice(inbox_.end(), made);
    must_post = !std::exchange(is_inbox_posted_, true);
  }
  if (!must_post) return;
  auto drain = [self = shared_from_this()] { self->DrainInbox(); };
  if (loop_.IsCurrent()) {
    loop_.Defer(std::move(drain));
  } else {
    boost::asio::post(loop_.io, std::move(drain));
  }
}

void ClientPool::DrainInbox() {
  ExchangeList arrived;
  {
    const std::lock_guard lock(inbox_mutex_);
    is_inbox_posted_ = false;
    arrived.swap(inbox_);
  }
  for (Exchange& exchange : arrived) deadlines_.emplace(exchange.deadline, &exchange);
  waiting_.splice(waiting_.end(), arrived);
  ArmDeadline();
  Pump();
}

// A connection that takes another request now; null: there is none.
std::shared_ptr<Http2Connection> ClientPool::Http2WithRoom() {
  const auto found = std::find_if(http2_.begin(), http2_.end(), [](const auto& one) { return one->HasRoom(); });
  return found == http2_.end() ? nullptr : *found;
}

void ClientPool::PumpHttp2() {
  while (!waiting_streams_.empty()) {
    const auto connection = Http2WithRoom();
    if (!connection) return;
    const auto stream = std::move(waiting_streams_.front());
    waiting_streams_.pop_front();
    stream->StartOn(connection);
  }
  const auto requests_max = static_cast<std::size_t>(std::max(1, settings_->options.connections_max));
  while (RefuseFenced(), !waiting_.empty() && in_flight_.size() < requests_max) {
    const auto connection = Http2WithRoom();
    if (!connection) return;
    const auto exchange = waiting_.begin();
    const auto call = std::make_shared<Http2Call>(shared_from_this(), exchange, connection);
    if (!call->Begin()) continue;  // the connection has no room any more
    exchange->attempts++;
    exchange->call = call;
    queued_.fetch_sub(1);
    in_flight_.splice(in_flight_.end(), waiting_, exchange);
  }
}

void ClientPool::OnHttp2Change(const std::shared_ptr<Http2Connection>& connection) {
  if (connection->is_closed()) std::erase(http2_, connection);
  Pump();
  ArmIdle();
}

// Whether another connection is useful and allowed.
bool ClientPool::MayConnect() const {
  const auto count = connections_.size() + http2_.size();
  if (count >= static_cast<std::size_t>(std::max(1, settings_->options.connections_max))) return false;
  if (mode_ == Mode::kHttp1) return waiting_.size() > static_cast<std::size_t>(connecting_);
  const auto requests_max = static_cast<std::size_t>(std::max(1, settings_->options.connections_max));
  if (connecting_ > 0 || (waiting_streams_.empty() && in_flight_.size() >= requests_max)) return false;
  if (!waiting_streams_.empty()) return true;
  return !waiting_.empty() &&
         std::none_of(http2_.begin(), http2_.end(), [](const auto& one) { return one->HasRoom(); });
}

void ClientPool::Pump() {
  if (is_closed_) return;
  if (!http2_.empty()) PumpHttp2();
  while (RefuseFenced(), !waiting_.empty() && !idle_.empty()) {
    const auto connection = idle_.back();
    idle_.pop_back();
    const bool is_fresh =
        std::chrono::steady_clock::now() - connection->idle_since <= settings_->options.keep_alive_idle;
    if (!is_fresh || !connection->IsUsable()) {
      connection->Close();
      Forget(connection);
      continue;
    }
    queued_.fetch_sub(1);
    in_flight_.splice(in_flight_.end(), waiting_, waiting_.begin());
    connection->Begin(std::prev(in_flight_.end()));
  }
  while (MayConnect()) {
    const auto connection = std::make_shared<ClientConnection>(shared_from_this());
    connections_.insert(connection);
    ++connecting_;
    connection->Connect();
  }
}

void ClientPool::OnConnected(const std::shared_ptr<ClientConnection>& connection) {
  --connecting_;
  if (!connection->is_http2()) {
    if (http2_.empty()) mode_ = Mode::kHttp1;
    // With HTTP/1.1 each stream has a connection of its own.
    for (const auto& stream : std::exchange(waiting_streams_, {})) stream->Dial();
    return GiveBack(connection);
  }
  mode_ = Mode::kHttp2;
  const auto on_change = [weak = weak_from_this()](const std::shared_ptr<Http2Connection>& changed) {
    if (const auto self = weak.lock(); self && !self->is_closed_) self->OnHttp2Change(changed);
  };
  const auto http2 = std::make_shared<Http2Connection>(loop_, connection->TakeLink(), settings_, on_change);
  Forget(connection);
  http2_.push_back(http2);
  http2->Start();
  Pump();
}

// Refuses requests at the head of the queue whose fence has closed.
void ClientPool::RefuseFenced() {
  while (!waiting_.empty()) {
    const WriteFence* const fence = waiting_.front().request.fence.get();
    if (fence == nullptr || fence->IsOpen()) return;
    queued_.fetch_sub(1);
    Complete(waiting_, waiting_.begin(), FencedError(settings_->where, false));
  }
}

void ClientPool::FailWaiting(const Error& error) {
  for (const auto& stream : std::exchange(waiting_streams_, {})) stream->Fail(error);
  while (!waiting_.empty()) {
    queued_.fetch_sub(1);
    Complete(waiting_, waiting_.begin(), error);
  }
}

void ClientPool::OnConnectFailed(const std::shared_ptr<ClientConnection>& connection, const Error& error) {
  --connecting_;
  connection->Close();
  Forget(connection);
  // If other connections exist or are being made, they serve the waiting requests. Otherwise these fail: a retry, with
  // its back-off, is the caller's decision.
  if (connections_.empty() && http2_.empty()) FailWaiting(error);
}

void ClientPool::GiveBack(const std::shared_ptr<ClientConnection>& connection) {
  connection->idle_since = std::chrono::steady_clock::now();
  idle_.push_back(connection);
  Pump();
  ArmIdle();
}

void ClientPool::Forget(const std::shared_ptr<ClientConnection>& connection) {
  const auto found = std::find(idle_.begin(), idle_.end(), connection);
  if (found != idle_.end()) idle_.erase(found);
  connections_.erase(connection);
}

void ClientPool::DropIdle() {
  while (!idle_.empty()) {
    const auto connection = idle_.front();
    connection->Close();
    Forget(connection);
  }
}

void ClientPool::Again(ExchangeList::iterator exchange) {
  // If one kept-alive connection was dead, the peer has probably restarted, and the others are dead as well.
  DropIdle();
  queued_.fetch_add(1);
  waiting_.splice(waiting_.begin(), in_flight_, exchange);
  Pump();
}

void ClientPool::Complete(ExchangeList& list, ExchangeList::iterator exchange, Expected<Response> result) {
  deadlines_.erase({exchange->deadline, &*exchange});
  completions_.push_back({std::move(exchange->done), std::move(result)});
  list.erase(exchange);
  PostCompletions();
}

// Callbacks run from the loop itself, never from inside the pool's own steps, so they may do anything: send again, or
// destroy the client.
void ClientPool::PostCompletions() {
  if (is_completions_posted_) return;
  is_completions_posted_ = true;
  loop_.Defer([self = shared_from_this()] {
    self->is_completions_posted_ = false;
    self->RunCompletions();
  });
}

void ClientPool::RunCompletions() {
  while (!completions_.empty()) {
    Completion completion = std::move(completions_.front());
    completions_.pop_front();
    if (completion.done) completion.done(std::move(completion.result));
  }
}

void ClientPool::ArmDeadline() {
  if (is_closed_ || deadlines_.empty()) return;
  const SteadyTime first = deadlines_.begin()->first;
  // A timer that fires too early is set again when it fires. This saves setting it for every request.
  if (deadline_armed_ && *deadline_armed_ <= first) return;
  deadline_armed_ = first;
  deadline_timer_->expires_at(first);
  deadline_timer_->async_wait([self = shared_from_this()](const error_code& ec) {
    if (!ec && !self->is_closed_) self->OnDeadline();
  });
}

void ClientPool::OnDeadline() {
  deadline_armed_.reset();
  const SteadyTime now = std::chrono::steady_clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) EndLate(deadlines_.begin()->second);
  ArmDeadline();
  Pump();
}

void ClientPool::EndLate(Exchange* late) {
  const std::string within = "within " + FormatGoDuration(late->timeout);
  const auto no_answer = [&](bool has_sent) {
    return Error{ErrorCode::kTimeout, settings_->where + ": no answer " + within, has_sent};
  };
  if (const auto call = late->call) {
    const auto connection = call->connection();
    const Duration timeout = late->timeout;
    call->Leave();
    Complete(in_flight_, call->exchange(), no_answer(true));
    connection->Doubt(timeout);
    return;
  }
  const auto busy = std::find_if(connections_.begin(), connections_.end(),
                                 [late](const auto& connection) { return connection->exchange() == late; });
  if (busy != connections_.end()) {
    const auto connection = *busy;
    const bool has_sent = connection->has_sent();
    const auto exchange = connection->TakeExchange();
    connection->Close();
    Forget(connection);
    return Complete(in_flight_, exchange, no_answer(has_sent));
  }
  const auto exchange =
      std::find_if(waiting_.begin(), waiting_.end(), [late](const Exchange& one) { return &one == late; });
  BERTH_CHECK(exchange != waiting_.end());
  queued_.fetch_sub(1);
  Complete(waiting_, exchange,
           Error{ErrorCode::kTimeout, settings_->where + ": no free connection " + within + ", nothing was sent"});
}

void ClientPool::ArmIdle() {
  if (is_closed_ || is_idle_armed_) return;
  std::optional<SteadyTime> since;
  if (!idle_.empty()) since = idle_.front()->idle_since;
  for (const auto& connection : http2_) {
    if (connection->open() == 0) since = std::min(since.value_or(connection->last_use()), connection->last_use());
  }
  if (!since) return;
  is_idle_armed_ = true;
  idle_timer_->expires_at(*since + settings_->options.keep_alive_idle);
  idle_timer_->async_wait([self = shared_from_this()](const error_code& ec) {
    self->is_idle_armed_ = false;
    if (!ec && !self->is_closed_) self->OnIdle();
  });
}

void ClientPool::OnIdle() {
  const SteadyTime now = std::chrono::steady_clock::now();
  while (!idle_.empty() && now - idle_.front()->idle_since >= settings_->options.keep_alive_idle) {
    const auto connection = idle_.front();
    connection->Close();
    Forget(connection);
  }
  std::erase_if(http2_, [&](const auto& connection) {
    if (connection->open() > 0 || now - connection->last_use() < settings_->options.keep_alive_idle) return false;
    connection->Close();
    return true;
  });
  ArmIdle();
}

std::shared_ptr<ClientStream> ClientPool::StartStream(Request request, StreamOptions options,
                                                      StreamCallbacks callbacks) {
  const auto forget = [self = weak_from_this()](const std::shared_ptr<ClientStream>& closed) {
    if (const auto pool = self.lock()) pool->RemoveStream(closed);
  };
  auto stream =
      std::make_shared<ClientStream>(loop_, settings_, std::move(request), options, std::move(callbacks), forget);
  bool is_closing = false;
  {
    const std::lock_guard lock(inbox_mutex_);
    is_closing = is_inbox_closed_;
    if (!is_closing) streams_.insert(stream);
  }
  if (is_closing) {  // called from a callback of the closing client: the stream never begins
    stream->Abandon(true);
    return stream;
  }
  boost::asio::post(loop_.io, [self = shared_from_this(), stream] {
    if (!self->is_closed_) self->LaunchStream(stream);
  });
  return stream;
}

void ClientPool::LaunchStream(const std::shared_ptr<ClientStream>& stream) {
  if (!stream->Begin()) return;
  if (mode_ == Mode::kHttp1) return stream->Dial();
  waiting_streams_.push_back(stream);
  Pump();
}

void ClientPool::RemoveStream(const std::shared_ptr<ClientStream>& stream) {
  const std::lock_guard lock(inbox_mutex_);
  streams_.erase(stream);
}

void ClientPool::Shutdown(bool is_loop_stopped) {
  is_closed_ = true;
  {
    const std::lock_guard lock(inbox_mutex_);
    is_inbox_closed_ = true;
  }
  DrainInbox();
  deadline_timer_.reset();
  idle_timer_.reset();
  const Error queued{ErrorCode::kCancelled, settings_->where + ": cancelled before it was sent: the client was closed"};
  while (!waiting_.empty()) Complete(waiting_, waiting_.begin(), queued);
  for (const auto& connection : connections_) {
    if (connection->is_busy()) {
      const bool has_sent = connection->has_sent();
      Complete(in_flight_, connection->TakeExchange(),
               Error{ErrorCode::kCancelled, settings_->where + ": cancelled: the client was closed", has_sent});
    }
    connection->Close();
  }
  connections_.clear();
  idle_.clear();
  while (!in_flight_.empty()) {
    const auto call = in_flight_.front().call;
    call->Leave();
    Complete(in_flight_, in_flight_.begin(),
             Error{ErrorCode::kCancelled, settings_->where + ": cancelled: the client was closed", true});
  }
  for (const auto& connection : std::exchange(http2_, {})) connection->Close();
  waiting_streams_.clear();
  if (is_loop_stopped) {
    completions_.clear();
  } else {
    RunCompletions();
  }
  std::unordered_set<std::shared_ptr<ClientStream>> streams;
  {
    const std::lock_guard lock(inbox_mutex_);
    streams.swap(streams_);
  }
  for (const auto& stream : streams) stream->Abandon(is_loop_stopped);
}

}  // namespace berth::net
