#include "berth/net/http_client.h"

#include <algorithm>
#include <deque>
#include <list>
#include <mutex>
#include <set>
#include <unordered_set>

#include <boost/asio/post.hpp>

#include "berth/net/channel.h"
#include "berth/net/client_stream.h"
#include "berth/net/http2_connection.h"
#include "berth/net/http_parser.h"
#include "berth/net/io_context_impl.h"
#include "berth/net/link.h"
#include "berth/net/read_buffer.h"
#include "berth/net/url.h"

// One thread, the loop's, owns everything here but two doors: the inbox of Send() and the cancel flag of a stream.
//
//   Send() -> inbox -> waiting -> in flight (on a Connection or an Http2Call) -> completions -> done
//                         ^            |
//                         +-- again, when a kept-alive connection was already closed
//
// Which protocol a TLS server speaks shows with the first connection; until then no second one is opened, and streams
// wait for it. Where it is HTTP/2 everything goes over one connection, and further ones are opened only when the peer
// allows too few requests at once on it. A connection of another protocol than the last one changes the mode.

namespace berth::net {
namespace {

using boost::system::error_code;
using Wait = Channel::Socket::wait_type;

// How often a request may meet a kept-alive connection that has died before it is given up.
constexpr int kAttemptsMax = 3;

// One Send() on its way. A node of exactly one of the lists in the picture above, so that it never moves in memory.
class Http2Call;
struct Exchange {
  Request request;
  std::string wire;  // of HTTP/1.1
  Transport::Done done;
  SteadyTime deadline;
  Duration timeout{};
  std::size_t body_bytes_max = 0;
  bool is_repeatable = false;  // GET and HEAD
  bool is_head = false;
  int attempts = 0;
  std::shared_ptr<Http2Call> call;  // while it is in flight over HTTP/2
};
using ExchangeList = std::list<Exchange>;

struct Completion {
  Transport::Done done;
  Expected<Response> result;
};

class Connection;

class Client : public std::enable_shared_from_this<Client> {
 public:
  Client(IoContext::Impl& io, Loop& loop, ClientSettings settings);

  // Any thread.
  void Send(Request request, SendOptions options, Transport::Done done);
  std::shared_ptr<ClientStream> StartStream(Request request, StreamOptions options, StreamCallbacks callbacks);

  // The rest on the loop's thread only.
  void Shutdown(bool is_loop_stopped);
  void Complete(ExchangeList& list, ExchangeList::iterator exchange, Expected<Response> result);
  void GiveBack(const std::shared_ptr<Connection>& connection);
  void Again(ExchangeList::iterator exchange);
  void OnConnected(const std::shared_ptr<Connection>& connection);
  void OnConnectFailed(const std::shared_ptr<Connection>& connection, const Error& error);
  void Forget(const std::shared_ptr<Connection>& connection);
  void OnHttp2Change(const std::shared_ptr<Http2Connection>& connection);
  void Pump();

  void RemoveStream(const std::shared_ptr<ClientStream>& stream) {
    const std::lock_guard lock(inbox_mutex_);
    streams_.erase(stream);
  }

  const std::shared_ptr<const ClientSettings>& settings_ptr() const { return settings_; }
  const ClientSettings& settings() const { return *settings_; }
  Loop& loop() { return loop_; }
  IoContext::Impl& io() { return io_; }
  ExchangeList& in_flight() { return in_flight_; }
  bool is_closed() const { return is_closed_; }

 private:
  enum class Mode : std::uint8_t { kUnknown, kHttp1, kHttp2 };

  void DrainInbox();
  void LaunchStream(const std::shared_ptr<ClientStream>& stream);
  std::shared_ptr<Http2Connection> Http2WithRoom();
  void PumpHttp2();
  bool MayConnect() const;
  void FailWaiting(const Error& error);
  void ArmDeadline();
  void OnDeadline();
  void EndLate(Exchange* late);
  void ArmIdle();
  void OnIdle();
  void PostCompletions();
  void RunCompletions();
  void DropIdle();

  IoContext::Impl& io_;
  Loop& loop_;
  const std::shared_ptr<const ClientSettings> settings_;

