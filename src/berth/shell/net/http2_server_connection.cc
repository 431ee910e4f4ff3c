// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http2_server_connection.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>

#include "berth/shell/net/server_reply.h"

// Requests are handled after the session has been fed, and writers hear of a stream's end after it has been asked for
// output: no code of others runs inside nghttp2. Writers are the only part that other threads touch, as over HTTP/1.1.

namespace berth::net {
namespace {

using boost::system::error_code;
using Wait = Channel::Socket::wait_type;
using Code = Http2ServerSession::Code;
using Event = Http2ServerSession::Event;

constexpr std::size_t kReadBytes = std::size_t{16} << 10;
// The most bytes that are made before the socket takes them: one TLS record, so that they need one write.
constexpr std::size_t kWriteBytes = std::size_t{16} << 10;
// A peer may reset streams whose handlers still run, and its further requests are then refused. After this many
// refusals in a row for each stream that it may have, the connection ends, as in golang.org/x/net/http2.
constexpr std::uint32_t kRefusedFactor = 4;

std::size_t BytesOf(const Request& request) {
  std::size_t bytes = request.method.size() + request.target.size() + request.body.capacity();
  for (const Header& header : request.headers) bytes += sizeof(Header) + header.name.size() + header.value.size();
  return bytes;
}

}  // namespace

Http2ServerConnection::Http2ServerConnection(std::shared_ptr<ServerShared> shared, ServerShared::Shard& shard,
                                             std::unique_ptr<Channel> channel,
                                             std::shared_ptr<const std::vector<std::string>> peer_certificates)
    : shared_(std::move(shared)),
      shard_(shard),
      channel_(std::move(channel)),
      peer_certificates_(std::move(peer_certificates)),
      session_(
          {shared_->options.header_bytes_max, shared_->options.request_body_bytes_max, shared_->options.streams_max},
          [this](std::int32_t id, char* room, std::size_t size) { return ReadBody(id, room, size); }),
      received_(shared_->requests),
      small_answers_(kSmallAnswerBytesMax),
      idle_since_(std::chrono::steady_clock::now()),
      last_progress_(idle_since_) {}

void Http2ServerConnection::Start() {
  is_over_limit_ = shared_->connection_count.load() > shared_->options.connections_max;
  WriteSome();
  if (!is_closed_) ReadSome();
}

std::shared_ptr<Http2ServerConnection> Http2ServerConnection::Self() {
  return std::static_pointer_cast<Http2ServerConnection>(shared_from_this());
}

void Http2ServerConnection::CheckTime(SteadyTime now) {
  const HttpServerOptions& options = shared_->options;
  const auto has_passed = [now](SteadyTime since, Duration time) { return now - since >= time; };
  if (phase_ == Phase::kLingering) {
    if (has_passed(last_progress_, kLingerTime)) Close(true);
    return;
  }
  if (written_ < out_.size() && has_passed(last_progress_, options.idle_timeout)) return Drop(true);
  std::vector<std::int32_t> late;
  for (const auto& request : session_.receiving()) {
    if (!has_passed(request.begun, options.request_timeout)) continue;
    // A head that is not complete blocks all other streams.
    if (!request.has_head) return Drop(true);
    late.push_back(request.stream);
  }
  // A slow handler or a silent stream is not closed, but a peer that does not read is.
  for (const auto& [id, stream] : streams_) {
    if (stream.has_unsent && has_passed(stream.last_progress, options.idle_timeout)) late.push_back(id);
  }
  ResetStreams(late, Code::kCancel);
  const bool is_guest = session_.has_begun() && !is_over_limit_;
  const Duration idle_max = is_guest ? options.idle_timeout : std::min(kGreetingTime, options.idle_timeout);
  if (session_.open() == 0 && has_passed(idle_since_, idle_max)) session_.GoAway();
  WriteSome();
}

void Http2ServerConnection::Flush(const std::shared_ptr<ServerReply>& reply) {
  const std::int32_t id = reply->http2_stream;
  const auto found = streams_.find(id);
  if (is_closed_ || found == streams_.end() || found->second.reply != reply) return;
  Stream& stream = found->second;
  std::optional<Response> head;
  std::optional<std::size_t> length;
  bool has_body = false;
  bool closes = false;
  bool has_unsent = false;
  {
    const std::lock_guard lock(reply->mutex);
    reply->is_flush_posted = false;
    if (reply->state == ServerReply::State::kGone) return;  // Break() is called next
    head = std::exchange(reply->head, std::nullopt);
    length = reply->length;
    has_unsent = !reply->pieces.empty();
    has_body = reply->has_body && (has_unsent || reply->state == ServerReply::State::kStreaming);
    closes = reply->closes;
  }
  if (has_unsent && !std::exchange(stream.has_unsent, true)) stream.last_progress = std::chrono::steady_clock::now();
  if (head) {
    stream.request_bytes = 0;
    session_.Answer(id, *head, length, has_body);
    if (closes) session_.GoAway();
  } else {
    session_.Resume(id);
  }
  PostWrite();
}

void Http2ServerConnection::Break(const std::shared_ptr<ServerReply>& reply) {
  const auto found = streams_.find(reply->http2_stream);
  if (is_closed_ || found == streams_.end() || found->second.reply != reply) return;
  ResetStreams({reply->http2_stream}, Code::kInternal);
  PostWrite();
}

void Http2ServerConnection::EndIfSlow(SteadyTime now) {
  if (is_closed_ || phase_ != Phase::kOpen) return;
  const auto is_slow = [&](SteadyTime since) { return now - since >= shared_->options.slow_request_time; };
  std::vector<std::int32_t> slow;
  if (received_.bytes() > 0) {
    for (const auto& request : session_.receiving()) {
      if (is_slow(request.begun)) slow.push_back(request.stream);
    }
  }
  for (const auto& [id, stream] : streams_) {
    if (!stream.has_unsent || !is_slow(stream.last_progress)) continue;
    const std::lock_guard lock(stream.reply->mutex);
    if (stream.reply->held) slow.push_back(id);
  }
  if (slow.empty()) return;
  ResetStreams(slow, Code::kEnhanceYourCalm);
  if (!is_closed_) (void)KeepsToBudget();  // gives the share of the budget back
  WriteSome();
}

void Http2ServerConnection::Close(bool calls_back) {
  if (is_closed_) return;
  if (phase_ == Phase::kOpen && calls_back) {  // otherwise the loop has ended
    session_.GoAway();
    (void)Drain();  // the socket may not take the bytes
  }
  Drop(calls_back);
}

bool Http2ServerConnection::IsSilent() const { return phase_ == Phase::kOpen && session_.open() == 0; }

void Http2ServerConnection::ArmRead() {
  if (is_read_armed_ || is_closed_) return;
  is_read_armed_ = true;
  channel_->socket().async_wait(Wait::wait_read, [self = Self()](const error_code&) {
    self->is_read_armed_ = false;
    if (!self->is_closed_) self->ReadSome();
  });
}

void Http2ServerConnection::ArmWrite() {
  if (is_write_armed_ || is_closed_) return;
  is_write_armed_ = true;
  channel_->socket().async_wait(Wait::wait_write, [self = Self()](const error_code&) {
    self->is_write_armed_ = false;
    self->WriteSome();
    if (!self->is_closed_) self->ReadSome();  // the reader may have been waiting for it
  });
}

void Http2ServerConnection::ReadSome() {
  const auto self = Self();
  for (int turn = 0; turn < kServerReadsPerTurn; ++turn) {
    char bytes[kReadBytes];
    const auto step = channel_->Read(bytes, sizeof bytes);
    switch (step.outcome) {
      case Channel::Outcome::kDone:
        OnBytes({bytes, step.bytes});
        if (is_closed_) return;
        if (step.bytes == sizeof bytes || channel_->HasBufferedInput()) continue;
        return ArmRead();
      case Channel::Outcome::kWantRead:
        ArmRead();
        if (written_ < out_.size()) WriteSome();  // the writer may have been waiting for it
        return;
      case Channel::Outcome::kWantWrite: return ArmWrite();
      case Channel::Outcome::kEof:
      case Channel::Outcome::kFailed: return Drop(true);
    }
  }
  boost::asio::post(loop().io, [self] {
    if (!self->is_closed_) self->ReadSome();
  });
}

void Http2ServerConnection::OnBytes(std::string_view bytes) {
  if (phase_ == Phase::kLingering) {
    lingered_bytes_ += bytes.size();
    if (lingered_bytes_ > kLingerBytesMax) Drop(true);
    return;
  }
  if (!session_.Feed(bytes, std::chrono::steady_clock::now())) return Drop(true);
  is_reading_ = true;
  HandleEvents();
  while (!is_closed_ && !KeepsToBudget()) RefuseLastFed();
  is_reading_ = false;
  WriteSome();
}

void Http2ServerConnection::HandleEvents() {
  for (Event& event : session_.TakeEvents()) {
    if (is_closed_) return;  // a handler may have closed it
    switch (event.kind) {
      case Event::Kind::kRequest: Handle(event.stream, std::move(event.request)); break;
      case Event::Kind::kRefused:
        Refuse(event.stream, event.status,
               event.problem.empty() ? shared_->TooLongText(event.status) : std::move(event.problem));
        break;
      case Event::Kind::kClosed: EndStream(event.stream); break;
    }
  }
}

void Http2ServerConnection::Handle(std::int32_t id, Request request) {
  if (is_over_limit_) {
    Refuse(id, 503, "too many connections");
    session_.GoAway();
    return;
  }
  std::erase_if(abandoned_, [](const auto& reply) { return reply.expired(); });
  const std::uint32_t streams_max = shared_->options.streams_max;
  if (abandoned_.size() >= streams_max) {
    if (++refused_in_a_row_ > kRefusedFactor * streams_max) session_.Terminate(Code::kEnhanceYourCalm);
    return session_.Reset(id, Code::kRefusedStream);
  }
  refused_in_a_row_ = 0;
  Stream& stream = AddStream(id);
  stream.request_bytes = BytesOf(request);
  if (!KeepsToBudget()) {
    streams_.erase(id);
    return Refuse(id, 429, kTooManyLargeRequests);
  }
  const auto reply = stream.reply;
  reply->is_head_request = request.method == "HEAD";
  reply->peer_certificates = peer_certificates_;
  shared_->handler(std::move(request), MakeResponseWriter(shared_, reply));
}

Http2ServerConnection::Stream& Http2ServerConnection::AddStream(std::int32_t id) {
  Stream& stream = streams_[id];
  stream.reply = std::make_shared<ServerReply>();
  stream.reply->http2_stream = id;
  stream.reply->small_answers = &small_answers_;
  stream.reply->connection = Self();
  stream.last_progress = std::chrono::steady_clock::now();
  return stream;
}

// Answers without a handler; the rest of the request is not wanted.
void Http2ServerConnection::Refuse(std::int32_t id, int status, std::string_view message) {
  session_.Refuse(id);
  Response response = shared_->Malformed(status, message);
  if (status == 429 && response.Get("Retry-After").empty()) response.headers.push_back({"Retry-After", "1"});
  const auto reply = AddStream(id).reply;
  {
    const std::lock_guard lock(reply->mutex);
    reply->state = ServerReply::State::kEnded;
    reply->length = response.body.size();
    reply->unsent_bytes = response.body.size();
    reply->pieces.push_back(std::exchange(response.body, {}));
    reply->head = std::move(response);
  }
  Flush(reply);
}

void Http2ServerConnection::EndStream(std::int32_t id) {
  if (const auto node = streams_.extract(id); !node.empty()) {
    const auto& reply = node.mapped().reply;
    if (!EndReply(reply, true)) abandoned_.push_back(reply);
  }
  if (session_.open() == 0) idle_since_ = std::chrono::steady_clock::now();
}

void Http2ServerConnection::ResetStreams(const std::vector<std::int32_t>& ids, Code code) {
  for (const std::int32_t id : ids) {
    if (is_closed_) return;  // a handler's on_closed may have closed it
    session_.Reset(id, code);
    EndStream(id);
  }
}

bool Http2ServerConnection::KeepsToBudget() {
  std::size_t held = 0;
  for (const auto& request : session_.receiving()) held += request.bytes;
  for (const auto& [id, stream] : streams_) held += stream.request_bytes;
  const std::size_t each = shared_->options.request_bytes_each;
  if (received_.Set(held > each ? held - each : 0)) return true;
  SweepSlow(shared_);
  return false;
}

// Refuses the request among those being received that got bytes last. Requests that wait for their answers had room.
void Http2ServerConnection::RefuseLastFed() {
  const auto receiving = session_.receiving();
  const auto last = std::max_element(receiving.begin(), receiving.end(),
                                     [](const auto& a, const auto& b) { return a.last_fed < b.last_fed; });
  BERTH_CHECK(last != receiving.end(), "what is given back is always granted");
  Refuse(last->stream, 429, kTooManyLargeRequests);
}

Http2ServerSession::Part Http2ServerConnection::ReadBody(std::int32_t id, char* room, std::size_t size) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return {};  // the stream is being reset
  Stream& stream = found->second;
  ServerReply& reply = *stream.reply;
  Http2ServerSession::Part part;
  const std::lock_guard lock(reply.mutex);
  while (part.bytes < size && !reply.pieces.empty()) {
    const std::string& piece = reply.pieces.front();
    const std::size_t taken = piece.copy(room + part.bytes, size - part.bytes, reply.taken_bytes);
    part.bytes += taken;
    reply.taken_bytes += taken;
    if (reply.taken_bytes < piece.size()) break;
    reply.pieces.pop_front();
    reply.taken_bytes = 0;
  }
  reply.unsent_bytes -= part.bytes;
  part.is_last = reply.pieces.empty() && reply.state == ServerReply::State::kEnded;
  stream.has_unsent = !reply.pieces.empty();
  if (part.bytes > 0) stream.last_progress = std::chrono::steady_clock::now();
  return part;
}

