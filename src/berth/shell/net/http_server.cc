// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http_server.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/post.hpp>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/http1_server_connection.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/server_connection.h"
#include "berth/shell/net/server_shared.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using Acceptor = boost::asio::basic_socket_acceptor<tcp, boost::asio::io_context::executor_type>;

// This many connections beyond connections_max get an answer that says so; further ones are closed without an answer.
constexpr int kRefusedConnectionsMax = 64;
// The pause after an accept that failed for lack of file descriptors or memory.
constexpr Duration kAcceptRest = std::chrono::milliseconds(100);

// Closes the connection of the shard that has been silent for longest, if one is silent. Any thread.
void EndMostSilent(const std::shared_ptr<ServerShared>& shared, ServerShared::Shard& shard) {
  boost::asio::post(shard.loop.io, [shared, &shard] {
    std::shared_ptr<ServerConnection> silent;
    for (const auto& connection : shard.connections) {
      if (!connection->IsSilent()) continue;
      if (silent == nullptr || connection->last_progress() < silent->last_progress()) silent = connection;
    }
    if (silent != nullptr) silent->Close(true);
  });
}

// Accepts connections and gives them to the loops in turn. On the first loop's thread.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(std::shared_ptr<ServerShared> shared, Acceptor acceptor)
      : shared_(std::move(shared)), acceptor_(std::move(acceptor)), rest_(shared_->shards.front().loop.io) {}

  void Accept() {
    if (!acceptor_) return;
    ServerShared::Shard& shard = shared_->shards[shard_next_++ % shared_->shards.size()];
    auto channel = std::make_unique<Channel>(shard.loop.io);
    auto& socket = channel->socket();
    acceptor_->async_accept(
        socket, [self = shared_from_this(), &shard, channel = std::move(channel)](const error_code& ec) mutable {
          if (!self->acceptor_) return;
          if (!ec) {
            self->OnAccepted(shard, std::move(channel));
            self->Accept();
          } else if (ec == boost::asio::error::connection_aborted) {
            self->Accept();
          } else {
            self->Rest();
          }
        });
  }

  void Close() {
    acceptor_.reset();
    rest_.reset();
  }

 private:
  void OnAccepted(ServerShared::Shard& shard, std::unique_ptr<Channel> channel) {
    const int count = shared_->connection_count.fetch_add(1) + 1;
    if (count > shared_->options.connections_max + kRefusedConnectionsMax) {
      shared_->connection_count.fetch_sub(1);
      return;
    }
    if (shared_->options.ends_silent_connections && count > shared_->options.connections_max) {
      for (ServerShared::Shard& each : shared_->shards) EndMostSilent(shared_, each);
    }
    boost::asio::post(shard.loop.io, [&shard, connection = std::make_shared<Http1ServerConnection>(
                                                  shared_, shard, std::move(channel))] {
      if (shard.is_closed) {
        connection->Close(true);
        return;
      }
      shard.connections.insert(connection);
      connection->Start();
    });
  }

  void Rest() {
    rest_->expires_after(kAcceptRest);
    rest_->async_wait([self = shared_from_this()](const error_code& ec) {
      if (!ec) self->Accept();
    });
  }

  const std::shared_ptr<ServerShared> shared_;
  std::optional<Acceptor> acceptor_;
  std::optional<boost::asio::steady_timer> rest_;
  std::size_t shard_next_ = 0;
};

void ArmTick(const std::shared_ptr<ServerShared>& shared, ServerShared::Shard& shard) {
  constexpr Duration kTickMin = std::chrono::milliseconds(10);
  constexpr Duration kTickMax = std::chrono::seconds(1);
  shard.tick->expires_after(std::clamp(shared->options.idle_timeout / 4, kTickMin, kTickMax));
  shard.tick->async_wait([shared, &shard](const error_code& ec) {
    if (ec || shard.is_closed) return;
    const SteadyTime now = std::chrono::steady_clock::now();
    const std::vector<std::shared_ptr<ServerConnection>> connections(shard.connections.begin(),
                                                                     shard.connections.end());
    for (const auto& connection : connections) {
      if (!shard.is_closed) connection->CheckTime(now);
    }
    if (!shard.is_closed) ArmTick(shared, shard);
  });
}

class Server final : public HttpServer {
 public:
  Server(std::shared_ptr<ServerShared> shared, Acceptor acceptor, const tcp::endpoint& endpoint)
      : shared_(std::move(shared)),
        port_(endpoint.port()),
        address_(JoinHostPort(endpoint.address().to_string(), endpoint.port())) {
    listener_ = std::make_shared<Listener>(shared_, std::move(acceptor));
    for (auto& shard : shared_->shards) {
      boost::asio::post(shard.loop.io, [shared = shared_, &shard] {
        if (shard.is_closed) return;
        shard.tick.emplace(shard.loop.io);
        ArmTick(shared, shard);
      });
    }
    boost::asio::post(shared_->shards.front().loop.io, [listener = listener_] { listener->Accept(); });
  }

