// SPDX-License-Identifier: Apache-2.0
// ClientConnection: a pooled connection of the HTTP client that speaks HTTP/1.1: connecting, idle, or busy with one
// exchange. Where the peer chooses HTTP/2 its link is taken over by an Http2Connection. For the sources of this folder;
// used on its loop's thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/exchange.h"
#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/link.h"
#include "berth/shell/net/read_buffer.h"

namespace berth::net {

class ClientPool;

class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  explicit ClientConnection(std::shared_ptr<ClientPool> pool);

  // Call it once. The pool gets OnConnected() or OnConnectFailed().
  void Connect();

  bool is_http2();
  // Gives the link away. The connection is of no use afterwards.
  std::shared_ptr<Link> TakeLink() {
    is_closed_ = true;
    return link_;
  }

  // False when the peer has closed the connection meanwhile, or sent something that nobody asked for.
  bool IsUsable() { return !is_closed_ && link_->channel().IsQuiet(); }

  // Sends an exchange of those in flight, and reads its answer.
  void Begin(ExchangeList::iterator exchange);

  bool is_busy() const { return exchange_.has_value(); }
  bool has_sent() const { return written_ > 0; }
  const Exchange* exchange() const { return exchange_ ? &**exchange_ : nullptr; }
  ExchangeList::iterator TakeExchange() {
    const auto exchange = *exchange_;
    exchange_.reset();
    return exchange;
  }

  // Idempotent.
  void Close();

  SteadyTime idle_since;

 private:
  void StartParser();
  void ArmRead();
  void ArmWrite();
  void OnWritable();
  void WriteSome();
  void ReadSome();
  bool Parse();
  void OnEof();
  void Finish();
  void Fail(const std::string& reason);
  void FailWith(Error error);
  void BreakOff();
  void Discard();
  const std::string& where() const;

  const std::shared_ptr<ClientPool> pool_;
  const std::shared_ptr<Link> link_;
  HttpParser parser_;
  ReadBuffer buffer_;
  std::optional<ExchangeList::iterator> exchange_;
  std::size_t written_ = 0;
  int interim_answers_ = 0;
  bool is_closed_ = false;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
  bool has_write_failed_ = false;
  bool has_answer_begun_ = false;
  bool has_served_ = false;
};

}  // namespace berth::net
