#include "berth/net/http_server.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <mutex>
#include <unordered_set>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/post.hpp>

#include "berth/net/channel.h"
#include "berth/net/http_parser.h"
#include "berth/net/io_context_impl.h"
#include "berth/net/read_buffer.h"
#include "berth/net/url.h"

// A connection lives on one loop and answers one request at a time:
//
//   handshake -> reading -> handling (the handler has the writer) -> reading ...
//                   |            |
//                   +------------+--> lingering (our side ended, the rest is thrown away) -> closed
//
// The writer is the only part that other threads touch: it fills a Reply under its lock, and the connection fetches
// from it on the loop.

namespace berth::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using Acceptor = boost::asio::basic_socket_acceptor<tcp, boost::asio::io_context::executor_type>;
using Wait = Channel::Socket::wait_type;

// Reads from one connection before the others of the loop get their turn.
constexpr int kReadsPerTurn = 16;
// Of the next requests while one is handled (pipelining); beyond it the peer has to wait.
constexpr std::size_t kPipelinedBytesMax = std::size_t{64} << 10;
// Answers up to this size are one piece with their head; larger bodies are not copied.
constexpr std::size_t kJoinedBodyBytesMax = std::size_t{16} << 10;
// Pieces of a stream are collected into writes of about this size.
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
// How long, and for how many bytes, a refused peer may go on talking, so that it gets to read the refusal.
constexpr Duration kLingerTime = std::chrono::seconds(2);
constexpr std::size_t kLingerBytesMax = std::size_t{16} << 20;
constexpr Duration kTlsHandshakeTime = std::chrono::seconds(10);
// Over connections_max, these many more are told so; beyond, they are closed without a word.
constexpr int kRefusedConnectionsMax = 64;
// Rest after an accept that failed for want of file descriptors or memory.
constexpr Duration kAcceptRest = std::chrono::milliseconds(100);

class Connection;

// One answer in the making. Shared by the writer (any thread) and the connection (its loop).
struct Reply {
  enum class State : std::uint8_t {
    kOpen,       // nothing sent
    kStreaming,  // head sent, chunks follow
    kEnded,      // all is in `pieces`
    kGone,       // the connection is closed: what is written now is lost
  };

  bool is_head_request = false;
  bool is_http_1_0 = false;
  bool keeps_alive = false;  // as the request wants it

  std::mutex mutex;
  State state = State::kOpen;              // guarded by mutex
  std::deque<std::string> pieces;          // guarded by mutex: for the connection to fetch
  std::size_t unsent_bytes = 0;            // guarded by mutex: of pieces and of what the connection has fetched
  bool is_flush_posted = false;            // guarded by mutex
  bool is_chunked = false;                 // guarded by mutex
  bool has_body = true;                    // guarded by mutex: false for HEAD and 204
  bool closes = false;                     // guarded by mutex: the connection ends with this answer
  std::function<void()> on_closed;         // guarded by mutex
  std::shared_ptr<Connection> connection;  // guarded by mutex; empty once the answer is over
};

// What all connections of one server share.
struct Shared {
  Shared(IoContext::Impl& io_in, HttpServerOptions options_in, Handler handler_in)
      : io(io_in), options(std::move(options_in)), handler(std::move(handler_in)) {}

  Response Malformed(int status, std::string_view message) const {
    if (options.malformed) return options.malformed(status, message);
    return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(message) + "\n"};
  }

  // The connections of one loop; touched on that loop only.
  struct Shard {
    explicit Shard(Loop& loop_in) : loop(loop_in) {}
    Loop& loop;
    std::unordered_set<std::shared_ptr<Connection>> connections;
    std::optional<boost::asio::steady_timer> tick;
    bool is_closed = false;
  };

  IoContext::Impl& io;
  const HttpServerOptions options;
  const Handler handler;
  std::shared_ptr<const TlsContext> tls;
  std::deque<Shard> shards;
  std::atomic<int> connection_count{0};
};

