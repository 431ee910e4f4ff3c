// SPDX-License-Identifier: Apache-2.0
// Http2Connection: an Http2Session on an open link: reads, writes what one turn of the loop has gathered at once, and
// closes when there is nothing left to come. For the sources of this folder; used on its loop's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/shell/net/client_settings.h"
#include "berth/shell/net/http2_session.h"
#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/link.h"

namespace berth::net {

class Http2Connection : public std::enable_shared_from_this<Http2Connection> {
 public:
  // Called when answers may have ended, and once when the connection has closed by itself; not from inside a reader's
  // call.
  using OnChange = std::function<void(const std::shared_ptr<Http2Connection>&)>;

  // `loop` must outlive the open connection. The link is open, and its peer speaks HTTP/2.
  Http2Connection(Loop& loop, std::shared_ptr<Link> link, std::shared_ptr<const ClientSettings> settings,
                  OnChange on_change);

  void Start();

  // Whether a request may begin.
  bool HasRoom();
  // See Http2Session::Submit.
  std::int32_t Submit(const Request& request, std::string body, Http2Reader& reader);
  void Reset(std::int32_t id);

  // No further request begins. The connection closes after the last answer.
  void Retire();
  // An answer has not come within `waited`. If nothing else has come for a good part of that time, the peer gets a
  // PING. Until it answers no further request begins, and it is given up after ping_timeout.
  void Doubt(Duration waited);
  // Gives the peer up: every reader gets `reason`. Not from inside a reader's call.
  void Break(std::string reason);
  // Closes without further callbacks.
  void Close();

  bool is_closed() const { return is_closed_; }
  std::size_t open() const { return session_.open(); }
  // When the last request began.
  SteadyTime last_use() const { return last_use_; }

 private:
  void ArmRead();
  void ArmWrite();
  void PostFlush();
  void Flush();
  void ReadSome();
  void AfterTurn();
  void WatchSilence();

  Loop& loop_;
  const std::shared_ptr<Link> link_;
  const std::shared_ptr<const ClientSettings> settings_;
  const OnChange on_change_;
  Http2Session session_;
  std::string room_;  // for reading
  std::string out_;
  std::size_t written_ = 0;
  std::optional<boost::asio::steady_timer> doubt_timer_;  // destroyed when closed, since timers belong to the loop
  std::optional<boost::asio::steady_timer> silence_timer_;
  std::optional<SteadyTime> asked_at_;  // when a PING was sent that has no answer yet
  SteadyTime last_byte_;
  SteadyTime last_use_;
  bool is_closed_ = false;
  bool is_retired_ = false;
  bool is_doubted_ = false;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
  bool is_flush_posted_ = false;
};

}  // namespace berth::net
