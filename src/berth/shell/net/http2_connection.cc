// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/http2_connection.h"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "berth/shell/net/channel.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

using boost::system::error_code;
using Wait = Channel::Socket::wait_type;

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
// The most bytes that are made before the socket takes them: one TLS record, so that they need one write.
constexpr std::size_t kWriteBytes = std::size_t{16} << 10;
// A larger write buffer is freed.
constexpr std::size_t kKeptWriteBytes = std::size_t{64} << 10;

}  // namespace

Http2Connection::Http2Connection(Loop& loop, std::shared_ptr<Link> link, std::shared_ptr<const ClientSettings> settings,
                                 OnChange on_change)
    : loop_(loop),
      link_(std::move(link)),
      settings_(std::move(settings)),
      on_change_(std::move(on_change)),
      session_(kAnswerHeaderBytesMax, settings_->link.tls ? "https" : "http"),
      last_byte_(std::chrono::steady_clock::now()),
      last_use_(last_byte_) {}

void Http2Connection::Start() {
  link_->channel().KeepBuffers();
  room_.resize(kReadBytes);
  PostFlush();
  WatchSilence();
  // The peer sends its settings first, and TLS may have read them already.
  boost::asio::post(loop_.io, [self = shared_from_this()] { self->ReadSome(); });
}

bool Http2Connection::HasRoom() {
  if (is_closed_ || is_retired_ || is_doubted_) return false;
  return session_.HasRoom();
}

std::int32_t Http2Connection::Submit(const Request& request, std::string body, Http2Reader& reader) {
  if (is_closed_) return 0;
  last_use_ = std::chrono::steady_clock::now();
  std::string path;
  if (!settings_->prefix.empty()) path = settings_->prefix + request.target;
  Http2Session::Target target{settings_->host, path.empty() ? std::string_view(request.target) : path};
  for (const Header& header : request.headers) {
    if (header.name.size() == 4 && EqualsIgnoreCase(header.name, "Host")) target.authority = header.value;
  }
  const std::int32_t id = session_.Submit(target, request, std::move(body), reader);
  PostFlush();
  return id;
}

void Http2Connection::Reset(std::int32_t id) {
  session_.Reset(id);
  PostFlush();
}

void Http2Connection::Retire() {
  is_retired_ = true;
  if (!is_closed_) PostFlush();
}

void Http2Connection::Doubt(Duration waited) {
  if (is_closed_ || is_doubted_ || std::chrono::steady_clock::now() - last_byte_ < waited / 2) return;
  is_doubted_ = true;
  session_.Ping();
  PostFlush();
  doubt_timer_.emplace(loop_.io, SteadyAfter(settings_->options.ping_timeout));
  doubt_timer_->async_wait([self = shared_from_this()](const error_code& ec) {
    if (!ec && self->is_doubted_) self->Break("the server has fallen silent");
  });
}

// Watches may be silent for minutes, so a silent peer gets a PING, and is given up only if it does not answer that.
void Http2Connection::WatchSilence() {
  if (is_closed_) return;
  const SteadyTime now = std::chrono::steady_clock::now();
  const HttpClientOptions& options = settings_->options;
  if (asked_at_ && now - *asked_at_ >= options.ping_timeout) return Break("the server has fallen silent");
  if (!asked_at_ && session_.open() > 0 && now - last_byte_ >= options.silence_max) {
    asked_at_ = now;
    session_.Ping();
    PostFlush();
  }
  silence_timer_.emplace(loop_.io, SteadyAfter(std::min(options.silence_max, options.ping_timeout) / 2));
  silence_timer_->async_wait([self = shared_from_this()](const error_code& ec) {
    if (!ec) self->WatchSilence();
  });
}

void Http2Connection::Break(std::string reason) {
  if (is_closed_) return;
  const auto self = shared_from_this();
  is_closed_ = true;
  doubt_timer_.reset();
  silence_timer_.reset();
  link_->Close();
  session_.FailAll(reason);
  on_change_(self);
}

void Http2Connection::Close() {
  if (is_closed_) return;
  is_closed_ = true;
  doubt_timer_.reset();
  silence_timer_.reset();
  session_.DropAll();
  link_->Close();
}

