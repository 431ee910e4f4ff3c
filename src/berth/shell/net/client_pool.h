// SPDX-License-Identifier: Apache-2.0
// ClientPool: what stands behind an HttpClient: its requests, the connections that carry them, and its time-outs. For
// the sources of this folder.
//
// One thread, the loop's, owns everything here but two doors: the inbox of Send() and the cancel flag of a stream.
//
//   Send() -> inbox -> waiting -> in flight (on a ClientConnection or an Http2Call) -> completions -> done
//                         ^            |
//                         +-- again, when a kept-alive connection was already closed
//
// Which protocol a TLS server speaks shows with the first connection; until then no second one is opened, and streams
// wait for it. Where it is HTTP/2 everything goes over one connection, and further ones are opened only when the peer
// allows too few requests at once on it. A connection of another protocol than the last one changes the mode.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "berth/shell/net/client_settings.h"
#include "berth/shell/net/exchange.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/transport.h"

namespace berth::net {

class ClientConnection;
class ClientStream;
class Http2Connection;

class ClientPool : public std::enable_shared_from_this<ClientPool> {
 public:
  // Both must outlive it. Shutdown() comes before its end.
  ClientPool(IoContext::Impl& io, Loop& loop, ClientSettings settings);

  // Any thread.
  void Send(Request request, SendOptions options, Transport::Done done);
  std::shared_ptr<ClientStream> StartStream(Request request, StreamOptions options, StreamCallbacks callbacks);

  // All below is for the loop's thread only.

  // Ends everything with kCancelled, or without callbacks if the loop has stopped.
  void Shutdown(bool is_loop_stopped);

  // ---- from its connections

  // The exchange, which is waiting or in flight, has its result. Its callback comes later, from the loop.
  void Complete(ExchangeList& list, ExchangeList::iterator exchange, Expected<Response> result);
  // Moves an exchange from in flight to the head of the waiting ones.
  void Again(ExchangeList::iterator exchange);
  void OnConnected(const std::shared_ptr<ClientConnection>& connection);
  void OnConnectFailed(const std::shared_ptr<ClientConnection>& connection, const Error& error);
  // The connection is free for another exchange.
  void GiveBack(const std::shared_ptr<ClientConnection>& connection);
  // The connection has closed.
  void Forget(const std::shared_ptr<ClientConnection>& connection);
  // Gives waiting exchanges the free connections, and makes new ones.
  void Pump();

  const ClientSettings& settings() const { return *settings_; }
  Loop& loop() { return loop_; }
  IoContext::Impl& io() { return io_; }
  ExchangeList& in_flight() { return in_flight_; }

 private:
  enum class Mode : std::uint8_t { kUnknown, kHttp1, kHttp2 };

  struct Completion {
    Transport::Done done;
    Expected<Response> result;
  };

  void DrainInbox();
  void LaunchStream(const std::shared_ptr<ClientStream>& stream);
  void RemoveStream(const std::shared_ptr<ClientStream>& stream);
  void OnHttp2Change(const std::shared_ptr<Http2Connection>& connection);
  std::shared_ptr<Http2Connection> Http2WithRoom();
  void PumpHttp2();
  bool MayConnect() const;
  void FailWaiting(const Error& error);
  void RefuseFenced();
  void ArmDeadline();
  void OnDeadline();
  void EndLate(Exchange* late);
  void ArmIdle();
  void OnIdle();
  void PostCompletions();
  void RunCompletions();
  void DropIdle();

  IoContext::Impl& io_;
  Loop& loop_;
  const std::shared_ptr<const ClientSettings> settings_;

  std::mutex inbox_mutex_;
  ExchangeList inbox_;                                         // guarded by inbox_mutex_
  bool is_inbox_posted_ = false;                               // guarded by inbox_mutex_
  bool is_inbox_closed_ = false;                               // guarded by inbox_mutex_: the client is being destroyed
  std::unordered_set<std::shared_ptr<ClientStream>> streams_;  // guarded by inbox_mutex_
  std::atomic<std::size_t> queued_{0};                         // in the inbox and waiting

  bool is_closed_ = false;
  ExchangeList waiting_;
  ExchangeList in_flight_;
  std::set<std::pair<SteadyTime, Exchange*>> deadlines_;  // of waiting and in flight
  // Timers belong to the loop, and are destroyed by Shutdown().
  std::optional<boost::asio::steady_timer> deadline_timer_;
  std::optional<SteadyTime> deadline_armed_;
  std::optional<boost::asio::steady_timer> idle_timer_;
  bool is_idle_armed_ = false;

  Mode mode_;
  std::vector<std::shared_ptr<Http2Connection>> http2_;
  // Streams that wait for a connection with HTTP/2, or to learn whether it is HTTP/2.
  std::deque<std::shared_ptr<ClientStream>> waiting_streams_;
  // Connections with HTTP/1.1 in any state, and those that are being made.
  std::unordered_set<std::shared_ptr<ClientConnection>> connections_;
  // The connection that has been idle for longest is in front. The last one is used first.
  std::deque<std::shared_ptr<ClientConnection>> idle_;
  int connecting_ = 0;
  std::deque<Completion> completions_;
  bool is_completions_posted_ = false;
};

}  // namespace berth::net