void AppendHead(std::string& out, const Response& response) {
  out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ").append(ReasonPhrase(response.status));
  out.append("\r\n");
  for (const Header& header : response.headers) {
    if (!IsToken(header.name) || EqualsIgnoreCase(header.name, "Content-Length") ||
        EqualsIgnoreCase(header.name, "Transfer-Encoding") || EqualsIgnoreCase(header.name, "Connection")) {
      continue;  // How the answer is framed is decided here.
    }
    out.append(header.name).append(": ");
    if (IsHeaderValue(header.value)) {
      out.append(header.value);
    } else {  // A line break in a value must not begin another header.
      for (const char c : header.value) out += IsHeaderValue({&c, 1}) ? c : ' ';
    }
    out.append("\r\n");
  }
}

void AppendConnectionHeader(std::string& out, const Reply& reply, bool closes) {
  if (closes) {
    out.append("Connection: close\r\n");
  } else if (reply.is_http_1_0) {
    out.append("Connection: keep-alive\r\n");
  }
}

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

// Adds bytes to what waits to be fetched, in pieces that are worth a write.
void AppendPiece(Reply& reply, std::string_view bytes) {
  if (reply.pieces.empty() || reply.pieces.back().size() + bytes.size() > kPieceBytes) reply.pieces.emplace_back();
  reply.pieces.back().append(bytes);
  reply.unsent_bytes += bytes.size();
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Shared> shared, Shared::Shard& shard, std::unique_ptr<Channel> channel)
      : shared_(std::move(shared)), shard_(shard), channel_(std::move(channel)), parser_(HttpParser::Kind::kRequest) {}

  void Start() {
    Touch();
    if (!channel_->Prepare().ok()) {
      Close();
      return;
    }
    StartParser();
    if (shared_->tls != nullptr) {
      phase_ = Phase::kHandshake;
      if (channel_->StartServerTls(*shared_->tls).ok()) {
        HandshakeStep();
      } else {
        Close();
      }
    } else if (shared_->connection_count.load() > shared_->options.connections_max) {
      Refuse(503, "too many connections");
    } else {
      ArmRead();
    }
  }

  // Called every tick: closes what has been still for too long.
  void CheckTime(SteadyTime now) {
    const Duration still = std::chrono::duration_cast<Duration>(now - last_progress_);
    const bool writes = !out_.empty();
    switch (phase_) {
      case Phase::kHandshake:
        if (still >= kTlsHandshakeTime) Close();
        break;
      case Phase::kReading:
        if (still >= shared_->options.idle_timeout) Close();
        break;
      case Phase::kHandling:
        // The handler may take its time, and a stream may be silent; a peer that does not read may not.
        if (writes && still >= shared_->options.idle_timeout) Close();
        break;
      case Phase::kLingering:
        if (still >= kLingerTime) Close();
        break;
    }
  }

  // Fetches what the writer has left and sends as much as the peer takes.
  void Flush() {
    if (is_closed_) return;
    const auto reply = reply_;
    if (reply != nullptr) {
      const std::lock_guard lock(reply->mutex);
      reply->is_flush_posted = false;
      if (out_.empty() && !reply->pieces.empty()) Touch();
      while (!reply->pieces.empty()) {
        out_.push_back(std::move(reply->pieces.front()));
        reply->pieces.pop_front();
      }
    }
    WriteSome();
  }

  void Close(bool calls_back = true) {
    if (is_closed_) return;
    is_closed_ = true;
    const auto self = shared_from_this();
    ReleaseReply(calls_back);
    channel_.reset();
    out_.clear();
    shared_->connection_count.fetch_sub(1);
    shard_.connections.erase(self);
  }

  const std::shared_ptr<Shared>& shared() const { return shared_; }
  Loop& loop() { return shard_.loop; }

 private:
  enum class Phase : std::uint8_t { kHandshake, kReading, kHandling, kLingering };

  void Touch() { last_progress_ = std::chrono::steady_clock::now(); }

  void StartParser() {
    parser_.Start({shared_->options.header_bytes_max, shared_->options.request_body_bytes_max});
    has_sent_continue_ = false;
  }

  void HandshakeStep() {
    const auto step = channel_->Handshake();
    const auto again = [self = shared_from_this()](const error_code&) {
      if (!self->is_closed_) self->HandshakeStep();
    };
    switch (step.outcome) {
      case Channel::Outcome::kDone:
        phase_ = Phase::kReading;
        Touch();
        if (shared_->connection_count.load() > shared_->options.connections_max) {
          Refuse(503, "too many connections");
        } else {
          ReadSome();
        }
        break;
      case Channel::Outcome::kWantRead: channel_->socket().async_wait(Wait::wait_read, again); break;
      case Channel::Outcome::kWantWrite: channel_->socket().async_wait(Wait::wait_write, again); break;
      case Channel::Outcome::kEof:
      case Channel::Outcome::kFailed: Close(); break;
    }
  }

  void ArmRead() {
    if (is_read_armed_ || is_closed_ || has_peer_ended_) return;
    is_read_armed_ = true;
    channel_->socket().async_wait(Wait::wait_read, [self = shared_from_this()](const error_code&) {
      self->is_read_armed_ = false;
      if (!self->is_closed_) self->ReadSome();
    });
  }

  void ArmWrite() {
    if (is_write_armed_ || is_closed_) return;
    is_write_armed_ = true;
    channel_->socket().async_wait(Wait::wait_write, [self = shared_from_this()](const error_code&) {
      self->is_write_armed_ = false;
      if (self->is_closed_) return;
      self->WriteSome();
      if (!self->is_closed_ && self->channel_->is_tls()) self->ReadSome();  // It may have been the reader that waited.
    });
  }

  void ReadSome() {
    const auto self = shared_from_this();
    for (int turn = 0; turn < kReadsPerTurn; ++turn) {
      if (phase_ == Phase::kHandling && buffer_.unread().size() >= kPipelinedBytesMax) return;
      const auto [room, size] = buffer_.Room();
      const auto step = channel_->Read(room, size);
      switch (step.outcome) {
        case Channel::Outcome::kDone:
          buffer_.Filled(step.bytes, size);
          Process();
          if (is_closed_) return;
          if (step.bytes == size || channel_->HasBufferedInput()) continue;
          ArmRead();
          return;
        case Channel::Outcome::kWantRead:
          ArmRead();
          if (channel_->is_tls() && !out_.empty()) WriteSome();  // It may have been the writer that waited.
          return;
        case Channel::Outcome::kWantWrite: ArmWrite(); return;
        case Channel::Outcome::kEof: OnPeerEnded(); return;
        case Channel::Outcome::kFailed: Close(); return;
      }
    }
    boost::asio::post(loop().io, [self] {
      if (!self->is_closed_) self->ReadSome();
    });
  }

  // The peer sends no more. It may still wait for the answer to what it has asked, but nobody waits for a stream like
  // that.
  void OnPeerEnded() {
    has_peer_ended_ = true;
    if (phase_ == Phase::kReading) {
      Process();  // What it has asked in advance; closes when that is nothing.
      return;
    }
    if (phase_ != Phase::kHandling) {
      Close();
      return;
    }
    bool is_streaming = false;
    {
      const std::lock_guard lock(reply_->mutex);
      is_streaming = reply_->state == Reply::State::kStreaming;
    }
    if (is_streaming) Close();
  }

  // Parses and handles what is in the buffer, one request after the other.
  void Process() {
    if (is_processing_) return;  // An answer given inside the handler: the loop below goes on with the next request.
    is_processing_ = true;
    while (!is_closed_ && phase_ == Phase::kReading && !buffer_.unread().empty()) {
      if (!parser_.has_started()) Touch();  // A request has idle_timeout from its first byte to its last.
      std::size_t consumed = 0;
      const auto outcome = parser_.Feed(buffer_.unread(), consumed);
      buffer_.Consume(consumed);
      if (outcome == HttpParser::Outcome::kComplete) {
        Handle();
        continue;
      }
      if (outcome == HttpParser::Outcome::kNeedMore) {
        if (parser_.is_head_done()) AnswerExpectation();
        break;
      }
      RefuseMalformed(outcome);
      break;
    }
    if (!is_closed_ && phase_ == Phase::kReading && has_peer_ended_) Linger();  // The rest of this request never comes.
    if (!is_closed_ && phase_ == Phase::kLingering) {
      lingered_bytes_ += buffer_.unread().size();
      buffer_.Consume(buffer_.unread().size());
      if (lingered_bytes_ > kLingerBytesMax) Close();
    }
    is_processing_ = false;
  }

  void RefuseMalformed(HttpParser::Outcome outcome) {
    const HttpServerOptions& options = shared_->options;
    switch (outcome) {
      case HttpParser::Outcome::kHeaderTooLarge:
        Refuse(431, "the request's head is longer than " + std::to_string(options.header_bytes_max) + " bytes");
        break;
      case HttpParser::Outcome::kBodyTooLarge:
        Refuse(413, "the request's body is longer than " + std::to_string(options.request_body_bytes_max) + " bytes");
        break;
      default: Refuse(400, "not an HTTP/1.1 request: " + parser_.problem()); break;
    }
  }

  void AnswerExpectation() {
    if (parser_.has_unknown_expect()) {
      Refuse(417, "Expect: only 100-continue is understood");
    } else if (parser_.expects_continue() && !parser_.is_http_1_0() && !std::exchange(has_sent_continue_, true)) {
      out_.emplace_back("HTTP/1.1 100 Continue\r\n\r\n");
      WriteSome();
    }
  }

  // Answers without a handler, and ends the connection: where the next request would begin is unknown.
  void Refuse(int status, const std::string& message) {
    const Response response = shared_->Malformed(status, message);
    std::string out;
    AppendHead(out, response);
    out.append("Content-Length: ").append(std::to_string(response.body.size()));
    out.append("\r\nConnection: close\r\n\r\n").append(response.body);
    out_.push_back(std::move(out));
    phase_ = Phase::kLingering;
    Touch();
    WriteSome();
    ArmRead();
  }

  void Handle();

  // The answer is complete and sent.
  void OnReplySent(bool closes) {
    ReleaseReply(true);
    if (is_closed_) return;  // By what the handler did when it heard of the end.
    if (closes || (has_peer_ended_ && buffer_.unread().empty())) {
      Linger();
      return;
    }
    phase_ = Phase::kReading;
    Touch();
    StartParser();
    if (is_processing_) return;
    if (buffer_.unread().empty() && !channel_->HasBufferedInput()) {
      ArmRead();
      return;
    }
    // Who answers may hold locks that the handler of the next request takes: that one starts from the loop.
    boost::asio::post(loop().io, [self = shared_from_this()] {
      if (self->is_closed_) return;
      self->Process();
      if (!self->is_closed_ && !self->has_peer_ended_) self->ReadSome();
    });
  }

  // Ends our side and waits a little for the peer to end its own: closing at once would reset the connection while
  // bytes of the peer are under way, and with it the answer that it has not read yet.
  void Linger() {
    phase_ = Phase::kLingering;
    Touch();
    channel_->ShutdownWrite();
    has_shut_down_ = true;
    if (has_peer_ended_) {
      Close();
      return;
    }
    ArmRead();
  }

  void WriteSome() {
    const auto self = shared_from_this();
    std::size_t sent = 0;
    bool must_wait = false;
    while (!out_.empty() && !must_wait) {
      const auto step = channel_->Write(std::string_view(out_.front()).substr(out_begin_));
      switch (step.outcome) {
        case Channel::Outcome::kDone:
          sent += step.bytes;
          out_begin_ += step.bytes;
          if (out_begin_ == out_.front().size()) {
            out_.pop_front();
            out_begin_ = 0;
          }
          break;
        case Channel::Outcome::kWantWrite:
          ArmWrite();
          must_wait = true;
          break;
        case Channel::Outcome::kWantRead:
          ArmRead();
          must_wait = true;
          break;
        case Channel::Outcome::kEof:
        case Channel::Outcome::kFailed: Close(); return;
      }
    }
    if (sent > 0) Touch();
    if (phase_ == Phase::kLingering) {
      if (out_.empty() && !has_shut_down_) Linger();
      return;
    }
    if (reply_ == nullptr) return;
    bool is_sent = false;
    bool closes = false;
    {
      const std::lock_guard lock(reply_->mutex);
      reply_->unsent_bytes -= std::min(reply_->unsent_bytes, sent);
      is_sent = reply_->state == Reply::State::kEnded && reply_->pieces.empty() && out_.empty();
      closes = reply_->closes;
    }
    if (is_sent) OnReplySent(closes);
  }

  // Parts with the writer; tells it that the connection is of no use to it any more.
  void ReleaseReply(bool calls_back) {
    const auto reply = std::move(reply_);
    reply_ = nullptr;
    if (reply == nullptr) return;
    std::function<void()> on_closed;
    std::shared_ptr<Connection> self;
    {
      const std::lock_guard lock(reply->mutex);
      reply->state = Reply::State::kGone;
      reply->pieces.clear();
      on_closed = std::move(reply->on_closed);
      reply->on_closed = nullptr;
      self = std::move(reply->connection);
    }
    if (calls_back && on_closed) on_closed();
  }

  const std::shared_ptr<Shared> shared_;
  Shared::Shard& shard_;
  std::unique_ptr<Channel> channel_;
  HttpParser parser_;
  ReadBuffer buffer_;
  std::shared_ptr<Reply> reply_;  // while a request is handled
  std::deque<std::string> out_;
  std::size_t out_begin_ = 0;  // sent of the first piece
  std::size_t lingered_bytes_ = 0;
  SteadyTime last_progress_;
  Phase phase_ = Phase::kReading;
  bool is_closed_ = false;
  bool is_processing_ = false;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
  bool has_sent_continue_ = false;
  bool has_peer_ended_ = false;
  bool has_shut_down_ = false;
};

