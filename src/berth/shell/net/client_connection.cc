// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/client_connection.h"

#include <boost/asio/post.hpp>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/client_pool.h"
#include "berth/shell/net/client_settings.h"
#include "berth/shell/net/write_fence.h"

namespace berth::net {
namespace {

using boost::system::error_code;
using Wait = Channel::Socket::wait_type;

}  // namespace

bool ClientConnection::is_http2() { return link_->channel().is_http2() || pool_->settings().IsHttp2WithoutTls(); }

ClientConnection::ClientConnection(std::shared_ptr<ClientPool> pool)
    : pool_(std::move(pool)),
      link_(std::make_shared<Link>(pool_->loop(), pool_->settings().link, true)),
      parser_(HttpParser::Kind::kResponse) {}

void ClientConnection::Connect() {
  link_->Dial([self = shared_from_this()](Expected<void> result) {
    if (self->is_closed_) return;
    if (!result.ok()) {
      const auto pool = self->pool_;
      pool->OnConnectFailed(self, result.error());
      return;
    }
    if (!self->is_http2()) self->ArmRead();
    self->pool_->OnConnected(self);
  });
}

void ClientConnection::Begin(ExchangeList::iterator exchange) {
  exchange_ = exchange;
  exchange->attempts++;
  if (exchange->wire.empty()) exchange->wire = SerializeRequest(pool_->settings(), exchange->request);
  written_ = 0;
  has_write_failed_ = false;
  has_answer_begun_ = false;
  interim_answers_ = 0;
  StartParser();
  WriteSome();
}

void ClientConnection::Close() {
  if (is_closed_) return;
  is_closed_ = true;
  link_->Close();
}

void ClientConnection::StartParser() {
  parser_.Start({kAnswerHeaderBytesMax, (*exchange_)->body_bytes_max}, (*exchange_)->is_head);
}

void ClientConnection::ArmRead() {
  if (is_read_armed_ || is_closed_) return;
  is_read_armed_ = true;
  link_->channel().socket().async_wait(Wait::wait_read, [self = shared_from_this()](const error_code&) {
    self->is_read_armed_ = false;
    if (!self->is_closed_) self->ReadSome();
  });
}

void ClientConnection::ArmWrite() {
  if (is_write_armed_ || is_closed_) return;
  is_write_armed_ = true;
  link_->channel().socket().async_wait(Wait::wait_write, [self = shared_from_this()](const error_code&) {
    self->is_write_armed_ = false;
    if (!self->is_closed_) self->OnWritable();
  });
}

void ClientConnection::OnWritable() {
  if (is_busy() && written_ < (*exchange_)->wire.size()) {
    WriteSome();
  } else {
    ReadSome();  // TLS had to write before it could read
  }
}

void ClientConnection::WriteSome() {
  const std::string& wire = (*exchange_)->wire;
  const WriteFence* const fence = (*exchange_)->request.fence.get();
  while (written_ < wire.size() && !has_write_failed_) {
    if (fence != nullptr && !fence->IsOpen()) return BreakOff();
    const auto step = link_->channel().Write(std::string_view(wire).substr(written_));
    switch (step.outcome) {
      case Channel::Outcome::kDone: written_ += step.bytes; break;
      case Channel::Outcome::kWantWrite: ArmWrite(); return;
      case Channel::Outcome::kWantRead: return;  // a read is always armed, and its handler goes on with the write
      case Channel::Outcome::kEof:
      case Channel::Outcome::kFailed:
        // The peer may have answered before it closed (413, 401). The answer is read later, not from inside Begin().
        has_write_failed_ = true;
        boost::asio::post(pool_->loop().io, [self = shared_from_this()] {
          if (!self->is_closed_ && self->is_busy()) self->ReadSome();
        });
        return;
    }
  }
}

// The fence of the request has closed in the middle: the rest is not sent, so the server got no complete request. The
// connection fails later, not from inside Begin().
void ClientConnection::BreakOff() {
  has_write_failed_ = true;
  boost::asio::post(pool_->loop().io, [self = shared_from_this()] {
    if (!self->is_closed_ && self->is_busy()) self->FailWith(FencedError(self->where(), self->written_ > 0));
  });
}

void ClientConnection::ReadSome() {
  const auto self = shared_from_this();
  for (int turn = 0; turn < kReadsPerTurn; ++turn) {
    const auto [room, size] = buffer_.Room();
    const auto step = link_->channel().Read(room, size);
    switch (step.outcome) {
      case Channel::Outcome::kDone: {
        buffer_.Filled(step.bytes, size);
        if (!is_busy()) {
          Discard();  // nobody asked for it, and later answers could not be distinguished from it
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
  boost::asio::post(pool_->loop().io, [self] {
    if (!self->is_closed_) self->ReadSome();
  });
}

// Parses the answer. False when the exchange has ended or failed.
bool ClientConnection::Parse() {
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
        FailWith(
            {ErrorCode::kTooLarge,
             where() + ": the answer's body is longer than " + std::to_string((*exchange_)->body_bytes_max) + " bytes",
             true});
        return false;
      case HttpParser::Outcome::kHeaderTooLarge:
        FailWith({ErrorCode::kTooLarge,
                  where() + ": the answer's head is longer than " + std::to_string(kAnswerHeaderBytesMax) + " bytes",
                  true});
        return false;
      case HttpParser::Outcome::kNotHttp:
      case HttpParser::Outcome::kCutShort:
        FailWith({ErrorCode::kInternal, where() + " answered something that is not HTTP: " + parser_.problem(), true});
        return false;
    }
  }
}

void ClientConnection::OnEof() {
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

void ClientConnection::Finish() {
  if (IsProxyRefusal(pool_->settings(), parser_.response())) return FailWith(ProxyRefusal(pool_->settings()));
  Response response = std::move(parser_.response());
  response.body = std::move(parser_.body());
  // A new client certificate needs a new connection.
  const bool is_refused = pool_->settings().HasClientCertificate() && (*exchange_)->IsCertificateRefused(response);
  const bool is_reusable = parser_.keep_alive() && !is_refused && buffer_.unread().empty() && !has_write_failed_ &&
                           written_ == (*exchange_)->wire.size();
  const auto self = shared_from_this();
  const auto exchange = TakeExchange();
  has_served_ = true;
  pool_->Complete(pool_->in_flight(), exchange, std::move(response));
  if (is_reusable) {
    ArmRead();
    pool_->GiveBack(self);
  } else {
    Discard();
  }
}

// The connection broke during an exchange; `reason` is empty when the peer closed it.
void ClientConnection::Fail(const std::string& reason) {
  if (has_answer_begun_) {
    FailWith(Unavailable(where() + ": the answer was cut short" + (reason.empty() ? "" : ": " + reason), true));
    return;
  }
  // A request of which nothing was sent is safe to send again, and so is one that may be repeated. That is done only if
  // the connection has served before: it was a stale kept-alive connection then.
  const bool is_safe = written_ == 0 || (*exchange_)->is_repeatable;
  if (has_served_ && is_safe && (*exchange_)->attempts < kAttemptsMax) {
    const auto pool = pool_;
    const auto exchange = TakeExchange();
    Close();
    pool->Forget(shared_from_this());
    pool->Again(exchange);
    return;
  }
  FailWith(Unavailable(where() + (reason.empty() ? ": the connection was closed before an answer came" : ": " + reason),
                       written_ > 0));
}

void ClientConnection::FailWith(Error error) {
  const auto exchange = TakeExchange();
  pool_->Complete(pool_->in_flight(), exchange, std::move(error));
  Discard();
}

void ClientConnection::Discard() {
  const auto self = shared_from_this();
  Close();
  pool_->Forget(self);
  pool_->Pump();
}

const std::string& ClientConnection::where() const { return pool_->settings().where; }

}  // namespace berth::net
