// SPDX-License-Identifier: Apache-2.0
// The client's side of HTTP/2, fed with a hostile server's bytes. The first byte says how many requests are under way
// and how the bytes are cut. Each request hears of its end once at most, and nothing after it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/check.h"
#include "berth/shell/net/http2_session.h"

namespace berth::net {
namespace {

constexpr std::size_t kRequestsMax = 4;
constexpr std::size_t kHeaderBytesMax = 1024;

class Reader final : public Http2Reader {
 public:
  void OnHttp2Head(Response&& head) override {
    BERTH_CHECK(!has_head && !has_ended);
    BERTH_CHECK(head.status >= 200, head.status);
    std::size_t bytes = 0;
    for (const Header& header : head.headers) bytes += header.name.size() + header.value.size();
    BERTH_CHECK(bytes <= kHeaderBytesMax, bytes);
    has_head = true;
  }
  void OnHttp2Body(std::string_view) override { BERTH_CHECK(has_head && !has_ended); }
  void OnHttp2End(const Http2End& end) override {
    BERTH_CHECK(!has_ended);
    BERTH_CHECK(end.how != Http2End::How::kComplete || has_head);
    has_ended = true;
  }

  bool has_head = false;
  bool has_ended = false;
};

void Run(std::uint8_t form, std::string_view input) {
  std::array<Reader, kRequestsMax> readers;
  Http2Session session(kHeaderBytesMax);
  const std::size_t requests = 1 + form % kRequestsMax;
  std::array<std::int32_t, kRequestsMax> ids{};
  for (std::size_t i = 0; i < requests; ++i) {
    Request request;
    request.method = i % 2 == 0 ? "GET" : "POST";
    ids[i] =
        session.Submit({.authority = "host", .path = "/"}, request, std::string(i % 2 == 0 ? 0 : 100, 'x'), readers[i]);
  }
  std::string out;
  session.Take(out, 65536);
  const std::size_t piece = (form & 8) != 0 ? 1 : (form & 16) != 0 ? 9 : 4096;
  bool is_alive = true;
  for (std::size_t at = 0; at < input.size() && is_alive; at += piece) {
    is_alive = session.Feed(input.substr(at, std::min(piece, input.size() - at)));
    out.clear();
    session.Take(out, 65536);
    if (!is_alive) BERTH_CHECK(!session.problem().empty());
    if ((form & 32) != 0 && at > input.size() / 2 && ids[0] > 0 && !readers[0].has_ended) {
      session.Reset(std::exchange(ids[0], 0));
      readers[0].has_ended = true;  // it hears nothing more
    }
  }
  if (form & 64) session.Ping();
  BERTH_CHECK(session.open() <= requests);
  if (form & 128) {
    session.DropAll();
  } else {
    session.FailAll("over");
    for (std::size_t i = 0; i < requests; ++i) BERTH_CHECK(readers[i].has_ended || ids[i] == 0, i);
  }
}

}  // namespace
}  // namespace berth::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) berth::net::Run(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
