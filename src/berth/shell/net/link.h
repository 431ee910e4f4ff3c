// SPDX-License-Identifier: Apache-2.0
// Link: the way from a host name to a channel that carries bytes: look-up, TCP connect, TLS handshake. For the sources
// of this folder; used on its loop's thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/net/io_context_impl.h"

namespace berth::net {

struct LinkOptions {
  std::string host;  // a name, or an address without brackets
  std::uint16_t port = 0;
  std::string where;  // "host:port", for errors
  std::optional<TlsClientOptions> tls;
  std::shared_ptr<ClientTlsContexts> tls_contexts;  // with `tls`
  Duration connect_timeout{};                       // for all of it together
};

class Link : public std::enable_shared_from_this<Link> {
 public:
  using Done = std::function<void(Expected<void>)>;

  // Both must outlive the open link. `may_be_http2`: it is offered, if the options allow it.
  Link(Loop& loop, const LinkOptions& options, bool may_be_http2)
      : loop_(loop), options_(options), may_be_http2_(may_be_http2) {}

  // Once. `done` is called from the loop, never from inside Dial, and not after Close.
  void Dial(Done done);

  // While dialling and until Close.
  Channel& channel() { return *channel_; }

  // Idempotent; lets go of everything that belongs to the loop.
  void Close();

 private:
  void OnResolved(std::vector<boost::asio::ip::tcp::endpoint> endpoints);
  void ConnectNext();
  void GiveAddressUpLater();
  void StartTls();
  void HandshakeStep();
  void Finish(Expected<void> result);
  void FailDial(std::string_view why);

  using Resolver = boost::asio::ip::basic_resolver<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

  Loop& loop_;
  const LinkOptions& options_;
  const bool may_be_http2_;
  Done done_;
  std::optional<boost::asio::steady_timer> timer_;
  std::optional<boost::asio::steady_timer> address_timer_;
  std::optional<Resolver> resolver_;
  std::unique_ptr<Channel> channel_;
  std::vector<boost::asio::ip::tcp::endpoint> endpoints_;
  std::size_t endpoint_next_ = 0;
  std::string last_failure_;
  bool is_closed_ = false;
};

}  // namespace berth::net
