// SPDX-License-Identifier: Apache-2.0
#include "berth/base/log.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::log {
namespace {

// The line without its time.
std::string LineOf(std::string_view message, std::string_view value) {
  ::testing::internal::CaptureStderr();
  Info("area", message, {{"key", value}});
  const std::string line = ::testing::internal::GetCapturedStderr();
  const auto begin = line.find("area] ");
  return begin == std::string::npos ? line : line.substr(begin + 6);
}

TEST(Log, OneEventIsOneLineOfWhatCanBeShown) {
  struct {
    const char* name;
    std::string text;
    std::string message;  // as it is written there
    std::string value;
  } const cases[] = {
      {"plain", "web-1 (ready)", "web-1 (ready)", "web-1 (ready)"},
      {"other languages", "Größe 大きさ 🚢", "Größe 大きさ 🚢", "Größe 大きさ 🚢"},
      {"quotes", R"(a "b" \c)", R"(a "b" \c)", R"(a \"b\" \\c)"},
      {"lines", "a\nb\r\tc", "a\\nb\\r\\tc", "a\\nb\\r\\tc"},
      {"escape sequences", "\x1b[2J\x1b]0;x\x07", "\\x1b[2J\\x1b]0;x\\x07", "\\x1b[2J\\x1b]0;x\\x07"},
      {"zero and DEL", std::string("\0\x7f", 2), "\\x00\\x7f", "\\x00\\x7f"},
      {"C1 as characters",
       "\xc2\x9b"
       "2J",
       "\\u009b2J", "\\u009b2J"},
      {"C1 as bytes",
       "\x9b"
       "2J",
       "\\x9b2J", "\\x9b2J"},
      {"broken UTF-8", "a\xff\xe2\x82z", "a\\xff\\xe2\\x82z", "a\\xff\\xe2\\x82z"},
      {"turned around", "a\u202Eb\u2066c\u2028d", "a\\u202eb\\u2066c\\u2028d", "a\\u202eb\\u2066c\\u2028d"},
  };
  for (const auto& c : cases) EXPECT_EQ(LineOf(c.text, c.text), c.message + " key=\"" + c.value + "\"\n") << c.name;
}

}  // namespace
}  // namespace berth::log