  std::mutex inbox_mutex_;
  ExchangeList inbox_;                                         // guarded by inbox_mutex_
  bool is_inbox_posted_ = false;                               // guarded by inbox_mutex_
  bool is_inbox_closed_ = false;                               // guarded by inbox_mutex_: the client goes away
  std::unordered_set<std::shared_ptr<ClientStream>> streams_;  // guarded by inbox_mutex_
  std::atomic<std::size_t> queued_{0};                         // in the inbox and waiting

  bool is_closed_ = false;
  ExchangeList waiting_;
  ExchangeList in_flight_;
  std::set<std::pair<SteadyTime, Exchange*>> deadlines_;     // of waiting and in flight
  std::optional<boost::asio::steady_timer> deadline_timer_;  // the timers belong to the loop: gone after Shutdown
  std::optional<SteadyTime> deadline_armed_;
  std::optional<boost::asio::steady_timer> idle_timer_;
  bool is_idle_armed_ = false;

  Mode mode_;
  std::vector<std::shared_ptr<Http2Connection>> http2_;
  std::deque<std::shared_ptr<ClientStream>> waiting_streams_;    // for HTTP/2, or to know whether it is
  std::unordered_set<std::shared_ptr<Connection>> connections_;  // of HTTP/1.1, in any state; and those that are made
  std::deque<std::shared_ptr<Connection>> idle_;                 // the longest idle in front; used from the back
  int connecting_ = 0;
  std::deque<Completion> completions_;
  bool is_completions_posted_ = false;
};

// A pooled connection: connecting, idle, or busy with one exchange.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(std::shared_ptr<Client> client)
      : client_(std::move(client)),
        link_(std::make_shared<Link>(client_->loop(), client_->settings().link, true)),
        parser_(HttpParser::Kind::kResponse) {}

  void Connect() {
    link_->Dial([self = shared_from_this()](Expected<void> result) {
      if (self->is_closed_) return;
      if (!result.ok()) {
        const auto client = self->client_;
        client->OnConnectFailed(self, result.error());
        return;
      }
      if (!self->link_->channel().is_http2()) self->ArmRead();
      self->client_->OnConnected(self);
    });
  }

  bool is_http2() { return link_->channel().is_http2(); }
  // Leaves nothing but a shell, that is to be forgotten.
  std::shared_ptr<Link> TakeLink() {
    is_closed_ = true;
    return link_;
  }

  // False when the peer has closed it meanwhile, or sent what nobody asked for.
  bool IsUsable() { return !is_closed_ && link_->channel().IsQuiet(); }

  void Begin(ExchangeList::iterator exchange) {
    exchange_ = exchange;
    exchange->attempts++;
    if (exchange->wire.empty()) exchange->wire = SerializeRequest(client_->settings(), exchange->request);
    written_ = 0;
    has_write_failed_ = false;
    has_answer_begun_ = false;
    interim_answers_ = 0;
    StartParser();
    WriteSome();
  }

  bool is_busy() const { return exchange_.has_value(); }
  bool has_sent() const { return written_ > 0; }
  const Exchange* exchange() const { return exchange_ ? &**exchange_ : nullptr; }
  ExchangeList::iterator TakeExchange() {
    const auto exchange = *exchange_;
    exchange_.reset();
    return exchange;
  }

  void Close() {
    if (is_closed_) return;
    is_closed_ = true;
    link_->Close();
  }

  SteadyTime idle_since;

 private:
  void StartParser() { parser_.Start({kAnswerHeaderBytesMax, (*exchange_)->body_bytes_max}, (*exchange_)->is_head); }

  void ArmRead() {
    if (is_read_armed_ || is_closed_) return;
    is_read_armed_ = true;
    link_->channel().socket().async_wait(Wait::wait_read, [self = shared_from_this()](const error_code&) {
      self->is_read_armed_ = false;
      if (!self->is_closed_) self->ReadSome();
    });
  }