class Writer final : public ResponseWriter {
 public:
  Writer(std::shared_ptr<Shared> shared, std::shared_ptr<Reply> reply)
      : shared_(std::move(shared)), reply_(std::move(reply)) {}

  ~Writer() override {
    bool is_unanswered = false;
    {
      const std::lock_guard lock(reply_->mutex);
      is_unanswered = reply_->state == Reply::State::kOpen;
      if (reply_->state == Reply::State::kStreaming) Abort();  // The peer must see that the stream is not whole.
    }
    if (is_unanswered) Send(shared_->Malformed(500, "the request's handler gave no answer"));
  }

  void Send(Response response) override {
    std::unique_lock lock(reply_->mutex);
    if (reply_->state == Reply::State::kGone) return;
    BERTH_CHECK(reply_->state == Reply::State::kOpen, "a request is answered once");
    const bool has_body = HasBody(response.status);
    reply_->closes = !reply_->keeps_alive;
    std::string head;
    const bool is_joined = response.body.size() <= kJoinedBodyBytesMax;
    head.reserve(256 + (is_joined ? response.body.size() : 0));
    AppendHead(head, response);
    if (has_body) head.append("Content-Length: ").append(std::to_string(response.body.size())).append("\r\n");
    AppendConnectionHeader(head, *reply_, reply_->closes);
    head.append("\r\n");
    const bool sends_body = has_body && !reply_->is_head_request && !response.body.empty();
    if (sends_body && is_joined) head.append(response.body);
    reply_->unsent_bytes += head.size();
    reply_->pieces.push_back(std::move(head));
    if (sends_body && !is_joined) {
      reply_->unsent_bytes += response.body.size();
      reply_->pieces.push_back(std::move(response.body));
    }
    reply_->state = Reply::State::kEnded;
    reply_->on_closed = nullptr;
    const auto connection = reply_->connection;
    if (!connection->loop().IsCurrent()) {
      PostFlush(*connection);
      return;
    }
    lock.unlock();
    connection->Flush();  // The common case, a handler that answers at once: no way round through the loop's queue.
  }

