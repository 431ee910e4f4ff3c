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
  // Called when answers may have ended, and once when it has closed other than by Close(); not from inside a reader's
  // call.
  using OnChange = std::function<void(const std::shared_ptr<Http2Connection>&)>;

  // `loop` must outlive the open connection. The link is open, and its peer speaks HTTP/2.
  Http2Connection(Loop& loop, std::shared_ptr<Link> link, std::shared_ptr<const ClientSettings> settings,
                  OnChange on_change);

  void Start();

  // A request may begin.
  bool HasRoom();
  // As Http2Session::Submit.
  std::int32_t Submit(const Request& request, std::string body, Http2Reader& reader);
  void Reset(std::int32_t id);

  // No further request begins; it closes after the last answer.
  void Retire();
  // An answer has not come within `waited`: where nothing else has come for a good part of it either, the peer is asked
  // for a sign of life. Until it gives one no further request begins, and it is given up after ping_timeout.
  void Doubt(Duration waited);
  // The peer is given up: every reader is told, with `reason`. Not from inside a reader's call.
  void Break(std::string reason);
  // Nobody is told anything more.
  void Close();

  bool is_closed() const { return is_closed_; }
  std::size_t open() const { return session_.open(); }
  // When a request began last.
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
  std::optional<boost::asio::steady_timer> doubt_timer_;  // gone when closed: they belong to the loop
  std::optional<boost::asio::steady_timer> silence_timer_;
  std::optional<SteadyTime> asked_at_;  // for a sign of life, and none has come
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
