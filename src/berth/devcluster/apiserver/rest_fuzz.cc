// SPDX-License-Identifier: Apache-2.0
// Whole requests to the embedded API server, divided by 0x1e: "METHOD TARGET" on the first line, headers on the next,
// an empty line, the body. Each is answered once, and with JSON where it says so; watches are read to their end.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/codec/json.h"
#include "berth/devcluster/apiserver/server.h"

namespace berth::apiserver {
namespace {

constexpr std::size_t kRequestsMax = 16;
constexpr Time kStart{std::chrono::hours(24 * 365 * 56)};

class FixedClock final : public Clock {
 public:
  Time Now() const override { return now; }
  Time now = kStart;
};

class Reader final : public net::ResponseWriter {
 public:
  explicit Reader(int& answers) : answers_(answers) {}

  void Send(net::Response response) override {
    BERTH_CHECK(!has_head_);
    has_head_ = true;
    ++answers_;
    BERTH_CHECK(response.status >= 200 && response.status < 600, response.status);
    if (response.Get("Content-Type") != "application/json" || response.body.empty()) return;
    const auto parsed = codec::ParseJson(response.body, {.bytes_max = response.body.size(), .depth_max = 1024});
    BERTH_CHECK(parsed.ok(), response.status, parsed.ok() ? "" : parsed.error().message, response.body);
    // 504: a resourceVersion that is still to come, as upstream.
    BERTH_CHECK(response.status < 500 || response.status == 504, response.status, response.body);
  }
  void StartStream(net::Response response) override {
    BERTH_CHECK(!has_head_ && !has_ended_);
    has_head_ = true;
    ++answers_;
    CheckLines(response.body);
  }
  bool Write(std::string_view bytes) override {
    BERTH_CHECK(has_head_ && !has_ended_);
    CheckLines(bytes);
    return true;
  }
  void End() override {
    BERTH_CHECK(has_head_ && !has_ended_);
    has_ended_ = true;
  }
  void OnClosed(std::function<void()>) override {}

 private:
  static void CheckLines(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      BERTH_CHECK(end != std::string_view::npos);
      BERTH_CHECK(codec::ParseJson(bytes.substr(0, end), {.depth_max = 1024}).ok(), bytes.substr(0, end));
      bytes.remove_prefix(end + 1);
    }
  }

  int& answers_;
  bool has_head_ = false;
  bool has_ended_ = false;
};

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

net::Request ParseRequest(std::string_view text) {
  net::Request request;
  const std::string_view first = TakeLine(text);
  const std::size_t space = first.find(' ');
  request.method = first.substr(0, space);
  request.target = space == std::string_view::npos ? "" : first.substr(space + 1);
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (line.empty()) break;
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    request.headers.push_back({std::string(line.substr(0, colon)), std::string(line.substr(colon + 2))});
  }
  request.body = text;
  return request;
}

}  // namespace
}  // namespace berth::apiserver

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using namespace berth::apiserver;
  log::SetLevel(log::Level::kError);
  FixedClock clock;
  ApiServer server(objects::ResourceTypes(), clock, {.history_events_max = 8, .event_objects_max = 4});
  const net::Handler handler = server.handler();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (std::size_t i = 0; !rest.empty() && i < kRequestsMax; ++i) {
    const std::size_t end = rest.find('\x1e');
    int answers = 0;
    handler(ParseRequest(rest.substr(0, end)), std::make_shared<Reader>(answers));
    BERTH_CHECK(answers == 1, answers);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    clock.now += std::chrono::seconds(20);
    server.Tick();
  }
  return 0;
}