  void StartStream(Response response) override {
    const std::lock_guard lock(reply_->mutex);
    if (reply_->state == Reply::State::kGone) return;
    BERTH_CHECK(reply_->state == Reply::State::kOpen, "a request is answered once");
    // HTTP/1.0 knows no chunks: there the body ends with the connection.
    reply_->has_body = HasBody(response.status) && !reply_->is_head_request;
    reply_->is_chunked = !reply_->is_http_1_0;
    reply_->closes = !reply_->keeps_alive || reply_->is_http_1_0;
    std::string head;
    AppendHead(head, response);
    if (reply_->is_chunked && HasBody(response.status)) head.append("Transfer-Encoding: chunked\r\n");
    AppendConnectionHeader(head, *reply_, reply_->closes);
    head.append("\r\n");
    AppendPiece(*reply_, head);
    reply_->state = Reply::State::kStreaming;
    AppendChunk(response.body);
    PostFlush(*reply_->connection);
  }

  bool Write(std::string_view bytes) override {
    const std::lock_guard lock(reply_->mutex);
    if (reply_->state == Reply::State::kGone) return false;
    BERTH_CHECK(reply_->state == Reply::State::kStreaming, "Write() comes between StartStream() and End()");
    AppendChunk(bytes);
    if (reply_->unsent_bytes > shared_->options.stream_buffer_bytes_max) {
      Abort();
      return false;
    }
    PostFlush(*reply_->connection);
    return true;
  }

