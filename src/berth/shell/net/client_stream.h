// SPDX-License-Identifier: Apache-2.0
// ClientStream: one Stream() of the HTTP client, on a connection of its own or as one of many over HTTP/2. For the
// sources of this folder; on its loop's thread where not said otherwise.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/shell/net/callback_gate.h"
#include "berth/shell/net/client_settings.h"
#include "berth/shell/net/http2_connection.h"
#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/link.h"
#include "berth/shell/net/read_buffer.h"
#include "berth/shell/net/transport.h"

namespace berth::net {

class ClientStream final : public Http2Reader, public std::enable_shared_from_this<ClientStream> {
 public:
  using Forget = std::function<void(const std::shared_ptr<ClientStream>&)>;

  // `forget` is called when the stream closes. `loop` must outlive the open stream.
  ClientStream(Loop& loop, std::shared_ptr<const ClientSettings> settings, Request request, StreamOptions options,
               StreamCallbacks callbacks, Forget forget);

  // The time for the head begins. False: the stream is over already.
  bool Begin();
  // One of these three follows.
  void Dial();
  void StartOn(const std::shared_ptr<Http2Connection>& connection);
  void Fail(const Error& error) { End(error); }

  // Any thread, callbacks included.
  void Cancel();

  // The client is being destroyed: ends with kCancelled, or without a callback if the loop has stopped.
  void Abandon(bool is_loop_stopped);

  void OnHttp2Head(Response&& head) override;
  void OnHttp2Body(std::string_view bytes) override;
  void OnHttp2End(const Http2End& end) override;

 private:
  void End(Expected<void> result);
  void Close();
  void ArmTimer(SteadyTime when);
  void OnTimer();
  void ArmRead();
  void ArmWrite();
  void WriteSome();
  void ReadSome();
  // Both return false when the stream is over.
  bool Parse();
  bool Deliver(bool is_complete);
  bool DeliverHead(const Response& head);
  bool DeliverBytes(std::string_view bytes);
  void DeliverRefusal(Response&& head, std::string&& body);
  void OnBroken(const std::string& reason);
  const std::string& where() const { return settings_->where; }

  Loop& loop_;
  const std::shared_ptr<const ClientSettings> settings_;
  const StreamOptions options_;
  const Forget forget_;

  CallbackGate gate_;

  const Request request_;
  std::shared_ptr<Http2Connection> http2_;
  std::int32_t http2_id_ = 0;  // 0: the stream is not, or no longer, on the connection
  Response refusal_;           // a refusal over HTTP/2 while it arrives
  bool has_http2_answer_begun_ = false;

  std::shared_ptr<Link> link_;
  std::optional<boost::asio::steady_timer> timer_;
  HttpParser parser_;
  ReadBuffer buffer_;
  std::string wire_;
  std::size_t written_ = 0;
  SteadyTime last_byte_;
  int interim_answers_ = 0;
  bool is_closed_ = false;
  bool has_begun_ = false;
  bool is_head_delivered_ = false;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
};

}  // namespace berth::net
