// SPDX-License-Identifier: Apache-2.0
// Http2ServerConnection: a connection of the HTTP server that speaks HTTP/2: an Http2ServerSession on a channel, and
// the replies of its streams. For the sources of this folder; used on its loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/http2_server_session.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/server_connection.h"
#include "berth/shell/net/server_shared.h"

namespace berth::net {

struct ServerReply;

class Http2ServerConnection final : public ServerConnection {
 public:
  // It takes over a channel after the handshake, and its place in shared->connection_count until Close(). The caller
  // adds it to `shard`, which is one of the server's.
  Http2ServerConnection(std::shared_ptr<ServerShared> shared, ServerShared::Shard& shard,
                        std::unique_ptr<Channel> channel,
                        std::shared_ptr<const std::vector<std::string>> peer_certificates);

  void Start() override;
  void CheckTime(SteadyTime now) override;
  // Fetched bytes are sent at the end of the loop's turn.
  void Flush(const std::shared_ptr<ServerReply>& reply) override;
  void Break(const std::shared_ptr<ServerReply>& reply) override;
  void EndIfSlow(SteadyTime now) override;
  // Sends GOAWAY, behind the bytes of answers that the socket takes at once.
  void Close(bool calls_back) override;
  bool IsSilent() const override;
  // If IsSilent(): since when.
  SteadyTime last_progress() const override { return idle_since_; }
  Loop& loop() override { return shard_.loop; }

 private:
  enum class Phase : std::uint8_t { kOpen, kLingering };

  // A stream whose request is complete, or was refused.
  struct Stream {
    std::shared_ptr<ServerReply> reply;
    std::size_t request_bytes = 0;  // until it is answered
    SteadyTime last_progress;       // of the answer
    bool has_unsent = false;        // the peer has not taken all bytes of the answer
  };

  std::shared_ptr<Http2ServerConnection> Self();
  void ArmRead();
  void ArmWrite();
  void ReadSome();
  void OnBytes(std::string_view bytes);
  void HandleEvents();
  void Handle(std::int32_t id, Request request);
  // Makes the reply of a stream.
  Stream& AddStream(std::int32_t id);
  void Refuse(std::int32_t id, int status, std::string_view message);
  void EndStream(std::int32_t id);
  // Ends the streams at once, since the peer may not read the resets for long.
  void ResetStreams(const std::vector<std::int32_t>& ids, Http2ServerSession::Code code);
  // False when all requests together hold too much.
  bool KeepsToBudget();
  void RefuseLastFed();
  Http2ServerSession::Part ReadBody(std::int32_t id, char* room, std::size_t size);
  void PostWrite();
  // Also handles closed streams and the end of the session.
  void WriteSome();
  // True when all that the session has to say has been written.
  bool Drain();
  void Linger();
  void Drop(bool calls_back);
  void EndReplies(bool calls_back);

  const std::shared_ptr<ServerShared> shared_;
  ServerShared::Shard& shard_;
  std::unique_ptr<Channel> channel_;
  const std::shared_ptr<const std::vector<std::string>> peer_certificates_;
  Http2ServerSession session_;
  ServerBudget::Share received_;  // of requests that are being received, or wait for their answers
  ServerBudget small_answers_;
  std::map<std::int32_t, Stream> streams_;
  std::vector<std::weak_ptr<ServerReply>> abandoned_;  // of streams that have ended before their handlers
  std::uint32_t refused_in_a_row_ = 0;                 // requests that were refused because of abandoned_
  std::string out_;
  std::size_t written_ = 0;
  std::size_t lingered_bytes_ = 0;
  SteadyTime idle_since_;     // without a stream
  SteadyTime last_progress_;  // of the socket
  Phase phase_ = Phase::kOpen;
  bool is_over_limit_ = false;  // accepted beyond connections_max
  bool is_closed_ = false;
  bool is_reading_ = false;  // during a read, after which a write follows
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
  bool is_write_posted_ = false;
};

}  // namespace berth::net