  std::size_t BufferedBytes() const override {
    const std::lock_guard lock(reply_->mutex);
    return reply_->state == Reply::State::kGone ? 0 : reply_->unsent_bytes;
  }

  void End() override {
    const std::lock_guard lock(reply_->mutex);
    if (reply_->state == Reply::State::kGone) return;
    BERTH_CHECK(reply_->state == Reply::State::kStreaming, "End() comes once, after StartStream()");
    if (reply_->has_body && reply_->is_chunked) AppendPiece(*reply_, "0\r\n\r\n");
    reply_->state = Reply::State::kEnded;
    PostFlush(*reply_->connection);
  }

  void OnClosed(std::function<void()> closed) override {
    {
      const std::lock_guard lock(reply_->mutex);
      if (reply_->state != Reply::State::kGone) {
        reply_->on_closed = std::move(closed);
        return;
      }
    }
    closed();  // The connection has gone, and perhaps its loop with it: there is no other thread to call from.
  }

 private:
  // With the reply's lock held.
  void AppendChunk(std::string_view bytes) {
    if (bytes.empty() || !reply_->has_body) return;  // An empty chunk would end the stream.
    if (!reply_->is_chunked) {
      AppendPiece(*reply_, bytes);
      return;
    }
    char size[20];
    const int digits = std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
    AppendPiece(*reply_, {size, static_cast<std::size_t>(digits)});
    AppendPiece(*reply_, bytes);
    AppendPiece(*reply_, "\r\n");
  }