// Whoever answers may hold locks that the on_closed of another stream takes, so writing happens from the loop.
void Http2ServerConnection::PostWrite() {
  if (is_reading_ || std::exchange(is_write_posted_, true)) return;
  loop().AtTurnEnd([self = Self()] {
    self->is_write_posted_ = false;
    self->WriteSome();
  });
}

void Http2ServerConnection::WriteSome() {
  const auto self = Self();
  if (is_closed_) return;
  const bool is_drained = Drain();
  HandleEvents();
  if (is_closed_ || phase_ == Phase::kLingering || !session_.is_dead()) return;
  if (!session_.problem().empty()) return Drop(true);
  if (is_drained) Linger();
}

bool Http2ServerConnection::Drain() {
  for (;;) {
    if (written_ == out_.size()) {
      out_.clear();
      written_ = 0;
      session_.Take(out_, kWriteBytes);
      if (out_.empty()) return true;
    }
    const auto step = channel_->Write(std::string_view(out_).substr(written_));
    switch (step.outcome) {
      case Channel::Outcome::kDone:
        written_ += step.bytes;
        last_progress_ = std::chrono::steady_clock::now();
        break;
      case Channel::Outcome::kWantWrite: ArmWrite(); return false;
      case Channel::Outcome::kWantRead: ArmRead(); return false;
      case Channel::Outcome::kEof:
      case Channel::Outcome::kFailed: boost::asio::post(loop().io, [self = Self()] { self->Drop(true); }); return false;
    }
  }
}

// Ends our side and waits a little for the peer to end its own, as over HTTP/1.1, so that the peer can read our last
// frames.
void Http2ServerConnection::Linger() {
  phase_ = Phase::kLingering;
  last_progress_ = std::chrono::steady_clock::now();
  EndReplies(true);
  if (is_closed_) return;
  channel_->ShutdownWrite();
  ArmRead();
}

void Http2ServerConnection::Drop(bool calls_back) {
  if (is_closed_) return;
  is_closed_ = true;
  const auto self = Self();
  EndReplies(calls_back);
  channel_.reset();
  out_.clear();
  (void)received_.Set(0);  // less is always granted
  shared_->connection_count.fetch_sub(1);
  shard_.connections.erase(self);
}

void Http2ServerConnection::EndReplies(bool calls_back) {
  const auto streams = std::exchange(streams_, {});
  for (const auto& [id, stream] : streams) (void)EndReply(stream.reply, calls_back);
}

}  // namespace berth::net