  void ArmWrite() {
    if (is_write_armed_ || is_closed_) return;
    is_write_armed_ = true;
    link_->channel().socket().async_wait(Wait::wait_write, [self = shared_from_this()](const error_code&) {
      self->is_write_armed_ = false;
      if (!self->is_closed_) self->OnWritable();
    });
  }

  void OnWritable() {
    if (is_busy() && written_ < (*exchange_)->wire.size()) {
      WriteSome();
    } else {
      ReadSome();  // TLS wanted to write before it could read.
    }
  }

  void WriteSome() {
    const std::string& wire = (*exchange_)->wire;
    while (written_ < wire.size() && !has_write_failed_) {
      const auto step = link_->channel().Write(std::string_view(wire).substr(written_));
      switch (step.outcome) {
        case Channel::Outcome::kDone: written_ += step.bytes; break;
        case Channel::Outcome::kWantWrite: ArmWrite(); return;
        case Channel::Outcome::kWantRead: return;  // A read is always armed, and goes on with the write.
        case Channel::Outcome::kEof:
        case Channel::Outcome::kFailed:
          // The peer may have answered before it closed (413, 401): look, but not from inside Begin().
          has_write_failed_ = true;
          boost::asio::post(client_->loop().io, [self = shared_from_this()] {
            if (!self->is_closed_ && self->is_busy()) self->ReadSome();
          });
          return;
      }
    }
  }

  void ReadSome() {
    const auto self = shared_from_this();
    for (int turn = 0; turn < kReadsPerTurn; ++turn) {
      const auto [room, size] = buffer_.Room();
      const auto step = link_->channel().Read(room, size);
      switch (step.outcome) {
        case Channel::Outcome::kDone: {
          buffer_.Filled(step.bytes, size);
          if (!is_busy()) {
            Discard();  // Nobody asked: whatever it is, no later answer could be told from it.
            return;
          }
          has_answer_begun_ = true;
          if (!Parse()) return;
          if (step.bytes == size || link_->channel().HasBufferedInput()) continue;
          ArmRead();
          return;
        }
        case Channel::Outcome::kWantRead:
          if (has_write_failed_) {
            Fail(link_->channel().failure());
            return;
          }
          ArmRead();
          if (is_busy()) WriteSome();
          return;
        case Channel::Outcome::kWantWrite: ArmWrite(); return;
        case Channel::Outcome::kEof: OnEof(); return;
        case Channel::Outcome::kFailed:
          if (is_busy()) {
            Fail(link_->channel().failure());
          } else {
            Discard();
          }
          return;
      }
    }
    boost::asio::post(client_->loop().io, [self] {
      if (!self->is_closed_) self->ReadSome();
    });
  }

  // False when the connection is done with this exchange, one way or another.
  bool Parse() {
    for (;;) {
      std::size_t consumed = 0;
      const auto outcome = parser_.Feed(buffer_.unread(), consumed);
      buffer_.Consume(consumed);
      switch (outcome) {
        case HttpParser::Outcome::kNeedMore: return true;
        case HttpParser::Outcome::kComplete:
          if (parser_.response().status < 200 && parser_.response().status != 101) {
            if (++interim_answers_ > kInterimAnswersMax) {
              FailWith({ErrorCode::kInternal, where() + ": too many 1xx answers before the real one", true});
              return false;
            }
            StartParser();
            if (buffer_.unread().empty()) return true;
            continue;
          }
          Finish();
          return false;
        case HttpParser::Outcome::kBodyTooLarge:
          FailWith({ErrorCode::kTooLarge,
                    where() + ": the answer's body is longer than " + std::to_string((*exchange_)->body_bytes_max) +
                        " bytes",
                    true});
          return false;
        case HttpParser::Outcome::kHeaderTooLarge:
          FailWith({ErrorCode::kTooLarge,
                    where() + ": the answer's head is longer than " + std::to_string(kAnswerHeaderBytesMax) + " bytes",
                    true});
          return false;
        case HttpParser::Outcome::kNotHttp:
        case HttpParser::Outcome::kCutShort:
          FailWith(
              {ErrorCode::kInternal, where() + " answered something that is not HTTP: " + parser_.problem(), true});
          return false;
      }
    }
  }