  // With the reply's lock held: the answer cannot be completed. The connection is closed from its loop.
  void Abort() {
    reply_->state = Reply::State::kGone;
    reply_->pieces.clear();
    boost::asio::post(reply_->connection->loop().io, [connection = reply_->connection] { connection->Close(); });
  }

  // With the reply's lock held. The server closes its connections, and with them this reply, before it goes: so while
  // the reply is not kGone the loop exists.
  void PostFlush(Connection& connection) {
    if (std::exchange(reply_->is_flush_posted, true)) return;
    boost::asio::post(connection.loop().io, [self = connection.shared_from_this()] { self->Flush(); });
  }

  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<Reply> reply_;
};

void Connection::Handle() {
  phase_ = Phase::kHandling;
  Touch();
  reply_ = std::make_shared<Reply>();
  reply_->is_head_request = parser_.request().method == "HEAD";
  reply_->is_http_1_0 = parser_.is_http_1_0();
  reply_->keeps_alive = parser_.keep_alive();
  reply_->connection = shared_from_this();
  Request request = std::move(parser_.request());
  request.body = std::move(parser_.body());
  shared_->handler(std::move(request), std::make_shared<Writer>(shared_, reply_));
}

// Takes connections in and hands them to the loops in turn. On the first loop's thread.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(std::shared_ptr<Shared> shared, Acceptor acceptor)
      : shared_(std::move(shared)), acceptor_(std::move(acceptor)), rest_(shared_->shards.front().loop.io) {}

  void Accept() {
    if (!acceptor_) return;
    Shared::Shard& shard = shared_->shards[shard_next_++ % shared_->shards.size()];
    auto channel = std::make_unique<Channel>(shard.loop.io);
    auto& socket = channel->socket();
    acceptor_->async_accept(
        socket, [self = shared_from_this(), &shard, channel = std::move(channel)](const error_code& ec) mutable {
          if (!self->acceptor_) return;
          if (!ec) {
            self->OnAccepted(shard, std::move(channel));
            self->Accept();
          } else if (ec == boost::asio::error::connection_aborted) {
            self->Accept();
          } else {
            self->Rest();
          }
        });
  }

  void Close() {
    acceptor_.reset();
    rest_.reset();
  }

 private:
  void OnAccepted(Shared::Shard& shard, std::unique_ptr<Channel> channel) {
    const int count = shared_->connection_count.fetch_add(1) + 1;
    if (count > shared_->options.connections_max + kRefusedConnectionsMax) {
      shared_->connection_count.fetch_sub(1);
      return;
    }
    boost::asio::post(shard.loop.io,
                      [&shard, connection = std::make_shared<Connection>(shared_, shard, std::move(channel))] {
                        if (shard.is_closed) {
                          connection->Close();
                          return;
                        }
                        shard.connections.insert(connection);
                        connection->Start();
                      });
  }

  void Rest() {
    rest_->expires_after(kAcceptRest);
    rest_->async_wait([self = shared_from_this()](const error_code& ec) {
      if (!ec) self->Accept();
    });
  }

  const std::shared_ptr<Shared> shared_;
  std::optional<Acceptor> acceptor_;
  std::optional<boost::asio::steady_timer> rest_;
  std::size_t shard_next_ = 0;
};

