// SPDX-License-Identifier: Apache-2.0
#include "berth/base/log.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log_settings.h"

namespace berth::log {
namespace {

// The line without its time.
std::string LineOf(std::string_view message, std::string_view value) {
  ::testing::internal::CaptureStderr();
  Info("area", message, {{"key", value}});
  const std::string line = ::testing::internal::GetCapturedStderr();
  const auto begin = line.find("] ");
  return begin == std::string::npos ? line : line.substr(begin + 2);
}

// What `say` writes, and the settings back to the default.
template <typename Say>
std::string LineWith(Settings settings, Say say) {
  Configure(std::move(settings));
  ::testing::internal::CaptureStderr();
  say();
  Configure({});
  return ::testing::internal::GetCapturedStderr();
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
      {"quotes", R"(a "b" \c)", R"(a \"b\" \\c)", R"(a \"b\" \\c)"},
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
  for (const auto& c : cases)
    EXPECT_EQ(LineOf(c.text, c.text), "\"" + c.message + "\" key=\"" + c.value + "\"\n") << c.name;
}

TEST(Log, TextHasKlogsHeader) {
  const std::string line = LineWith({}, [] { Warning("area", "Careful", {{"n", 3}, {"on", true}, {"error", "e"}}); });
  EXPECT_THAT(line, ::testing::MatchesRegex("W[0-9]+ [0-9]+:[0-9]+:[0-9]+\\.[0-9]+ +[0-9]+ area\\] "
                                            "\"Careful\" n=3 on=true err=\"e\"\n"));
}

TEST(Log, JsonHasComponentBasesKeys) {
  const Settings json{Format::kJson, 4, {}};
  const std::string line =
      LineWith(json, [] { Info("area", "It is \"so\"\n", {{"pod", "a/b\x1b\x9b\u202E"}, {"n", 3}, {"on", false}}); });
  EXPECT_THAT(line, ::testing::MatchesRegex("\\{\"ts\":[0-9]+(\\.[0-9]+)?,.*\n"));
  EXPECT_EQ(line.substr(line.find(",\"")),
            R"(,"logger":"area","msg":"It is \"so\"\n","v":0,"pod":"a/b\u001b\ufffd\u202e","n":3,"on":false})"
            "\n");
  EXPECT_THAT(LineWith(json, [] { Debug("area", "m"); }), ::testing::HasSubstr("\"msg\":\"m\",\"v\":4}"));
  EXPECT_THAT(LineWith(json, [] { ErrorLine("area", "m", {{"error", "e"}}); }),
              ::testing::HasSubstr("\"msg\":\"m\",\"err\":\"e\"}"));
}

TEST(Log, VerbosityAndModules) {
  const auto debug = [] { Debug("area", "m"); };
  EXPECT_EQ(LineWith({Format::kText, 3, {}}, debug), "");
  EXPECT_NE(LineWith({Format::kText, 4, {}}, debug), "");
  EXPECT_NE(LineWith({Format::kText, 0, {{"ar*", 4}}}, debug), "");
  EXPECT_EQ(LineWith({Format::kText, 0, {{"area", 3}, {"*", 9}}}, debug), "");
  EXPECT_EQ(LineWith({Format::kText, 0, {{"runner", 9}}}, debug), "");
  Configure({Format::kText, 2, {}});
  EXPECT_TRUE(IsVerbose(2));
  EXPECT_FALSE(IsVerbose(3));
  SetLevel(Level::kError);
  EXPECT_EQ(LineWith({Format::kText, 9, {}}, debug), "");
  SetLevel(Level::kInfo);
}

}  // namespace
}  // namespace berth::log