  void OnEof() {
    if (!is_busy()) {
      Discard();
      return;
    }
    if (has_answer_begun_ && parser_.FeedEof() == HttpParser::Outcome::kComplete) {
      Finish();
      return;
    }
    Fail("");
  }

  void Finish() {
    Response response = std::move(parser_.response());
    response.body = std::move(parser_.body());
    const bool is_reusable =
        parser_.keep_alive() && buffer_.unread().empty() && !has_write_failed_ && written_ == (*exchange_)->wire.size();
    const auto self = shared_from_this();
    const auto exchange = TakeExchange();
    has_served_ = true;
    client_->Complete(client_->in_flight(), exchange, std::move(response));
    if (is_reusable) {
      ArmRead();
      client_->GiveBack(self);
    } else {
      Discard();
    }
  }

  // The connection broke while an exchange was on it; `reason` is empty when the peer simply closed it.
  void Fail(const std::string& reason) {
    if (has_answer_begun_) {
      FailWith(Unavailable(where() + ": the answer was cut short" + (reason.empty() ? "" : ": " + reason), true));
      return;
    }
    // Nothing sent: no handler can have seen it. Otherwise only what may be done twice is done again, and only where
    // the connection had served before: a fresh one that breaks is no stale one.
    const bool is_safe = written_ == 0 || (*exchange_)->is_repeatable;
    if (has_served_ && is_safe && (*exchange_)->attempts < kAttemptsMax) {
      const auto client = client_;
      const auto exchange = TakeExchange();
      Close();
      client->Forget(shared_from_this());
      client->Again(exchange);
      return;
    }
    FailWith(
        Unavailable(where() + (reason.empty() ? ": the connection was closed before an answer came" : ": " + reason),
                    written_ > 0));
  }

  void FailWith(Error error) {
    const auto exchange = TakeExchange();
    client_->Complete(client_->in_flight(), exchange, std::move(error));
    Discard();
  }

  void Discard() {
    const auto self = shared_from_this();
    Close();
    client_->Forget(self);
    client_->Pump();
  }

  const std::string& where() const { return client_->settings().where; }

  const std::shared_ptr<Client> client_;
  const std::shared_ptr<Link> link_;
  HttpParser parser_;
  ReadBuffer buffer_;
  std::optional<ExchangeList::iterator> exchange_;
  std::size_t written_ = 0;
  int interim_answers_ = 0;
  bool is_closed_ = false;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
  bool has_write_failed_ = false;
  bool has_answer_begun_ = false;
  bool has_served_ = false;
};

// An exchange on a connection that speaks HTTP/2.
class Http2Call final : public Http2Reader, public std::enable_shared_from_this<Http2Call> {
 public:
  Http2Call(std::shared_ptr<Client> client, ExchangeList::iterator exchange,
            std::shared_ptr<Http2Connection> connection)
      : client_(std::move(client)), exchange_(exchange), connection_(std::move(connection)) {}
  ~Http2Call() override { Leave(); }

  // False when the connection takes no request any more.
  bool Begin() {
    // The exchange keeps its body: the peer may refuse it, and it is sent again.
    id_ = connection_->Submit(exchange_->request, exchange_->request.body, *this);
    return id_ != 0;
  }

  void Leave() {
    if (id_ != 0) connection_->Reset(std::exchange(id_, 0));
  }

  const std::shared_ptr<Http2Connection>& connection() const { return connection_; }
  ExchangeList::iterator exchange() const { return exchange_; }

  void OnHttp2Head(Response&& head) override {
    response_ = std::move(head);
    // With another certificate, which only another connection takes, the answer may be a better one.
    const auto& tls = client_->settings().link.tls;
    if (response_.status == 401 && tls && tls->client_certificate_pem) connection_->Retire();
  }

  void OnHttp2Body(std::string_view bytes) override {
    if (response_.body.size() + bytes.size() > exchange_->body_bytes_max) {
      return Finish(
          Error{ErrorCode::kTooLarge,
                where() + ": the answer's body is longer than " + std::to_string(exchange_->body_bytes_max) + " bytes",
                true});
    }
    response_.body.append(bytes);
  }

