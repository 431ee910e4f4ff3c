// ClientStream: one Stream() of the HTTP client, on a connection of its own. Besides it, what streams and pooled
// connections have in common. For the sources of this folder; on its loop's thread where not said otherwise.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "berth/net/http_client.h"
#include "berth/net/http_parser.h"
#include "berth/net/io_context_impl.h"
#include "berth/net/link.h"
#include "berth/net/read_buffer.h"
#include "berth/net/transport.h"

namespace berth::net {

// Answers of the 1xx kind before the real one.
inline constexpr int kInterimAnswersMax = 8;
// Reads from one connection before the others of the loop get their turn.
inline constexpr int kReadsPerTurn = 16;
inline constexpr std::size_t kAnswerHeaderBytesMax = std::size_t{256} << 10;

// What the connections of one client have in common. Immutable.
struct ClientSettings {
  LinkOptions link;
  std::string where;   // "host:port", for errors
  std::string host;    // the Host header
  std::string prefix;  // before every target
  HttpClientOptions options;
};

// The request as bytes, head and body in one piece so that it is one write. kInvalid when it cannot be sent as it is.
Expected<std::string> SerializeRequest(const ClientSettings& settings, const Request& request);

inline Error Unavailable(std::string message, bool outcome_unknown) {
  return {ErrorCode::kUnavailable, std::move(message), outcome_unknown};
}

class ClientStream : public std::enable_shared_from_this<ClientStream> {
 public:
  using Forget = std::function<void(const std::shared_ptr<ClientStream>&)>;

  // `forget` is called when it closes. `loop` must outlive the open stream.
  ClientStream(Loop& loop, std::shared_ptr<const ClientSettings> settings, StreamOptions options,
               StreamCallbacks callbacks, Forget forget);

  void Start(Expected<std::string> wire);

  // Any thread, callbacks included.
  void Cancel();

  // The client goes away: ends with kCancelled, or without a word where the loop has stopped.
  void Abandon(bool is_loop_stopped);

 private:
  // Calls back unless cancelled; false when the stream is over afterwards.
  template <typename Function>
  bool CallBack(Function function);

  void End(Expected<void> result);
  void Close();
  void ArmTimer(SteadyTime when);
  void OnTimer();
  void ArmRead();
  void ArmWrite();
  void WriteSome();
  void ReadSome();
  // These two: false when the stream is over.
  bool Parse();
  bool Deliver(bool is_complete);
  void OnBroken(const std::string& reason);
  const std::string& where() const { return settings_->where; }

  Loop& loop_;
  const std::shared_ptr<const ClientSettings> settings_;
  const StreamOptions options_;
  const Forget forget_;

  // Held while a callback runs; recursive because callbacks cancel.
  std::recursive_mutex mutex_;
  bool is_over_ = false;       // guarded by mutex_: no callback may start
  int callback_depth_ = 0;     // guarded by mutex_
  StreamCallbacks callbacks_;  // guarded by mutex_

  std::shared_ptr<Link> link_;
  std::optional<boost::asio::steady_timer> timer_;
  HttpParser parser_;
  ReadBuffer buffer_;
  std::string wire_;
  std::size_t written_ = 0;
  SteadyTime last_byte_;
  int interim_answers_ = 0;
  bool is_closed_ = false;
  bool is_head_delivered_ = false;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
};

}  // namespace berth::net
