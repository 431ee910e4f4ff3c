// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/link.h"

#include <algorithm>
#include <cerrno>

#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/post.hpp>

#include "berth/shell/net/url.h"

namespace berth::net {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

// How long an address may take to answer if there is another one.
constexpr Duration kAddressMax = std::chrono::seconds(2);

// Bytes of a proxy's answer that are read at once.
constexpr std::size_t kTunnelReadBytes = 4096;

}  // namespace

void Link::Dial(Done done) {
  done_ = std::move(done);
  channel_ = std::make_unique<Channel>(loop_.io);
  timer_.emplace(loop_.io, SteadyAfter(options_.connect_timeout));
  timer_->async_wait([self = shared_from_this()](const error_code& ec) {
    if (ec || self->is_closed_ || !self->done_) return;
    const std::string within = " within " + FormatGoDuration(self->options_.connect_timeout);
    if (self->tunnel_) return self->Fail(ErrorCode::kTimeout, "the proxy has not answered" + within);
    self->FailDial(ErrorCode::kTimeout, "no connection" + within);
  });

  error_code ec;
  const auto address = boost::asio::ip::make_address(options_.DialHost(), ec);
  if (!ec) {
    boost::asio::post(loop_.io, [self = shared_from_this(), endpoint = tcp::endpoint(address, options_.DialPort())] {
      if (!self->is_closed_) self->OnResolved({endpoint});
    });
    return;
  }
  resolver_.emplace(loop_.io.get_executor());
  resolver_->async_resolve(
      options_.DialHost(), std::to_string(options_.DialPort()), tcp::resolver::numeric_service,
      [self = shared_from_this()](const error_code& failure, const tcp::resolver::results_type& results) {
        if (self->is_closed_ || !self->done_) return;
        if (failure) {
          const bool is_unknown =
              failure == boost::asio::error::host_not_found || failure == boost::asio::error::no_data;
          const std::string why = "dial tcp: lookup " + self->options_.DialHost() + ": " +
                                  (is_unknown ? "no such host" : failure.message());
          self->Finish(Error{ErrorCode::kUnavailable, self->options_.proxy ? self->options_.where + ": " + why : why});
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
    FailDial(ErrorCode::kUnavailable, last_failure_.empty() ? "no address" : last_failure_);
    return;
  }
  const tcp::endpoint endpoint = endpoints_[endpoint_next_++];
  error_code ignored;  // the socket is not used any more
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
                                       self->FailDial(ErrorCode::kUnavailable, prepared.error().message);
                                       return;
                                     }
                                     self->OnConnected();
                                   });
}

// An address may drop all packets, while the next one answers.
void Link::GiveAddressUpLater() {
  address_timer_.emplace(loop_.io, SteadyAfter(std::min(kAddressMax, options_.connect_timeout / 2)));
  address_timer_->async_wait([self = shared_from_this(), attempt = endpoint_next_](const error_code& ec) {
    if (ec || self->is_closed_ || !self->done_ || attempt != self->endpoint_next_) return;
    self->last_failure_ = SystemErrorText(ETIMEDOUT);
    self->ConnectNext();
  });
}

void Link::OnConnected() {
  if (!options_.proxy) return OnTunnel();
  if (!options_.proxy->tls_contexts) return StartTunnel();
  is_tls_to_proxy_ = true;
  StartTls(*options_.proxy->tls_contexts, options_.proxy->tls, options_.proxy->proxy.host);
}

void Link::StartTunnel() {
  if (!options_.proxy->makes_tunnel) return OnTunnel();
  tunnel_.emplace(options_.proxy->proxy, options_.host, options_.port);
  TunnelStep();
}

// The proxy's answer is bounded, and so is this loop.
void Link::TunnelStep() {
  for (;;) {
    if (tunnel_written_ == tunnel_output_.size()) {
      tunnel_output_ = tunnel_->TakeOutput();
      tunnel_written_ = 0;
    }
    const bool writes = !tunnel_output_.empty();
    char buffer[kTunnelReadBytes];
    const auto step = writes ? channel_->Write(std::string_view(tunnel_output_).substr(tunnel_written_))
                             : channel_->Read(buffer, sizeof(buffer));
    switch (step.outcome) {
      case Channel::Outcome::kDone: break;
      case Channel::Outcome::kWantRead: return WaitFor(Channel::Socket::wait_read, &Link::TunnelStep);
      case Channel::Outcome::kWantWrite: return WaitFor(Channel::Socket::wait_write, &Link::TunnelStep);
      case Channel::Outcome::kEof:
        return Fail(ErrorCode::kUnavailable, "the proxy closed the connection without a whole answer");
      case Channel::Outcome::kFailed: return Fail(ErrorCode::kUnavailable, channel_->failure());
    }
    if (writes) {
      tunnel_written_ += step.bytes;
      continue;
    }
    switch (tunnel_->Feed({buffer, step.bytes})) {
      case ProxyHandshake::Outcome::kNeedMore: break;
      case ProxyHandshake::Outcome::kDone: tunnel_.reset(); return OnTunnel();
      case ProxyHandshake::Outcome::kFailed: return Fail(ErrorCode::kUnavailable, tunnel_->problem());
    }
  }
}

// From here on bytes go to the server, or to a proxy that takes requests for it.
void Link::OnTunnel() {
  if (!options_.tls) return Finish({});
  is_tls_to_proxy_ = false;
  const TlsClientOptions& tls = *options_.tls;
  StartTls(*options_.tls_contexts, tls, tls.server_name.empty() ? options_.host : tls.server_name);
}

void Link::StartTls(ClientTlsContexts& contexts, const TlsClientOptions& tls, const std::string& name) {
  if (auto started = channel_->StartClientTls(*contexts.Now(), tls, name); !started.ok()) {
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
  const std::string whose = is_tls_to_proxy_ ? "to the proxy: " : "";
  switch (step.outcome) {
    case Channel::Outcome::kDone: return is_tls_to_proxy_ ? StartTunnel() : Finish({});
    case Channel::Outcome::kWantRead: return WaitFor(Channel::Socket::wait_read, &Link::HandshakeStep);
    case Channel::Outcome::kWantWrite: return WaitFor(Channel::Socket::wait_write, &Link::HandshakeStep);
    case Channel::Outcome::kEof:
      return Fail(ErrorCode::kUnavailable,
                  whose + "TLS handshake failed: the server closed the connection, does it speak TLS here?");
    case Channel::Outcome::kFailed: return Fail(ErrorCode::kUnavailable, whose + channel_->failure());
  }
}

void Link::WaitFor(Channel::Socket::wait_type readiness, void (Link::*step)()) {
  channel_->socket().async_wait(readiness, [self = shared_from_this(), step](const error_code&) {
    if (!self->is_closed_ && self->done_) (*self.*step)();
  });
}

void Link::Fail(ErrorCode code, const std::string& why) { Finish(Error{code, options_.where + ": " + why}); }

void Link::FailDial(ErrorCode code, const std::string& why) {
  const std::string proxy = JoinHostPort(options_.DialHost(), options_.DialPort());
  Finish(Error{code, options_.proxy ? options_.where + ": dial tcp " + proxy + ": " + why
                                    : "dial tcp " + options_.where + ": " + why});
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
