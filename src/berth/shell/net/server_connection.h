// SPDX-License-Identifier: Apache-2.0
// ServerConnection: one connection of the HTTP server: handshake, requests in, answers out. For the sources of this
// folder; used on its loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/read_buffer.h"
#include "berth/shell/net/server_shared.h"
#include "berth/shell/net/websocket.h"

namespace berth::net {

struct ServerReply;

class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  // It counts in shared->connection_count, until Close(). `shard`, one of the server's, is to hold it.
  ServerConnection(std::shared_ptr<ServerShared> shared, ServerShared::Shard& shard, std::unique_ptr<Channel> channel);

  void Start();

  // Called every tick: closes what has been still for too long.
  void CheckTime(SteadyTime now);

  // Fetches what the writer has left and sends as much as the peer takes.
  void Flush();

  // All together hold too much: ends this one if it holds much and its peer has done nothing for too long.
  void EndIfSlow(SteadyTime now);

  // Idempotent. `calls_back`: a writer's on_closed is called.
  void Close(bool calls_back = true);

  // Nothing of a request has arrived, and no answer is under way.
  bool IsSilent() const;
  SteadyTime last_progress() const { return last_progress_; }

  // Any thread, while the connection is open.
  Loop& loop() { return shard_.loop; }

 private:
  enum class Phase : std::uint8_t { kHandshake, kReading, kHandling, kLingering };

  void Touch() { last_progress_ = std::chrono::steady_clock::now(); }
  void StartParser();
  void HandshakeStep();
  void ArmRead();
  void ArmWrite();
  void ReadSome();
  void OnPeerEnded();
  void Process();
  // False when the request was refused.
  bool KeepsToBudget();
  void RefuseMalformed(HttpParser::Outcome outcome);
  void AnswerExpectation();
  void Refuse(int status, const std::string& message);
  void Handle();
  // True when the answer under way is a WebSocket, and what has arrived was for it.
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
  WebSocketReader frames_;              // once the connection is a WebSocket, which it stays
  ServerBudget::Share received_;        // of the request that is being received
  std::shared_ptr<ServerReply> reply_;  // while a request is handled
  std::shared_ptr<const std::vector<std::string>> peer_certificates_;
  std::deque<std::string> out_;
  std::size_t out_begin_ = 0;  // sent of the first piece
  std::size_t lingered_bytes_ = 0;
  SteadyTime last_progress_;
  Phase phase_ = Phase::kReading;
  bool is_closed_ = false;
  bool is_processing_ = false;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
  bool has_sent_continue_ = false;
  bool has_peer_ended_ = false;
  bool has_shut_down_ = false;
};

// Ends those of all connections that hold much and whose peers do nothing. Any thread.
void SweepSlow(const std::shared_ptr<ServerShared>& shared);

}  // namespace berth::net
