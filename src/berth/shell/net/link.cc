// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/link.h"

#include <algorithm>
#include <cerrno>

#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/post.hpp>

namespace berth::net {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

// For an address to answer in, when there is another one.
constexpr Duration kAddressMax = std::chrono::seconds(2);

}  // namespace

void Link::Dial(Done done) {
  done_ = std::move(done);
  channel_ = std::make_unique<Channel>(loop_.io);
  timer_.emplace(loop_.io, SteadyAfter(options_.connect_timeout));
  timer_->async_wait([self = shared_from_this()](const error_code& ec) {
    if (ec || self->is_closed_ || !self->done_) return;
    self->Finish(Error{ErrorCode::kTimeout, "dial tcp " + self->options_.where + ": no connection within " +
                                                FormatGoDuration(self->options_.connect_timeout)});
  });

  error_code ec;
  const auto address = boost::asio::ip::make_address(options_.host, ec);
  if (!ec) {
    boost::asio::post(loop_.io, [self = shared_from_this(), endpoint = tcp::endpoint(address, options_.port)] {
      if (!self->is_closed_) self->OnResolved({endpoint});
    });
    return;
  }
  resolver_.emplace(loop_.io.get_executor());
  resolver_->async_resolve(
      options_.host, std::to_string(options_.port), tcp::resolver::numeric_service,
      [self = shared_from_this()](const error_code& failure, const tcp::resolver::results_type& results) {
        if (self->is_closed_ || !self->done_) return;
        if (failure) {
          const bool is_unknown =
              failure == boost::asio::error::host_not_found || failure == boost::asio::error::no_data;
          self->Finish(Error{ErrorCode::kUnavailable, "dial tcp: lookup " + self->options_.host + ": " +
                                                          (is_unknown ? "no such host" : failure.message())});
          return;
        }
        std::vector<tcp::endpoint> endpoints;
        for (const auto& result : results) endpoints.push_back(result.endpoint());
        self->OnResolved(std::move(endpoints));
      });
}

void Link::OnResolved(std::vector<tcp::endpoint> endpoints) {
  endpoints_ = std::move(endpoints);
  ConnectNext();
}

void Link::ConnectNext() {
  if (endpoint_next_ == endpoints_.size()) {
    FailDial(last_failure_.empty() ? "no address" : last_failure_);
    return;
  }
  const tcp::endpoint endpoint = endpoints_[endpoint_next_++];
  error_code ignored;  // Of a socket that is to be thrown away.
  channel_->socket().close(ignored);
  if (endpoint_next_ < endpoints_.size()) GiveAddressUpLater();
  channel_->socket().async_connect(endpoint,
                                   [self = shared_from_this(), attempt = endpoint_next_](const error_code& ec) {
                                     if (self->is_closed_ || !self->done_ || attempt != self->endpoint_next_) return;
                                     self->address_timer_.reset();
                                     if (ec) {
                                       self->last_failure_ = SystemErrorText(ec.value());
                                       self->ConnectNext();
                                       return;
                                     }
                                     if (auto prepared = self->channel_->Prepare(); !prepared.ok()) {
                                       self->FailDial(prepared.error().message);
                                       return;
                                     }
                                     if (self->options_.tls) {
                                       self->StartTls();
                                     } else {
                                       self->Finish({});
                                     }
                                   });
}

// An address may swallow what is sent to it, while the next one answers.
void Link::GiveAddressUpLater() {
  address_timer_.emplace(loop_.io, SteadyAfter(std::min(kAddressMax, options_.connect_timeout / 2)));
  address_timer_->async_wait([self = shared_from_this(), attempt = endpoint_next_](const error_code& ec) {
    if (ec || self->is_closed_ || !self->done_ || attempt != self->endpoint_next_) return;
    self->last_failure_ = SystemErrorText(ETIMEDOUT);
    self->ConnectNext();
  });
}

void Link::StartTls() {
  const TlsClientOptions& tls = *options_.tls;
  const std::string& name = tls.server_name.empty() ? options_.host : tls.server_name;
  if (auto started = channel_->StartClientTls(*options_.tls_contexts->Now(), tls, name); !started.ok()) {
    Error error = started.error();
    error.message = options_.where + ": " + error.message;
    error.outcome_unknown = false;
    Finish(std::move(error));
    return;
  }
  if (!may_be_http2_) channel_->OfferHttp1Only();
  HandshakeStep();
}

void Link::HandshakeStep() {
  const auto step = channel_->Handshake();
  const auto again = [self = shared_from_this()](const error_code&) {
    if (!self->is_closed_ && self->done_) self->HandshakeStep();
  };
  switch (step.outcome) {
    case Channel::Outcome::kDone: Finish({}); break;
    case Channel::Outcome::kWantRead: channel_->socket().async_wait(Channel::Socket::wait_read, again); break;
    case Channel::Outcome::kWantWrite: channel_->socket().async_wait(Channel::Socket::wait_write, again); break;
    case Channel::Outcome::kEof:
      Finish(
          Error{ErrorCode::kUnavailable,
                options_.where + ": TLS handshake failed: the server closed the connection, does it speak TLS here?"});
      break;
    case Channel::Outcome::kFailed:
      Finish(Error{ErrorCode::kUnavailable, options_.where + ": " + channel_->failure()});
      break;
  }
}

void Link::FailDial(std::string_view why) {
  Finish(Error{ErrorCode::kUnavailable, "dial tcp " + options_.where + ": " + std::string(why)});
}

void Link::Finish(Expected<void> result) {
  timer_.reset();
  address_timer_.reset();
  const Done done = std::move(done_);
  done_ = nullptr;
  done(std::move(result));
}

void Link::Close() {
  if (is_closed_) return;
  is_closed_ = true;
  done_ = nullptr;
  timer_.reset();
  address_timer_.reset();
  resolver_.reset();
  channel_.reset();
}

}  // namespace berth::net
