// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/client_stream.h"

#include <boost/asio/post.hpp>

#include "berth/shell/net/channel.h"

namespace berth::net {
namespace {

using boost::system::error_code;
using Wait = Channel::Socket::wait_type;

// The body of a refused stream is a Status object, which is never longer.
constexpr std::size_t kRefusalBodyBytesMax = std::size_t{1} << 20;

}  // namespace

ClientStream::ClientStream(Loop& loop, std::shared_ptr<const ClientSettings> settings, Request request,
                           StreamOptions options, StreamCallbacks callbacks, Forget forget)
    : loop_(loop),
      settings_(std::move(settings)),
      options_(options),
      forget_(std::move(forget)),
      gate_(std::move(callbacks)),
      request_(std::move(request)),
      parser_(HttpParser::Kind::kResponse) {}

bool ClientStream::Begin() {
  if (gate_.IsShut()) return false;
  has_begun_ = true;
  if (const auto checked = CheckRequest(request_); !checked.ok()) {
    End(checked.error());
    return false;
  }
  timer_.emplace(loop_.io);
  last_byte_ = std::chrono::steady_clock::now();
  ArmTimer(last_byte_ + options_.head_timeout);
  return true;
}

void ClientStream::StartOn(const std::shared_ptr<Http2Connection>& connection) {
  if (is_closed_) return;
  http2_id_ = connection->Submit(request_, request_.body, *this);
  if (http2_id_ == 0) return End(Unavailable(where() + ": the connection takes no further requests", false));
  http2_ = connection;
}

void ClientStream::OnHttp2Head(Response&& head) {
  last_byte_ = std::chrono::steady_clock::now();
  // A new client certificate needs a new connection.
  if (head.status == 401 && http2_ && settings_->HasClientCertificate()) http2_->Retire();
  if (head.status < 200 || head.status > 299) {
    refusal_ = std::move(head);
  } else {
    DeliverHead(head);
  }
}

void ClientStream::OnHttp2Body(std::string_view bytes) {
  if (is_head_delivered_) {
    last_byte_ = std::chrono::steady_clock::now();
    DeliverBytes(bytes);
    return;
  }
  refusal_.body.append(bytes.substr(0, kRefusalBodyBytesMax - refusal_.body.size()));
  if (refusal_.body.size() == kRefusalBodyBytesMax) {
    DeliverRefusal(std::move(refusal_), std::exchange(refusal_.body, {}));
  }
}

void ClientStream::OnHttp2End(const Http2End& end) {
  const auto self = shared_from_this();
  http2_id_ = 0;
  if (end.how == Http2End::How::kTooLarge) {
    End(Error{ErrorCode::kTooLarge, where() + ": " + end.reason, true});
  } else if (end.how != Http2End::How::kComplete) {
    has_http2_answer_begun_ = refusal_.status != 0;
    written_ = end.was_sent ? 1 : 0;
    OnBroken(end.reason);
  } else if (is_head_delivered_) {
    End({});
  } else {
    DeliverRefusal(std::move(refusal_), std::exchange(refusal_.body, {}));
  }
}

void ClientStream::Dial() {
  if (is_closed_) return;
  wire_ = SerializeRequest(*settings_, request_);
  parser_.Start({kAnswerHeaderBytesMax, HttpParser::kUnlimited});
  link_ = std::make_shared<Link>(loop_, settings_->link, false);
  link_->Dial([self = shared_from_this()](Expected<void> result) {
    if (self->is_closed_) return;
    if (!result.ok()) {
      self->End(result.error());
      return;
    }
    self->WriteSome();
    if (!self->is_closed_) self->ArmRead();
  });
}

void ClientStream::Cancel() {
  // The client shuts its streams before it is destroyed, so the loop exists while this one is being shut.
  gate_.Shut([this] { boost::asio::post(loop_.io, [self = shared_from_this()] { self->Close(); }); });
}

void ClientStream::Abandon(bool is_loop_stopped) {
  if (is_loop_stopped) {
    gate_.Shut();
    Close();
  } else {
    End(Error{ErrorCode::kCancelled, where() + ": cancelled: the client was closed", has_begun_});
  }
}

void ClientStream::End(Expected<void> result) {
  const auto self = shared_from_this();
  gate_.CallLast([&](StreamCallbacks& callbacks) {
    if (callbacks.on_end) callbacks.on_end(std::move(result));
  });
  Close();
}

void ClientStream::Close() {
  if (is_closed_) return;
  const auto self = shared_from_this();
  is_closed_ = true;
  timer_.reset();
  if (link_) link_->Close();
  link_.reset();
  if (http2_ && http2_id_ != 0) http2_->Reset(http2_id_);
  http2_.reset();
  forget_(self);
  gate_.Drop();
}

// One timer for the head and for silence: it is set again only when it fires, not with every byte.
void ClientStream::ArmTimer(SteadyTime when) {
  timer_->expires_at(when);
  timer_->async_wait([self = shared_from_this()](const error_code& ec) {
    if (!ec && !self->is_closed_) self->OnTimer();
  });
}

void ClientStream::OnTimer() {
  const SteadyTime now = std::chrono::steady_clock::now();
  const auto http2 = http2_;
  if (!is_head_delivered_) {
    End(Error{ErrorCode::kTimeout, where() + ": no answer within " + FormatGoDuration(options_.head_timeout),
              written_ > 0});
  } else if (now - last_byte_ >= options_.idle_timeout) {
    End(Error{ErrorCode::kTimeout, where() + ": the stream was silent for " + FormatGoDuration(options_.idle_timeout),
              true});
  } else {
    return ArmTimer(last_byte_ + options_.idle_timeout);
  }
  if (http2) http2->Doubt(is_head_delivered_ ? options_.idle_timeout : options_.head_timeout);
}

void ClientStream::ArmRead() {
  if (is_read_armed_ || is_closed_) return;
  is_read_armed_ = true;
  link_->channel().socket().async_wait(Wait::wait_read, [self = shared_from_this()](const error_code&) {
    self->is_read_armed_ = false;
    if (!self->is_closed_) self->ReadSome();
  });
}

void ClientStream::ArmWrite() {
  if (is_write_armed_ || is_closed_) return;
  is_write_armed_ = true;
  link_->channel().socket().async_wait(Wait::wait_write, [self = shared_from_this()](const error_code&) {
    self->is_write_armed_ = false;
    if (self->is_closed_) return;
    self->WriteSome();
    if (!self->is_closed_) self->ReadSome();
  });
}

void ClientStream::WriteSome() {
  while (written_ < wire_.size()) {
    const auto step = link_->channel().Write(std::string_view(wire_).substr(written_));
    switch (step.outcome) {
      case Channel::Outcome::kDone: written_ += step.bytes; break;
      case Channel::Outcome::kWantWrite: ArmWrite(); return;
      case Channel::Outcome::kWantRead: return;
      case Channel::Outcome::kEof:
      case Channel::Outcome::kFailed: OnBroken(link_->channel().failure()); return;
    }
  }
}

void ClientStream::ReadSome() {
  const auto self = shared_from_this();
  for (int turn = 0; turn < kReadsPerTurn; ++turn) {
    const auto [room, size] = buffer_.Room();
    const auto step = link_->channel().Read(room, size);
    switch (step.outcome) {
      case Channel::Outcome::kDone:
        buffer_.Filled(step.bytes, size);
        last_byte_ = std::chrono::steady_clock::now();
        if (!Parse()) return;
        if (step.bytes == size || link_->channel().HasBufferedInput()) continue;
        ArmRead();
        return;
      case Channel::Outcome::kWantRead:
        ArmRead();
        WriteSome();
        return;
      case Channel::Outcome::kWantWrite: ArmWrite(); return;
      case Channel::Outcome::kEof:
        if (parser_.has_started() && parser_.FeedEof() == HttpParser::Outcome::kComplete) {
          Deliver(true);
        } else {
          OnBroken("");
        }
        return;
      case Channel::Outcome::kFailed: OnBroken(link_->channel().failure()); return;
    }
  }
  boost::asio::post(loop_.io, [self] {
    if (!self->is_closed_) self->ReadSome();
  });
}

bool ClientStream::Parse() {
  for (;;) {
    std::size_t consumed = 0;
    const auto outcome = parser_.Feed(buffer_.unread(), consumed);
    buffer_.Consume(consumed);
    switch (outcome) {
      case HttpParser::Outcome::kNeedMore: return Deliver(false);
      case HttpParser::Outcome::kComplete:
        if (parser_.response().status >= 200) return Deliver(true);
        if (++interim_answers_ > kInterimAnswersMax) {
          End(Error{ErrorCode::kInternal, where() + ": too many 1xx answers before the real one", true});
          return false;
        }
        parser_.Start({kAnswerHeaderBytesMax, HttpParser::kUnlimited});
        if (buffer_.unread().empty()) return true;
        continue;
      case HttpParser::Outcome::kHeaderTooLarge:
      case HttpParser::Outcome::kBodyTooLarge:
        if (!Deliver(false)) return false;  // the bytes before the fault are valid
        End(Error{ErrorCode::kTooLarge,
                  where() + ": a head or chunk line of the answer is longer than " +
                      std::to_string(kAnswerHeaderBytesMax) + " bytes",
                  true});
        return false;
      case HttpParser::Outcome::kNotHttp:
      case HttpParser::Outcome::kCutShort:
        if (!Deliver(false)) return false;
        End(Error{ErrorCode::kInternal, where() + " answered something that is not HTTP: " + parser_.problem(), true});
        return false;
    }
  }
}

// Hands out what has been parsed.
bool ClientStream::Deliver(bool is_complete) {
  if (!parser_.is_head_done() || parser_.response().status < 200) return true;
  if (IsProxyRefusal(*settings_, parser_.response())) {
    End(ProxyRefusal(*settings_));
    return false;
  }
  const bool is_refusal = !is_head_delivered_ && (parser_.response().status < 200 || parser_.response().status > 299);
  if (is_refusal) {
    if (!is_complete && parser_.body().size() <= kRefusalBodyBytesMax) return true;
    DeliverRefusal(std::move(parser_.response()), std::move(parser_.body()));
    return false;
  }
  if (!is_head_delivered_ && !DeliverHead(parser_.response())) return false;
  if (!parser_.body().empty()) {
    if (!DeliverBytes(parser_.body())) return false;
    parser_.body().clear();
  }
  if (!is_complete) return true;
  End({});
  return false;
}

bool ClientStream::DeliverHead(const Response& head) {
  const auto self = shared_from_this();
  is_head_delivered_ = true;
  const bool goes_on = gate_.Call([&](StreamCallbacks& callbacks) {
    if (callbacks.on_head) callbacks.on_head(head);
  });
  if (goes_on) ArmTimer(last_byte_ + options_.idle_timeout);
  return goes_on;
}

bool ClientStream::DeliverBytes(std::string_view bytes) {
  const auto self = shared_from_this();
  const bool goes_on = gate_.Call([&](StreamCallbacks& callbacks) {
    if (callbacks.on_bytes) callbacks.on_bytes(bytes);
  });
  last_byte_ = std::chrono::steady_clock::now();  // silence while the callback ran does not count
  return goes_on;
}

void ClientStream::DeliverRefusal(Response&& head, std::string&& body) {
  const auto self = shared_from_this();
  head.body = std::move(body);
  if (head.body.size() > kRefusalBodyBytesMax) head.body.resize(kRefusalBodyBytesMax);
  is_head_delivered_ = true;
  const bool goes_on = gate_.Call([&](StreamCallbacks& callbacks) {
    if (callbacks.on_head) callbacks.on_head(head);
  });
  if (goes_on) End({});
}

void ClientStream::OnBroken(const std::string& reason) {
  const std::string detail = reason.empty() ? "" : ": " + reason;
  if (is_head_delivered_) {
    End(Unavailable(where() + ": the stream was cut short" + detail, true));
  } else if (has_http2_answer_begun_ || parser_.has_started()) {
    End(Unavailable(where() + ": the answer was cut short" + detail, true));
  } else {
    End(Unavailable(where() + (reason.empty() ? ": the connection was closed before an answer came" : detail),
                    written_ > 0));
  }
}

}  // namespace berth::net