void Http2Connection::ArmRead() {
  if (is_read_armed_ || is_closed_) return;
  is_read_armed_ = true;
  link_->channel().socket().async_wait(Wait::wait_read, [self = shared_from_this()](const error_code&) {
    self->is_read_armed_ = false;
    self->ReadSome();
  });
}

void Http2Connection::ArmWrite() {
  if (is_write_armed_ || is_closed_) return;
  is_write_armed_ = true;
  link_->channel().socket().async_wait(Wait::wait_write, [self = shared_from_this()](const error_code&) {
    self->is_write_armed_ = false;
    self->Flush();
    self->ReadSome();  // TLS may have had to write before it could read
  });
}

void Http2Connection::PostFlush() {
  if (is_flush_posted_ || is_closed_) return;
  is_flush_posted_ = true;
  loop_.AtTurnEnd([self = shared_from_this()] {
    self->is_flush_posted_ = false;
    self->Flush();
    self->AfterTurn();
  });
}

void Http2Connection::Flush() {
  while (!is_closed_) {
    if (written_ == out_.size()) {
      out_.clear();
      written_ = 0;
      if (out_.capacity() > kKeptWriteBytes) out_.shrink_to_fit();
      session_.Take(out_, kWriteBytes);
      if (out_.empty()) return;
    }
    // A part of the write may have been sent already, or the process may have been frozen since the bytes were made.
    if (!session_.MaySend()) {
      boost::asio::post(loop_.io, [self = shared_from_this()] {
        self->Break("broken off: this process does not hold the leader election lease");
      });
      return;
    }
    const auto step = link_->channel().Write(std::string_view(out_).substr(written_));
    switch (step.outcome) {
      case Channel::Outcome::kDone: written_ += step.bytes; break;
      case Channel::Outcome::kWantWrite: ArmWrite(); return;
      case Channel::Outcome::kWantRead: return;  // a read is always armed, and its handler goes on with the write
      case Channel::Outcome::kEof:
      case Channel::Outcome::kFailed:
        // What the peer sent before it closed is still read; the read finds the end as well.
        boost::asio::post(loop_.io, [self = shared_from_this(), reason = link_->channel().failure()] {
          self->ReadSome();
          self->Break(reason);
        });
        return;
    }
  }
}

void Http2Connection::ReadSome() {
  const auto self = shared_from_this();
  for (int turn = 0; !is_closed_ && turn < kReadsPerTurn; ++turn) {
    const auto step = link_->channel().Read(room_.data(), room_.size());
    switch (step.outcome) {
      case Channel::Outcome::kDone:
        last_byte_ = std::chrono::steady_clock::now();
        is_doubted_ = false;
        doubt_timer_.reset();
        asked_at_.reset();
        if (!session_.Feed(std::string_view(room_).substr(0, step.bytes))) return Break(session_.problem());
        if (is_closed_) return;
        if (step.bytes == room_.size() || link_->channel().HasBufferedInput()) continue;
        ArmRead();
        return AfterTurn();
      case Channel::Outcome::kWantRead:
        ArmRead();
        if (written_ < out_.size()) Flush();
        return AfterTurn();
      case Channel::Outcome::kWantWrite: ArmWrite(); return AfterTurn();
      case Channel::Outcome::kEof: return Break("");
      case Channel::Outcome::kFailed: return Break(link_->channel().failure());
    }
  }
  if (is_closed_) return;
  AfterTurn();
  boost::asio::post(loop_.io, [self] { self->ReadSome(); });
}

void Http2Connection::AfterTurn() {
  if (is_closed_) return;
  const bool is_over = session_.open() == 0 && (is_retired_ || session_.is_closing());
  if (is_over) {
    session_.DropAll();
    return Break("");
  }
  if (written_ == out_.size() && session_.is_dead()) return Break("the server does not keep to HTTP/2");
  // If the socket takes no more, its readiness continues the write.
  if (written_ == out_.size() && session_.has_output()) PostFlush();
  on_change_(shared_from_this());
}

}  // namespace berth::net