  void OnHttp2End(const Http2End& end) override {
    id_ = 0;
    using How = Http2End::How;
    const bool is_safe = end.how == How::kRefused || (exchange_->is_repeatable && response_.status == 0);
    switch (end.how) {
      case How::kComplete: return Finish(std::move(response_));
      case How::kTooLarge: return Finish(Error{ErrorCode::kTooLarge, where() + ": " + end.reason, true});
      case How::kRefused:
      case How::kBroken: break;
    }
    if (is_safe && exchange_->attempts < kAttemptsMax) {
      const auto self = shared_from_this();
      exchange_->call.reset();
      return client_->Again(exchange_);
    }
    const std::string detail = end.reason.empty() ? "" : ": " + end.reason;
    const bool is_unknown = end.how != How::kRefused;
    if (response_.status != 0) return Finish(Unavailable(where() + ": the answer was cut short" + detail, true));
    Finish(Unavailable(where() + (detail.empty() ? ": the connection was closed before an answer came" : detail),
                       is_unknown));
  }

 private:
  // The last thing it does.
  void Finish(Expected<Response> result) {
    const auto self = shared_from_this();
    client_->Complete(client_->in_flight(), exchange_, std::move(result));
  }

  const std::string& where() const { return client_->settings().where; }

  const std::shared_ptr<Client> client_;
  const ExchangeList::iterator exchange_;
  const std::shared_ptr<Http2Connection> connection_;
  std::int32_t id_ = 0;
  Response response_;
};

Client::Client(IoContext::Impl& io, Loop& loop, ClientSettings settings)
    : io_(io),
      loop_(loop),
      settings_(std::make_shared<const ClientSettings>(std::move(settings))),
      deadline_timer_(loop.io),
      idle_timer_(loop.io),
      mode_(settings_->link.tls && settings_->link.tls->offers_http2 ? Mode::kUnknown : Mode::kHttp1) {}

void Client::Send(Request request, SendOptions options, Transport::Done done) {
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
  exchange.is_head = request.method == "HEAD";
  exchange.is_repeatable = exchange.is_head || request.method == "GET";
  exchange.request = std::move(request);
  bool must_post = false;
  {
    const std::lock_guard lock(inbox_mutex_);
    if (is_inbox_closed_) return;  // From a callback of the closing client: the exchange is dropped.
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

void Client::DrainInbox() {
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

// One that takes another request now.
std::shared_ptr<Http2Connection> Client::Http2WithRoom() {
  const auto found = std::find_if(http2_.begin(), http2_.end(), [](const auto& one) { return one->HasRoom(); });
  return found == http2_.end() ? nullptr : *found;
}

void Client::PumpHttp2() {
  while (!waiting_streams_.empty()) {
    const auto connection = Http2WithRoom();
    if (!connection) return;
    const auto stream = std::move(waiting_streams_.front());
    waiting_streams_.pop_front();
    stream->StartOn(connection);
  }
  const auto requests_max = static_cast<std::size_t>(std::max(1, settings_->options.connections_max));
  while (!waiting_.empty() && in_flight_.size() < requests_max) {
    const auto connection = Http2WithRoom();
    if (!connection) return;
    const auto exchange = waiting_.begin();
    const auto call = std::make_shared<Http2Call>(shared_from_this(), exchange, connection);
    if (!call->Begin()) continue;  // It has no room any more.
    exchange->attempts++;
    exchange->call = call;
    queued_.fetch_sub(1);
    in_flight_.splice(in_flight_.end(), waiting_, exchange);
  }
}

void Client::OnHttp2Change(const std::shared_ptr<Http2Connection>& connection) {
  if (connection->is_closed()) std::erase(http2_, connection);
  Pump();
  ArmIdle();
}

// Whether there is a use for another connection.
bool Client::MayConnect() const {
  const auto count = connections_.size() + http2_.size();
  if (count >= static_cast<std::size_t>(std::max(1, settings_->options.connections_max))) return false;
  if (mode_ == Mode::kHttp1) return waiting_.size() > static_cast<std::size_t>(connecting_);
  const auto requests_max = static_cast<std::size_t>(std::max(1, settings_->options.connections_max));
  if (connecting_ > 0 || (waiting_streams_.empty() && in_flight_.size() >= requests_max)) return false;
  if (!waiting_streams_.empty()) return true;
  return !waiting_.empty() &&
         std::none_of(http2_.begin(), http2_.end(), [](const auto& one) { return one->HasRoom(); });
}

void Client::Pump() {
  if (is_closed_) return;
  if (!http2_.empty()) PumpHttp2();
  while (!waiting_.empty() && !idle_.empty()) {
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
    const auto connection = std::make_shared<Connection>(shared_from_this());
    connections_.insert(connection);
    ++connecting_;
    connection->Connect();
  }
}

void Client::OnConnected(const std::shared_ptr<Connection>& connection) {
  --connecting_;
  if (!connection->is_http2()) {
    if (http2_.empty()) mode_ = Mode::kHttp1;
    // Streams have connections of their own then.
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

void Client::FailWaiting(const Error& error) {
  for (const auto& stream : std::exchange(waiting_streams_, {})) stream->Fail(error);
  while (!waiting_.empty()) {
    queued_.fetch_sub(1);
    Complete(waiting_, waiting_.begin(), error);
  }
}

void Client::OnConnectFailed(const std::shared_ptr<Connection>& connection, const Error& error) {
  --connecting_;
  connection->Close();
  Forget(connection);
  // Connections that are up, or may come up, serve those that wait. Without one there is no point in waiting: a retry,
  // with its back-off, is the caller's decision.
  if (connections_.empty() && http2_.empty()) FailWaiting(error);
}

void Client::GiveBack(const std::shared_ptr<Connection>& connection) {
  connection->idle_since = std::chrono::steady_clock::now();
  idle_.push_back(connection);
  Pump();
  ArmIdle();
}

void Client::Forget(const std::shared_ptr<Connection>& connection) {
  const auto found = std::find(idle_.begin(), idle_.end(), connection);
  if (found != idle_.end()) idle_.erase(found);
  connections_.erase(connection);
}

void Client::DropIdle() {
  while (!idle_.empty()) {
    const auto connection = idle_.front();
    connection->Close();
    Forget(connection);
  }
}

void Client::Again(ExchangeList::iterator exchange) {
  // Where one kept-alive connection was dead the peer has restarted, most likely, and the others are dead too.
  DropIdle();
  queued_.fetch_add(1);
  waiting_.splice(waiting_.begin(), in_flight_, exchange);
  Pump();
}

void Client::Complete(ExchangeList& list, ExchangeList::iterator exchange, Expected<Response> result) {
  deadlines_.erase({exchange->deadline, &*exchange});
  completions_.push_back({std::move(exchange->done), std::move(result)});
  list.erase(exchange);
  PostCompletions();
}

// Callbacks run from the loop itself, never from inside the pool's own steps, so they may do anything: send again, or
// destroy the client.
void Client::PostCompletions() {
  if (is_completions_posted_) return;
  is_completions_posted_ = true;
  loop_.Defer([self = shared_from_this()] {
    self->is_completions_posted_ = false;
    self->RunCompletions();
  });
}

void Client::RunCompletions() {
  while (!completions_.empty()) {
    Completion completion = std::move(completions_.front());
    completions_.pop_front();
    if (completion.done) completion.done(std::move(completion.result));
  }
}

void Client::ArmDeadline() {
  if (is_closed_ || deadlines_.empty()) return;
  const SteadyTime first = deadlines_.begin()->first;
  // A timer that fires too early is set again then; this saves setting it for every request.
  if (deadline_armed_ && *deadline_armed_ <= first) return;
  deadline_armed_ = first;
  deadline_timer_->expires_at(first);
  deadline_timer_->async_wait([self = shared_from_this()](const error_code& ec) {
    if (!ec && !self->is_closed_) self->OnDeadline();
  });
}

void Client::OnDeadline() {
  deadline_armed_.reset();
  const SteadyTime now = std::chrono::steady_clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) EndLate(deadlines_.begin()->second);
  ArmDeadline();
  Pump();
}

void Client::EndLate(Exchange* late) {
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

void Client::ArmIdle() {
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

void Client::OnIdle() {
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

std::shared_ptr<ClientStream> Client::StartStream(Request request, StreamOptions options, StreamCallbacks callbacks) {
  const auto forget = [self = weak_from_this()](const std::shared_ptr<ClientStream>& closed) {
    if (const auto client = self.lock()) client->RemoveStream(closed);
  };
  auto stream =
      std::make_shared<ClientStream>(loop_, settings_, std::move(request), options, std::move(callbacks), forget);
  bool is_closing = false;
  {
    const std::lock_guard lock(inbox_mutex_);
    is_closing = is_inbox_closed_;
    if (!is_closing) streams_.insert(stream);
  }
  if (is_closing) {  // From a callback of the closing client: it never begins, like a Send() then.
    stream->Abandon(true);
    return stream;
  }
  boost::asio::post(loop_.io, [self = shared_from_this(), stream] {
    if (!self->is_closed_) self->LaunchStream(stream);
  });
  return stream;
}

void Client::LaunchStream(const std::shared_ptr<ClientStream>& stream) {
  if (!stream->Begin()) return;
  if (mode_ == Mode::kHttp1) return stream->Dial();
  waiting_streams_.push_back(stream);
  Pump();
}

void Client::Shutdown(bool is_loop_stopped) {
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

class Handle final : public StreamHandle {
 public:
  explicit Handle(std::shared_ptr<ClientStream> stream) : stream_(std::move(stream)) {}
  ~Handle() override { stream_->Cancel(); }
  void Cancel() override { stream_->Cancel(); }

 private:
  const std::shared_ptr<ClientStream> stream_;
};

class HttpClient final : public Transport {
 public:
  HttpClient(IoContext::Impl& io, ClientSettings settings) {
    Loop& loop = io.NextLoop();
    client_ = std::make_shared<Client>(io, loop, std::move(settings));
  }

  ~HttpClient() override {
    client_->io().RunAndWait(client_->loop(), [this](bool is_stopped) { client_->Shutdown(is_stopped); });
  }

  void Send(Request request, SendOptions options, Done done) override {
    client_->Send(std::move(request), options, std::move(done));
  }

  std::unique_ptr<StreamHandle> Stream(Request request, StreamOptions options, StreamCallbacks callbacks) override {
    return std::make_unique<Handle>(client_->StartStream(std::move(request), options, std::move(callbacks)));
  }

 private:
  std::shared_ptr<Client> client_;
};

}  // namespace

Expected<std::unique_ptr<Transport>> MakeHttpClient(IoContext& io, HttpClientOptions options) {
  BERTH_ASSIGN_OR_RETURN(const Url url, ParseUrl(options.base_url));
  ClientSettings settings;
  settings.link.host = url.host;
  settings.link.port = url.port;
  settings.link.where = JoinHostPort(url.host, url.port);
  settings.link.connect_timeout = options.connect_timeout;
  settings.where = settings.link.where;
  const bool is_default_port = url.port == (url.scheme == "https" ? 443 : 80);
  settings.host = is_default_port ? settings.where.substr(0, settings.where.rfind(':')) : settings.where;
  settings.prefix = url.path;
  while (!settings.prefix.empty() && settings.prefix.back() == '/') settings.prefix.pop_back();
  if (!settings.prefix.empty() && !IsTargetText(settings.prefix)) {
    return InvalidError("URL " + options.base_url + ": its path must be percent-encoded");
  }
  if (url.scheme == "https") {
    if (!options.tls) return InvalidError("URL " + options.base_url + " needs TLS options");
    BERTH_ASSIGN_OR_RETURN(settings.link.tls_context, TlsContext::MakeClient(*options.tls));
    settings.link.tls = options.tls;
  }
  settings.options = std::move(options);
  return std::unique_ptr<Transport>(std::make_unique<HttpClient>(io.impl(), std::move(settings)));
}

}  // namespace berth::net
