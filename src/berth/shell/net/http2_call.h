// SPDX-License-Identifier: Apache-2.0
// Http2Call: an exchange of the HTTP client on a connection that speaks HTTP/2. For the sources of this folder; used on
// its loop's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "berth/shell/net/exchange.h"
#include "berth/shell/net/http2_connection.h"
#include "berth/shell/net/http2_session.h"

namespace berth::net {

class ClientPool;

class Http2Call final : public Http2Reader, public std::enable_shared_from_this<Http2Call> {
 public:
  Http2Call(std::shared_ptr<ClientPool> pool, ExchangeList::iterator exchange,
            std::shared_ptr<Http2Connection> connection);
  ~Http2Call() override;

  // False when the connection takes no request any more.
  bool Begin();
  // Nothing more is heard of it.
  void Leave();

  const std::shared_ptr<Http2Connection>& connection() const { return connection_; }
  ExchangeList::iterator exchange() const { return exchange_; }

  void OnHttp2Head(Response&& head) override;
  void OnHttp2Body(std::string_view bytes) override;
  void OnHttp2End(const Http2End& end) override;

 private:
  void Finish(Expected<Response> result);
  const std::string& where() const;

  const std::shared_ptr<ClientPool> pool_;
  const ExchangeList::iterator exchange_;
  const std::shared_ptr<Http2Connection> connection_;
  std::int32_t id_ = 0;
  Response response_;
};

}  // namespace berth::net
