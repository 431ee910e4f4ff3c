// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http1_server_connection.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>

#include <boost/asio/post.hpp>

#include "berth/shell/net/http2_server_connection.h"
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

// The most bytes of pipelined requests while one is handled; beyond it the peer has to wait.
constexpr std::size_t kPipelinedBytesMax = std::size_t{64} << 10;
constexpr std::size_t kDiscardBytes = std::size_t{16} << 10;  // read at once while the connection lingers
// With more pieces waiting to be sent, a WebSocket's pings are not answered.
constexpr std::size_t kPongsMax = 16;

// The answer of Go's server to plain HTTP on a TLS port, word for word and with the same version.
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

// Whether these first bytes begin a request in plain HTTP.
bool IsPlainHttp(std::string_view begin) {
  return begin == "GET /" || begin == "HEAD " || begin == "POST " || begin == "PUT /" || begin == "OPTIO";
}

// Best effort: the answer is lost if more bytes of the peer arrive before it has read the answer.
void AnswerPlainHttp(int socket) {
  static_cast<void>(send(socket, kPlainHttpAnswer.data(), kPlainHttpAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(socket, SHUT_WR);
  char taken[kDiscardBytes];
  for (int i = 0; i < kServerReadsPerTurn && recv(socket, taken, sizeof taken, MSG_DONTWAIT) > 0; ++i) continue;
}

}  // namespace

Http1ServerConnection::Http1ServerConnection(std::shared_ptr<ServerShared> shared, ServerShared::Shard& shard,
                                             std::unique_ptr<Channel> channel)
    : shared_(std::move(shared)),
      shard_(shard),
      channel_(std::move(channel)),
      parser_(HttpParser::Kind::kRequest),
      received_(shared_->requests) {}

void Http1ServerConnection::Start() {
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

void Http1ServerConnection::CheckTime(SteadyTime now) {
  const Duration still = std::chrono::duration_cast<Duration>(now - last_progress_);
  const bool writes = !out_.empty();
  switch (phase_) {
    case Phase::kHandshake:
      if (still >= kGreetingTime) Close();
      break;
    case Phase::kReading:
      if (still >= shared_->options.idle_timeout ||
          (parser_.has_started() && still >= shared_->options.request_timeout)) {
        Close();
      }
      break;
    case Phase::kHandling:
      // A slow handler or a silent stream is not closed, but a peer that does not read is.
      if (writes && still >= shared_->options.idle_timeout) Close();
      break;
    case Phase::kLingering:
      if (still >= kLingerTime) Close();
      break;
  }
}

std::shared_ptr<Http1ServerConnection> Http1ServerConnection::Self() {
  return std::static_pointer_cast<Http1ServerConnection>(shared_from_this());
}

void Http1ServerConnection::Break(const std::shared_ptr<ServerReply>&) { Close(); }

void Http1ServerConnection::Flush(const std::shared_ptr<ServerReply>&) {
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

void Http1ServerConnection::Close(bool calls_back) {
  if (is_closed_) return;
  is_closed_ = true;
  const auto self = Self();
  ReleaseReply(calls_back);
  channel_.reset();
  out_.clear();
  shared_->connection_count.fetch_sub(1);
  shard_.connections.erase(self);
}

bool Http1ServerConnection::IsSilent() const {
  return phase_ == Phase::kHandshake || (phase_ == Phase::kReading && !parser_.has_started());
}

void Http1ServerConnection::EndIfSlow(SteadyTime now) {
  if (now - last_progress_ < shared_->options.slow_request_time) return;
  bool holds_room = phase_ == Phase::kReading && received_.bytes() > 0;
  if (phase_ == Phase::kHandling) {
    const std::lock_guard lock(reply_->mutex);
    holds_room = reply_->held.has_value();
  }
  if (holds_room) Close();
}

void Http1ServerConnection::StartParser() {
  buffer_.Trim();
  parser_.Start({shared_->options.header_bytes_max, shared_->options.request_body_bytes_max});
  has_sent_continue_ = false;
}

void Http1ServerConnection::HandshakeStep() {
  const auto again = [self = Self()](const error_code&) {
    if (!self->is_closed_) self->HandshakeStep();
  };
  if (!has_begun_) {
    // The first bytes are looked at before TLS takes them, so it must not be asked before they are there.
    const int socket = channel_->socket().native_handle();
    char begin[5];
    const ssize_t size = recv(socket, begin, sizeof begin, MSG_PEEK | MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return channel_->socket().async_wait(Wait::wait_read, again);
    has_begun_ = true;
    if (size > 0 && IsPlainHttp({begin, static_cast<std::size_t>(size)})) {
      AnswerPlainHttp(socket);
      return Close();
    }
  }
  const auto step = channel_->Handshake();
  switch (step.outcome) {
    case Channel::Outcome::kDone: OnHandshake(); break;
    case Channel::Outcome::kWantRead: channel_->socket().async_wait(Wait::wait_read, again); break;
    case Channel::Outcome::kWantWrite: channel_->socket().async_wait(Wait::wait_write, again); break;
    case Channel::Outcome::kEof:
    case Channel::Outcome::kFailed: Close(); break;
  }
}

void Http1ServerConnection::OnHandshake() {
  phase_ = Phase::kReading;
  Touch();
  if (auto shown = channel_->PeerCertificates(); !shown.empty()) {
    peer_certificates_ = std::make_shared<const std::vector<std::string>>(std::move(shown));
  }
  if (channel_->is_http2()) {
    HandOver();
  } else if (shared_->connection_count.load() > shared_->options.connections_max) {
    Refuse(503, "too many connections");
  } else {
    ReadSome();
  }
}

void Http1ServerConnection::HandOver() {
  is_closed_ = true;
  const auto next =
      std::make_shared<Http2ServerConnection>(shared_, shard_, std::move(channel_), std::move(peer_certificates_));
  shard_.connections.erase(Self());
  shard_.connections.insert(next);
  next->Start();
}

void Http1ServerConnection::ArmRead() {
  if (is_read_armed_ || is_closed_ || has_peer_ended_) return;
  is_read_armed_ = true;
  channel_->socket().async_wait(Wait::wait_read, [self = Self()](const error_code&) {
    self->is_read_armed_ = false;
    if (!self->is_closed_) self->ReadSome();
  });
}

void Http1ServerConnection::ArmWrite() {
  if (is_write_armed_ || is_closed_) return;
  is_write_armed_ = true;
  channel_->socket().async_wait(Wait::wait_write, [self = Self()](const error_code&) {
    self->is_write_armed_ = false;
    if (self->is_closed_) return;
    self->WriteSome();
    if (!self->is_closed_ && self->channel_->is_tls()) self->ReadSome();  // the reader may have been waiting for it
  });
}

void Http1ServerConnection::ReadSome() {
  const auto self = Self();
  for (int turn = 0; turn < kServerReadsPerTurn; ++turn) {
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
        if (channel_->is_tls() && !out_.empty()) WriteSome();  // the writer may have been waiting for it
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

// The peer has ended its side. It may still wait for an answer to its request, but not for a stream. A handler that
// wants to know when the peer goes is told so now, as Go's server does it: most peers that end their side have gone.
void Http1ServerConnection::OnPeerEnded() {
  has_peer_ended_ = true;
  if (phase_ == Phase::kReading) {
    Process();  // handles pipelined requests, and closes when there are none
    return;
  }
  if (phase_ != Phase::kHandling) {
    Close();
    return;
  }
  bool is_streaming = false;
  bool is_asked = false;
  {
    const std::lock_guard lock(reply_->mutex);
    is_streaming = reply_->state == ServerReply::State::kStreaming;
    is_asked = reply_->on_closed != nullptr;
  }
  if (is_streaming || is_asked) Close();
}

// Parses and handles what is in the buffer, one request after the other.
void Http1ServerConnection::Process() {
  if (is_processing_) return;  // called for an answer inside the handler: the loop below goes on with the next request
  is_processing_ = true;
  while (!is_closed_ && phase_ == Phase::kReading && !buffer_.unread().empty()) {
    if (!parser_.has_started()) Touch();  // request_timeout runs from a request's first byte to its last
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
  if (!is_closed_ && phase_ == Phase::kReading && has_peer_ended_) Linger();  // the rest of this request will not come
  if (!is_closed_ && phase_ == Phase::kLingering) {
    lingered_bytes_ += buffer_.unread().size();
    buffer_.Consume(buffer_.unread().size());
    buffer_.Trim();
  }
  is_processing_ = false;
}

bool Http1ServerConnection::KeepsToBudget() {
  const std::size_t held = parser_.body().capacity() + buffer_.capacity();
  const std::size_t each = shared_->options.request_bytes_each;
  if (received_.Set(held > each ? held - each : 0)) return true;
  SweepSlow(shared_);
  Refuse(429, kTooManyLargeRequests);
  return false;
}

void Http1ServerConnection::RefuseMalformed(HttpParser::Outcome outcome) {
  switch (outcome) {
    case HttpParser::Outcome::kHeaderTooLarge: Refuse(431, shared_->TooLongText(431)); break;
    case HttpParser::Outcome::kBodyTooLarge: Refuse(413, shared_->TooLongText(413)); break;
    default: Refuse(400, "not an HTTP/1.1 request: " + parser_.problem()); break;
  }
}

void Http1ServerConnection::AnswerExpectation() {
  if (parser_.has_unknown_expect()) {
    Refuse(417, "Expect: only 100-continue is understood");
  } else if (parser_.expects_continue() && !parser_.is_http_1_0() && !std::exchange(has_sent_continue_, true)) {
    out_.emplace_back("HTTP/1.1 100 Continue\r\n\r\n");
    WriteSome();
  }
}

// Answers without a handler, and ends the connection, since it is unknown where the next request would begin.
void Http1ServerConnection::Refuse(int status, std::string_view message) {
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

void Http1ServerConnection::Handle() {
  phase_ = Phase::kHandling;
  Touch();
  reply_ = std::make_shared<ServerReply>();
  reply_->is_head_request = parser_.request().method == "HEAD";
  reply_->is_http_1_0 = parser_.is_http_1_0();
  reply_->keeps_alive = parser_.keep_alive();
  reply_->connection = Self();
  reply_->peer_certificates = peer_certificates_;
  Request request = std::move(parser_.request());
  request.body = std::move(parser_.body());
  (void)received_.Set(0);  // less is always granted
  shared_->handler(std::move(request), MakeResponseWriter(shared_, reply_));
}

bool Http1ServerConnection::ReadFrames() {
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
    // A peer that sends pings and does not read gets a limited number of answers.
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

// Ends a WebSocket that the peer closes or that broke the protocol. Frames that were fetched go before the close frame.
void Http1ServerConnection::EndWebSocket(std::uint16_t code) {
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
void Http1ServerConnection::OnReplySent(bool closes) {
  ReleaseReply(true);
  if (is_closed_) return;  // the handler's on_closed may have closed it
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
  // Whoever answers may hold locks that the handler of the next request takes, so that handler starts from the loop.
  boost::asio::post(loop().io, [self = Self()] {
    if (self->is_closed_) return;
    self->Process();
    if (!self->is_closed_ && !self->has_peer_ended_) self->ReadSome();
  });
}

// Ends our side and waits a little for the peer to end its own: closing at once would reset the connection while
// bytes of the peer are under way, and with it the answer that it has not read yet.
void Http1ServerConnection::Linger() {
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

void Http1ServerConnection::WriteSome() {
  const auto self = Self();
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

// Detaches the writer from the connection, and calls its on_closed.
void Http1ServerConnection::ReleaseReply(bool calls_back) {
  if (const auto reply = std::exchange(reply_, nullptr); reply != nullptr) (void)EndReply(reply, calls_back);
}

}  // namespace berth::net