void ArmTick(const std::shared_ptr<Shared>& shared, Shared::Shard& shard) {
  constexpr Duration kTickMin = std::chrono::milliseconds(10);
  constexpr Duration kTickMax = std::chrono::seconds(1);
  shard.tick->expires_after(std::clamp(shared->options.idle_timeout / 4, kTickMin, kTickMax));
  shard.tick->async_wait([shared, &shard](const error_code& ec) {
    if (ec || shard.is_closed) return;
    const SteadyTime now = std::chrono::steady_clock::now();
    const std::vector<std::shared_ptr<Connection>> connections(shard.connections.begin(), shard.connections.end());
    for (const auto& connection : connections) {
      if (!shard.is_closed) connection->CheckTime(now);
    }
    if (!shard.is_closed) ArmTick(shared, shard);
  });
}

class Server final : public HttpServer {
 public:
  Server(std::shared_ptr<Shared> shared, Acceptor acceptor, const tcp::endpoint& endpoint)
      : shared_(std::move(shared)),
        port_(endpoint.port()),
        address_(JoinHostPort(endpoint.address().to_string(), endpoint.port())) {
    listener_ = std::make_shared<Listener>(shared_, std::move(acceptor));
    for (auto& shard : shared_->shards) {
      boost::asio::post(shard.loop.io, [shared = shared_, &shard] {
        if (shard.is_closed) return;
        shard.tick.emplace(shard.loop.io);
        ArmTick(shared, shard);
      });
    }
    boost::asio::post(shared_->shards.front().loop.io, [listener = listener_] { listener->Accept(); });
  }

