// SPDX-License-Identifier: Apache-2.0
// ServerConnection: what a server's shards and the writers of answers know of a connection, whichever version of HTTP
// it speaks. For the sources of this folder; used on its loop's thread only, but for loop().
#pragma once

#include <cstddef>
#include <memory>

#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/server_shared.h"

namespace berth::net {

struct ServerReply;

// How long, and how many bytes, a peer may go on sending after our side has ended, so that it can read our last bytes.
inline constexpr Duration kLingerTime = std::chrono::seconds(2);
inline constexpr std::size_t kLingerBytesMax = std::size_t{16} << 20;
// The limit of the TLS handshake, and over HTTP/2 of the peer's connection preface.
inline constexpr Duration kGreetingTime = std::chrono::seconds(10);
// Reads from one connection before the others of the loop get their turn.
inline constexpr int kServerReadsPerTurn = 16;

class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  virtual ~ServerConnection() = default;

  virtual void Start() = 0;

  // Called every tick: closes the connection, or streams, without progress for too long.
  virtual void CheckTime(SteadyTime now) = 0;

  // Fetches the bytes that the writer of `reply` has added, and sends them.
  virtual void Flush(const std::shared_ptr<ServerReply>& reply) = 0;

  // The answer cannot be completed, and the peer must see that.
  virtual void Break(const std::shared_ptr<ServerReply>& reply) = 0;

  // All connections together hold too much. Ends requests and answers that hold much and whose peer has done nothing
  // for too long.
  virtual void EndIfSlow(SteadyTime now) = 0;

  // Idempotent. `calls_back`: the on_closed of writers is called.
  virtual void Close(bool calls_back) = 0;

  // Whether nothing of a request has arrived and no answer is under way.
  virtual bool IsSilent() const = 0;
  virtual SteadyTime last_progress() const = 0;

  // Any thread, while the connection is open.
  virtual Loop& loop() = 0;
};

// Ends those requests and answers of all connections that hold much and whose peers do nothing. Any thread.
void SweepSlow(const std::shared_ptr<ServerShared>& shared);

}  // namespace berth::net
