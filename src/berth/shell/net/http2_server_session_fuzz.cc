// SPDX-License-Identifier: Apache-2.0
// The server's side of HTTP/2, fed with a hostile client's bytes. The first byte says how the bytes are cut, whether
// the client's greeting comes before them, and how requests are answered. No request comes twice or after its stream's
// end, and none is larger than the limits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "berth/base/check.h"
#include "berth/shell/net/http2_server_session.h"

namespace berth::net {
namespace {

using Event = Http2ServerSession::Event;

constexpr Http2ServerSession::Limits kLimits{.header_bytes_max = 1024, .body_bytes_max = 4096, .streams_max = 4};
constexpr std::string_view kGreeting("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr std::size_t kAnswerBytes = 3000;
constexpr std::size_t kOutputBytesMax = 65536;

class Server {
 public:
  explicit Server(std::uint8_t form) : form_(form) {}

  bool Feed(std::string_view bytes) {
    const bool is_alive = session_.Feed(bytes, {});
    if (!is_alive) BERTH_CHECK(!session_.problem().empty() && session_.is_dead());
    HandleEvents();
    std::string out;
    session_.Take(out, kOutputBytesMax);
    HandleEvents();
    BERTH_CHECK(session_.open() <= kLimits.streams_max, session_.open());
    for (const auto& request : session_.receiving()) {
      BERTH_CHECK(request.bytes <= kLimits.header_bytes_max + 2 * kLimits.body_bytes_max, request.bytes);
    }
    return is_alive;
  }

  // Answers what was left open, and ends.
  void End() {
    for (const auto& [stream, state] : streams_) {
      if (state.is_open) session_.Resume(stream);
    }
    is_ending_ = true;
    session_.GoAway();
    std::string out;
    session_.Take(out, kOutputBytesMax);
    HandleEvents();
    if ((form_ & 16) != 0) session_.Terminate(Http2ServerSession::Code::kEnhanceYourCalm);
  }

 private:
  struct Stream {
    bool is_open = true;
    std::size_t left = kAnswerBytes;
  };

  Http2ServerSession::Part ReadBody(std::int32_t stream, char* room, std::size_t size) {
    Stream& state = streams_.at(stream);
    const bool waits = (form_ & 8) != 0 && !is_ending_ && state.left <= kAnswerBytes / 2;
    const std::size_t bytes = waits ? 0 : std::min({size, state.left, kAnswerBytes / 2});
    std::fill_n(room, bytes, 'x');
    state.left -= bytes;
    return {bytes, state.left == 0};
  }

  void HandleEvents() {
    for (const Event& event : session_.TakeEvents()) {
      if (event.kind == Event::Kind::kClosed) {
        const auto found = streams_.find(event.stream);
        if (found == streams_.end()) continue;
        BERTH_CHECK(found->second.is_open, event.stream);
        found->second.is_open = false;
        continue;
      }
      BERTH_CHECK(streams_.emplace(event.stream, Stream()).second, event.stream);
      std::size_t head_bytes = event.request.method.size() + event.request.target.size();
      for (const Header& header : event.request.headers) head_bytes += header.name.size() + header.value.size();
      BERTH_CHECK(head_bytes <= kLimits.header_bytes_max, head_bytes);
      BERTH_CHECK(event.request.body.size() <= kLimits.body_bytes_max, event.request.body.size());
      BERTH_CHECK((event.kind == Event::Kind::kRefused) == (event.status != 0), event.status);
      if ((form_ & 32) != 0 && event.stream % 4 == 1) {
        session_.Reset(event.stream, Http2ServerSession::Code::kRefusedStream);
      } else {
        session_.Answer(event.stream, {200, {{"A", "b"}}, {}}, kAnswerBytes, event.stream % 8 != 3);
      }
    }
  }

  const std::uint8_t form_;
  bool is_ending_ = false;
  std::map<std::int32_t, Stream> streams_;
  Http2ServerSession session_{
      kLimits, [this](std::int32_t stream, char* room, std::size_t size) { return ReadBody(stream, room, size); }};
};

void Run(std::uint8_t form, std::string_view input) {
  Server server(form);
  if ((form & 64) == 0) BERTH_CHECK(server.Feed(kGreeting));
  const std::size_t piece = (form & 1) != 0 ? 1 : (form & 2) != 0 ? 9 : 4096;
  for (std::size_t at = 0; at < input.size(); at += piece) {
    if (!server.Feed(input.substr(at, std::min(piece, input.size() - at)))) break;
  }
  server.End();
}

}  // namespace
}  // namespace berth::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) berth::net::Run(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