  ~Server() override {
    shared_->io.RunAndWait(shared_->shards.front().loop, [this](bool) { listener_->Close(); });
    for (auto& shard : shared_->shards) {
      shared_->io.RunAndWait(shard.loop, [&shard](bool is_stopped) {
        shard.is_closed = true;
        shard.tick.reset();
        const auto connections = std::exchange(shard.connections, {});
        for (const auto& connection : connections) connection->Close(!is_stopped);
      });
    }
  }

  std::uint16_t port() const override { return port_; }
  std::string address() const override { return address_; }

 private:
  const std::shared_ptr<Shared> shared_;
  std::shared_ptr<Listener> listener_;
  const std::uint16_t port_;
  const std::string address_;
};

// What a listen address names; several for a host name.
Expected<std::vector<tcp::endpoint>> ResolveListen(boost::asio::io_context& io, const std::string& listen) {
  BERTH_ASSIGN_OR_RETURN(const auto host_port, SplitHostPort(listen));
  const auto& [host, port] = host_port;
  if (host.empty()) {
    return std::vector<tcp::endpoint>{{boost::asio::ip::address_v6::any(), port},
                                      {boost::asio::ip::address_v4::any(), port}};
  }
  error_code ec;
  const auto address = boost::asio::ip::make_address(host, ec);
  if (!ec) return std::vector<tcp::endpoint>{{address, port}};
  tcp::resolver resolver(io);
  const auto results = resolver.resolve(host, std::to_string(port), tcp::resolver::numeric_service, ec);
  std::vector<tcp::endpoint> endpoints;
  for (const auto& result : results) endpoints.push_back(result.endpoint());
  if (ec || endpoints.empty()) {
    return InvalidError("listen " + listen + ": no such host: it must be an address of this machine");
  }
  return endpoints;
}

Expected<Acceptor> Listen(boost::asio::io_context& io, const std::string& listen) {
  BERTH_ASSIGN_OR_RETURN(const auto endpoints, ResolveListen(io, listen));
  error_code ec;
  for (const tcp::endpoint& endpoint : endpoints) {
    Acceptor acceptor(io.get_executor());
    acceptor.open(endpoint.protocol(), ec);
    if (ec) continue;
    acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
    acceptor.bind(endpoint, ec);
    if (!ec) acceptor.listen(boost::asio::socket_base::max_listen_connections, ec);
    if (!ec) return acceptor;
    if (ec == boost::asio::error::address_in_use) break;  // Another address of the name would hide the mistake.
  }
  std::string hint;
  if (ec == boost::asio::error::address_in_use) {
    hint = ": choose another --listen address";
  } else if (ec == boost::asio::error::access_denied) {
    hint = ": ports below 1024 need privileges, choose another --listen address";
  } else if (ec.value() == EADDRNOTAVAIL) {
    hint = ": it must be an address of this machine";
  }
  return Error{ErrorCode::kUnavailable, "listen " + listen + ": " + SystemErrorText(ec.value()) + hint};
}

}  // namespace

Expected<std::unique_ptr<HttpServer>> StartHttpServer(IoContext& io, HttpServerOptions options, Handler handler) {
  auto shared = std::make_shared<Shared>(io.impl(), std::move(options), std::move(handler));
  if (shared->options.tls) {
    BERTH_ASSIGN_OR_RETURN(shared->tls, TlsContext::MakeServer(*shared->options.tls));
  }
  for (auto& loop : io.impl().loops) shared->shards.emplace_back(*loop);
  BERTH_ASSIGN_OR_RETURN(auto acceptor, Listen(io.impl().loops.front()->io, shared->options.listen));
  error_code ec;
  const tcp::endpoint endpoint = acceptor.local_endpoint(ec);
  if (ec)
    return Error{ErrorCode::kUnavailable, "listen " + shared->options.listen + ": " + SystemErrorText(ec.value())};
  return std::unique_ptr<HttpServer>(std::make_unique<Server>(std::move(shared), std::move(acceptor), endpoint));
}

}  // namespace berth::net
