// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http2_call.h"

#include "berth/shell/net/client_pool.h"
#include "berth/shell/net/write_fence.h"

namespace berth::net {

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
      // With another certificate, which only another connection takes, the answer may be a better one.
      if (pool_->settings().HasClientCertificate() && exchange_->IsCertificateRefused(response_)) connection_->Retire();
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

// The last thing it does.
void Http2Call::Finish(Expected<Response> result) {
  const auto self = shared_from_this();
  pool_->Complete(pool_->in_flight(), exchange_, std::move(result));
}

const std::string& Http2Call::where() const { return pool_->settings().where; }

}  // namespace berth::net
