// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/server_connection.h"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>

#include <boost/asio/post.hpp>

#include "berth/shell/net/server_reply.h"

// A connection lives on one loop and answers one request at a time:
//
//   handshake -> reading -> handling (the handler has the writer) -> reading ...
//                   |            |
//                   +------------+--> lingering (our side ended, the rest is thrown away) -> closed
//
// The writer is the only part that other threads touch: it fills a ServerReply under its lock, and the connection
// fetches from it on the loop.

namespace berth::net {
namespace {

using boost::system::error_code;
using Wait = Channel::Socket::wait_type;

// Reads from one connection before the others of the loop get their turn.
constexpr int kReadsPerTurn = 16;
// Of the next requests while one is handled (pipelining); beyond it the peer has to wait.
constexpr std::size_t kPipelinedBytesMax = std::size_t{64} << 10;
// How long, and for how many bytes, a refused peer may go on talking, so that it gets to read the refusal.
constexpr Duration kLingerTime = std::chrono::seconds(2);
constexpr std::size_t kLingerBytesMax = std::size_t{16} << 20;
constexpr std::size_t kDiscardBytes = std::size_t{16} << 10;  // read at a time meanwhile
// Pieces that wait to be sent, beyond which a WebSocket's pings are not answered.
constexpr std::size_t kPongsMax = 16;
constexpr Duration kTlsHandshakeTime = std::chrono::seconds(10);

// What Go's server says to whoever speaks plain HTTP where TLS is spoken, word for word, down to the version.
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

// Whether what has arrived, of which nothing is taken, begins as a request in plain HTTP.
bool HasPlainHttp(int socket) {
  char begin[5];
  const ssize_t size = recv(socket, begin, sizeof begin, MSG_PEEK | MSG_DONTWAIT);
  const std::string_view text(begin, size > 0 ? static_cast<std::size_t>(size) : 0);
  return text == "GET /" || text == "HEAD " || text == "POST " || text == "PUT /" || text == "OPTIO";
}

// Best effort: a peer that has not read the answer when more of its own arrives does not get it.
void AnswerPlainHttp(int socket) {
  static_cast<void>(send(socket, kPlainHttpAnswer.data(), kPlainHttpAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(socket, SHUT_WR);
  char taken[kDiscardBytes];
  for (int i = 0; i < kReadsPerTurn && recv(socket, taken, sizeof taken, MSG_DONTWAIT) > 0; ++i) continue;
}

}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<ServerShared> shared, ServerShared::Shard& shard,
                                   std::unique_ptr<Channel> channel)
    : shared_(std::move(shared)),
      shard_(shard),
      channel_(std::move(channel)),
      parser_(HttpParser::Kind::kRequest),
      received_(shared_->requests) {}

void ServerConnection::Start() {
  Touch();
  if (!channel_->Prepare().ok()) {
    Close();
    return;
  }
  StartParser();
  if (const auto tls = shared_->tls(); tls != nullptr) {
    phase_ = Phase::kHandshake;
    if (channel_->StartServerTls(*tls).ok()) {
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

void ServerConnection::CheckTime(SteadyTime now) {
  const Duration still = std::chrono::duration_cast<Duration>(now - last_progress_);
  const bool writes = !out_.empty();
  switch (phase_) {
    case Phase::kHandshake:
      if (still >= kTlsHandshakeTime) Close();
      break;
    case Phase::kReading:
      if (still >= shared_->options.idle_timeout ||
          (parser_.has_started() && still >= shared_->options.request_timeout)) {
        Close();
      }
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

void ServerConnection::Flush() {
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

void ServerConnection::Close(bool calls_back) {
  if (is_closed_) return;
  is_closed_ = true;
  const auto self = shared_from_this();
  ReleaseReply(calls_back);
  channel_.reset();
  out_.clear();
  shared_->connection_count.fetch_sub(1);
  shard_.connections.erase(self);
}

bool ServerConnection::IsSilent() const {
  return phase_ == Phase::kHandshake || (phase_ == Phase::kReading && !parser_.has_started());
}

void ServerConnection::EndIfSlow(SteadyTime now) {
  if (now - last_progress_ < shared_->options.slow_request_time) return;
  bool holds_room = phase_ == Phase::kReading && received_.bytes() > 0;
  if (phase_ == Phase::kHandling) {
    const std::lock_guard lock(reply_->mutex);
    holds_room = reply_->held.has_value();
  }
  if (holds_room) Close();
}

void SweepSlow(const std::shared_ptr<ServerShared>& shared) {
  for (ServerShared::Shard& shard : shared->shards) {
    if (shard.is_sweep_posted.exchange(true)) continue;
    boost::asio::post(shard.loop.io, [shared, &shard] {
      shard.is_sweep_posted.store(false);
      const SteadyTime now = std::chrono::steady_clock::now();
      const std::vector<std::shared_ptr<ServerConnection>> all(shard.connections.begin(), shard.connections.end());
      for (const auto& connection : all) connection->EndIfSlow(now);
    });
  }
}

void ServerConnection::StartParser() {
  buffer_.Trim();
  parser_.Start({shared_->options.header_bytes_max, shared_->options.request_body_bytes_max});
  has_sent_continue_ = false;
}

void ServerConnection::HandshakeStep() {
  if (const int socket = channel_->socket().native_handle(); HasPlainHttp(socket)) {
    AnswerPlainHttp(socket);
    return Close();
  }
  const auto step = channel_->Handshake();
  const auto again = [self = shared_from_this()](const error_code&) {
    if (!self->is_closed_) self->HandshakeStep();
  };
  switch (step.outcome) {
    case Channel::Outcome::kDone:
      phase_ = Phase::kReading;
      Touch();
      if (auto shown = channel_->PeerCertificates(); !shown.empty()) {
        peer_certificates_ = std::make_shared<const std::vector<std::string>>(std::move(shown));
      }
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

void ServerConnection::ArmRead() {
  if (is_read_armed_ || is_closed_ || has_peer_ended_) return;
  is_read_armed_ = true;
  channel_->socket().async_wait(Wait::wait_read, [self = shared_from_this()](const error_code&) {
    self->is_read_armed_ = false;
    if (!self->is_closed_) self->ReadSome();
  });
}

void ServerConnection::ArmWrite() {
  if (is_write_armed_ || is_closed_) return;
  is_write_armed_ = true;
  channel_->socket().async_wait(Wait::wait_write, [self = shared_from_this()](const error_code&) {
    self->is_write_armed_ = false;
    if (self->is_closed_) return;
    self->WriteSome();
    if (!self->is_closed_ && self->channel_->is_tls()) self->ReadSome();  // It may have been the reader that waited.
  });
}

void ServerConnection::ReadSome() {
  const auto self = shared_from_this();
  for (int turn = 0; turn < kReadsPerTurn; ++turn) {
    if (phase_ == Phase::kHandling && buffer_.unread().size() >= kPipelinedBytesMax) return;
    const bool discards = phase_ == Phase::kLingering;
    char discarded[kDiscardBytes];
    const auto [room, size] = discards ? std::pair(discarded, sizeof discarded) : buffer_.Room();
    const auto step = channel_->Read(room, size);
    switch (step.outcome) {
      case Channel::Outcome::kDone:
        if (discards) {
          lingered_bytes_ += step.bytes;
          if (lingered_bytes_ > kLingerBytesMax) Close();
        } else {
          buffer_.Filled(step.bytes, size);
          if (!ReadFrames()) Process();
        }
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
void ServerConnection::OnPeerEnded() {
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
    is_streaming = reply_->state == ServerReply::State::kStreaming;
  }
  if (is_streaming) Close();
}

// Parses and handles what is in the buffer, one request after the other.
void ServerConnection::Process() {
  if (is_processing_) return;  // An answer given inside the handler: the loop below goes on with the next request.
  is_processing_ = true;
  while (!is_closed_ && phase_ == Phase::kReading && !buffer_.unread().empty()) {
    if (!parser_.has_started()) Touch();  // A request has request_timeout from its first byte to its last.
    std::size_t consumed = 0;
    const auto outcome = parser_.Feed(buffer_.unread(), consumed);
    buffer_.Consume(consumed);
    if (outcome == HttpParser::Outcome::kComplete) {
      Handle();
      continue;
    }
    if (outcome == HttpParser::Outcome::kNeedMore) {
      if (KeepsToBudget() && parser_.is_head_done()) AnswerExpectation();
      break;
    }
    RefuseMalformed(outcome);
    break;
  }
  if (!is_closed_ && phase_ == Phase::kReading && has_peer_ended_) Linger();  // The rest of this request never comes.
  if (!is_closed_ && phase_ == Phase::kLingering) {
    lingered_bytes_ += buffer_.unread().size();
    buffer_.Consume(buffer_.unread().size());
    buffer_.Trim();
  }
  is_processing_ = false;
}

bool ServerConnection::KeepsToBudget() {
  const std::size_t held = parser_.body().capacity() + buffer_.capacity();
  const std::size_t each = shared_->options.request_bytes_each;
  if (received_.Set(held > each ? held - each : 0)) return true;
  SweepSlow(shared_);
  Refuse(429, "the server is receiving too many large requests at a time, please try again later");
  return false;
}

void ServerConnection::RefuseMalformed(HttpParser::Outcome outcome) {
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

void ServerConnection::AnswerExpectation() {
  if (parser_.has_unknown_expect()) {
    Refuse(417, "Expect: only 100-continue is understood");
  } else if (parser_.expects_continue() && !parser_.is_http_1_0() && !std::exchange(has_sent_continue_, true)) {
    out_.emplace_back("HTTP/1.1 100 Continue\r\n\r\n");
    WriteSome();
  }
}

// Answers without a handler, and ends the connection: where the next request would begin is unknown.
void ServerConnection::Refuse(int status, const std::string& message) {
  const Response response = shared_->Malformed(status, message);
  std::string out;
  AppendHead(out, response);
  if (status == 429 && response.Get("Retry-After").empty()) out.append("Retry-After: 1\r\n");
  out.append("Content-Length: ").append(std::to_string(response.body.size()));
  out.append("\r\nConnection: close\r\n\r\n").append(response.body);
  out_.push_back(std::move(out));
  parser_.body() = std::string();
  (void)received_.Set(0);  // less is always granted
  phase_ = Phase::kLingering;
  Touch();
  WriteSome();
  ArmRead();
}

void ServerConnection::Handle() {
  phase_ = Phase::kHandling;
  Touch();
  reply_ = std::make_shared<ServerReply>();
  reply_->is_head_request = parser_.request().method == "HEAD";
  reply_->is_http_1_0 = parser_.is_http_1_0();
  reply_->keeps_alive = parser_.keep_alive();
  reply_->connection = shared_from_this();
  reply_->peer_certificates = peer_certificates_;
  Request request = std::move(parser_.request());
  request.body = std::move(parser_.body());
  (void)received_.Set(0);  // less is always granted
  shared_->handler(std::move(request), MakeResponseWriter(shared_, reply_));
}

bool ServerConnection::ReadFrames() {
  if (phase_ != Phase::kHandling) return false;
  {
    const std::lock_guard lock(reply_->mutex);
    if (!reply_->is_upgraded) return false;
  }
  std::vector<WebSocketReader::Control> controls;
  const bool is_valid = frames_.Feed(buffer_.unread(), controls);
  buffer_.Consume(buffer_.unread().size());
  for (const WebSocketReader::Control& each : controls) {
    if (each.opcode == WebSocketOpcode::kClose) {
      EndWebSocket(1000);
      return true;
    }
    // A peer that pings and does not read gets no more answers than it could use.
    if (out_.size() >= kPongsMax) continue;
    std::string pong;
    AppendFrame(pong, WebSocketOpcode::kPong, each.payload);
    out_.push_back(std::move(pong));
  }
  if (!is_valid) {
    EndWebSocket(1002);  // a protocol error
  } else if (!controls.empty()) {
    WriteSome();
  }
  return true;
}

// The peer wants to end, or has to: what has been fetched for it goes before the close frame.
void ServerConnection::EndWebSocket(std::uint16_t code) {
  ReleaseReply(true);
  if (is_closed_) return;
  std::string frame;
  AppendCloseFrame(frame, code);
  out_.push_back(std::move(frame));
  phase_ = Phase::kLingering;
  Touch();
  WriteSome();
  if (!is_closed_) ArmRead();
}

// The answer is complete and sent.
void ServerConnection::OnReplySent(bool closes) {
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
void ServerConnection::Linger() {
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

void ServerConnection::WriteSome() {
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
    is_sent = reply_->state == ServerReply::State::kEnded && reply_->pieces.empty() && out_.empty();
    closes = reply_->closes;
  }
  if (is_sent) OnReplySent(closes);
}

// Parts with the writer; tells it that the connection is of no use to it any more.
void ServerConnection::ReleaseReply(bool calls_back) {
  const auto reply = std::move(reply_);
  reply_ = nullptr;
  if (reply == nullptr) return;
  std::function<void()> on_closed;
  std::shared_ptr<ServerConnection> self;
  {
    const std::lock_guard lock(reply->mutex);
    reply->state = ServerReply::State::kGone;
    reply->pieces.clear();
    reply->held.reset();
    on_closed = std::move(reply->on_closed);
    reply->on_closed = nullptr;
    self = std::move(reply->connection);
  }
  if (calls_back && on_closed) on_closed();
}

}  // namespace berth::net