  ~Server() override {
    shared_->io.RunAndWait(shared_->shards.front().loop, [this](bool) { listener_->Close(); });
    for (auto& shard : shared_->shards) {
      shared_->io.RunAndWait(shard.loop, [&shard](bool is_stopped) {
        shard.is_closed = true;
        shard.tick.reset();
        const auto connections = std::exchange(shard.connections, {});
        for (const auto& connection : connections) connection->Close(!is_stopped);
      });
    }
  }

  std::uint16_t port() const override { return port_; }
  std::string address() const override { return address_; }

  Expected<void> ReplaceTls(const TlsServerOptions& tls) override {
    BERTH_CHECK(shared_->options.tls.has_value(), "the server was started without TLS");
    BERTH_ASSIGN_OR_RETURN(auto context, TlsContext::MakeServer(tls));
    shared_->SetTls(std::move(context));
    return {};
  }

 private:
  const std::shared_ptr<ServerShared> shared_;
  std::shared_ptr<Listener> listener_;
  const std::uint16_t port_;
  const std::string address_;
};

using SharesPort = boost::asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

// The endpoints of a listen address; a host name may have several.
Expected<std::vector<tcp::endpoint>> ResolveListen(boost::asio::io_context& io, const std::string& listen) {
  BERTH_ASSIGN_OR_RETURN(const auto host_port, SplitHostPort(listen));
  const auto& [host, port] = host_port;
  if (host.empty()) {
    return std::vector<tcp::endpoint>{{boost::asio::ip::address_v6::any(), port},
                                      {boost::asio::ip::address_v4::any(), port}};
  }
  error_code ec;
  const auto address = boost::asio::ip::make_address(host, ec);
  if (!ec) return std::vector<tcp::endpoint>{{address, port}};
  tcp::resolver resolver(io);
  const auto results = resolver.resolve(host, std::to_string(port), tcp::resolver::numeric_service, ec);
  std::vector<tcp::endpoint> endpoints;
  for (const auto& result : results) endpoints.push_back(result.endpoint());
  if (ec || endpoints.empty()) {
    return InvalidError("listen " + listen + ": no such host: it must be an address of this machine");
  }
  return endpoints;
}

Expected<Acceptor> Listen(boost::asio::io_context& io, const std::string& listen, bool shares_port) {
  BERTH_ASSIGN_OR_RETURN(const auto endpoints, ResolveListen(io, listen));
  error_code ec;
  for (const tcp::endpoint& endpoint : endpoints) {
    Acceptor acceptor(io.get_executor());
    acceptor.open(endpoint.protocol(), ec);
    if (ec) continue;
    ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
    if (shares_port) acceptor.set_option(SharesPort(true), ec);
    acceptor.bind(endpoint, ec);
    if (!ec) acceptor.listen(boost::asio::socket_base::max_listen_connections, ec);
    if (!ec) return acceptor;
    // Listening on another address of the name would hide the mistake.
    if (ec == boost::asio::error::address_in_use) break;
  }
  std::string hint;
  if (ec == boost::asio::error::address_in_use) {
    hint = ": choose another";
  } else if (ec == boost::asio::error::access_denied) {
    hint = ": ports below 1024 need privileges, choose another";
  } else if (ec.value() == EADDRNOTAVAIL) {
    hint = ": it must be an address of this machine";
  }
  return Error{ErrorCode::kUnavailable, "listen " + listen + ": " + SystemErrorText(ec.value()) + hint};
}

}  // namespace

Expected<std::unique_ptr<HttpServer>> StartHttpServer(IoContext& io, HttpServerOptions options, Handler handler) {
  auto shared = std::make_shared<ServerShared>(io.impl(), std::move(options), std::move(handler));
  if (shared->options.tls) {
    BERTH_ASSIGN_OR_RETURN(auto context, TlsContext::MakeServer(*shared->options.tls));
    shared->SetTls(std::move(context));
  }
  for (auto& loop : io.impl().loops) shared->shards.emplace_back(*loop);
  BERTH_ASSIGN_OR_RETURN(auto acceptor,
                         Listen(io.impl().loops.front()->io, shared->options.listen, shared->options.shares_port));
  error_code ec;
  const tcp::endpoint endpoint = acceptor.local_endpoint(ec);
  if (ec)
    return Error{ErrorCode::kUnavailable, "listen " + shared->options.listen + ": " + SystemErrorText(ec.value())};
  return std::unique_ptr<HttpServer>(std::make_unique<Server>(std::move(shared), std::move(acceptor), endpoint));
}

}  // namespace berth::net
