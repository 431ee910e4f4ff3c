// SPDX-License-Identifier: Apache-2.0
// Http1ServerConnection: a connection of the HTTP server from its first byte: the TLS handshake, then HTTP/1.1 requests
// in and answers out. Where the handshake agrees on HTTP/2, an Http2ServerConnection takes the channel over. For the
// sources of this folder; used on its loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/read_buffer.h"
#include "berth/shell/net/server_connection.h"
#include "berth/shell/net/server_shared.h"
#include "berth/shell/net/websocket.h"

namespace berth::net {

class Http1ServerConnection final : public ServerConnection {
 public:
  // It counts in shared->connection_count until Close(). The caller adds it to `shard`, which is one of the server's.
  Http1ServerConnection(std::shared_ptr<ServerShared> shared, ServerShared::Shard& shard,
                        std::unique_ptr<Channel> channel);

  void Start() override;
  void CheckTime(SteadyTime now) override;
  // Also sends as much as the peer takes.
  void Flush(const std::shared_ptr<ServerReply>& reply) override;
  void Break(const std::shared_ptr<ServerReply>& reply) override;
  void EndIfSlow(SteadyTime now) override;
  void Close(bool calls_back) override;
  bool IsSilent() const override;
  SteadyTime last_progress() const override { return last_progress_; }
  Loop& loop() override { return shard_.loop; }

 private:
  enum class Phase : std::uint8_t { kHandshake, kReading, kHandling, kLingering };

  void Touch() { last_progress_ = std::chrono::steady_clock::now(); }
  std::shared_ptr<Http1ServerConnection> Self();
  void Close() { Close(true); }
  void StartParser();
  void HandshakeStep();
  void OnHandshake();
  void HandOver();
  void ArmRead();
  void ArmWrite();
  void ReadSome();
  void OnPeerEnded();
  void Process();
  // False when the request was refused.
  bool KeepsToBudget();
  void RefuseMalformed(HttpParser::Outcome outcome);
  void AnswerExpectation();
  void Refuse(int status, std::string_view message);
  void Handle();
  // True when the answer under way is a WebSocket, which has consumed the bytes.
  bool ReadFrames();
  void EndWebSocket(std::uint16_t code);
  void OnReplySent(bool closes);
  void Linger();
  void WriteSome();
  void ReleaseReply(bool calls_back);

  const std::shared_ptr<ServerShared> shared_;
  ServerShared::Shard& shard_;
  std::unique_ptr<Channel> channel_;
  HttpParser parser_;
  ReadBuffer buffer_;
  WebSocketReader frames_;              // used once the connection is a WebSocket, which it stays
  ServerBudget::Share received_;        // of the request that is being received
  std::shared_ptr<ServerReply> reply_;  // while a request is handled
  std::shared_ptr<const std::vector<std::string>> peer_certificates_;
  std::deque<std::string> out_;
  std::size_t out_begin_ = 0;  // bytes of the first piece that are sent
  std::size_t lingered_bytes_ = 0;
  SteadyTime last_progress_;
  Phase phase_ = Phase::kReading;
  bool is_closed_ = false;
  bool has_begun_ = false;  // with TLS: the first bytes have come
  bool is_processing_ = false;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
  bool has_sent_continue_ = false;
  bool has_peer_ended_ = false;
  bool has_shut_down_ = false;
};

}  // namespace berth::net
