// SPDX-License-Identifier: Apache-2.0
// Link: the way from a host name to a channel that carries bytes: look-up, TCP connect, what a proxy wants, TLS
// handshake. For the sources of this folder; used on its loop's thread only.
//
//   connect -> [TLS to an https:// proxy] -> [CONNECT or SOCKS] -> [TLS to the server] -> done
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/proxy.h"
#include "berth/shell/net/proxy_handshake.h"

namespace berth::net {

struct LinkProxy {
  Proxy proxy;
  bool makes_tunnel = false;  // false: the proxy takes the requests themselves, and the link ends there
  TlsClientOptions tls;       // this and the next one are of an https:// proxy
  std::shared_ptr<ClientTlsContexts> tls_contexts;
};

struct LinkOptions {
  std::string host;  // a name, or an address without brackets
  std::uint16_t port = 0;
  std::string where;  // "host:port", or "host:port through proxy URL", for errors
  std::optional<TlsClientOptions> tls;
  std::shared_ptr<ClientTlsContexts> tls_contexts;  // with `tls`
  Duration connect_timeout{};                       // for all of it together
  std::optional<LinkProxy> proxy;

  // The host that the TCP connection is made to.
  const std::string& DialHost() const { return proxy ? proxy->proxy.host : host; }
  std::uint16_t DialPort() const { return proxy ? proxy->proxy.port : port; }
};

class Link : public std::enable_shared_from_this<Link> {
 public:
  using Done = std::function<void(Expected<void>)>;

  // Both must outlive the open link. With `may_be_http2` HTTP/2 is offered, if the options allow it.
  Link(Loop& loop, const LinkOptions& options, bool may_be_http2)
      : loop_(loop), options_(options), may_be_http2_(may_be_http2) {}

  // Call it once. `done` is called from the loop, never from inside Dial(), and not after Close().
  void Dial(Done done);

  // Valid from Dial() until Close().
  Channel& channel() { return *channel_; }

  // Idempotent. Destroys everything that belongs to the loop.
  void Close();

 private:
  void OnResolved(std::vector<boost::asio::ip::tcp::endpoint> endpoints);
  void ConnectNext();
  void GiveAddressUpLater();
  void OnConnected();
  void StartTunnel();
  void TunnelStep();
  void OnTunnel();
  void StartTls(ClientTlsContexts& contexts, const TlsClientOptions& tls, const std::string& name);
  void HandshakeStep();
  void WaitFor(Channel::Socket::wait_type readiness, void (Link::*step)());
  void Finish(Expected<void> result);
  void Fail(ErrorCode code, const std::string& why);
  void FailDial(ErrorCode code, const std::string& why);

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
  std::optional<ProxyHandshake> tunnel_;
  std::string tunnel_output_;
  std::size_t tunnel_written_ = 0;
  bool is_tls_to_proxy_ = false;  // whether the handshake under way is with the proxy
  bool is_closed_ = false;
};

}  // namespace berth::net
