// SPDX-License-Identifier: Apache-2.0
#include "berth/base/log.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log_settings.h"
#include "berth/base/log_writer.h"

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

// What `say` writes with these settings; restores the defaults.
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
    std::string message;  // as written in the log
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
  constexpr const char* kHeader =
      "[IWE][0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} +[0-9]+ log_test\\.cc:[0-9]+\\] ";
  const auto expect = [&](char severity, const std::string& line, const std::string& rest) {
    EXPECT_THAT(line, ::testing::MatchesRegex(kHeader + rest + "\n"));
    EXPECT_EQ(line[0], severity) << line;
  };
  const Settings verbose{Format::kText, 4, {}};
  expect('W', LineWith({}, [] { Warning("area", "Careful", {{"n", 3}, {"on", true}}); }), "\"Careful\" n=3 on=true");
  expect('I', LineWith(verbose, [] { Debug("area", "m"); }), "\"m\"");
  expect('E', LineWith({}, [] { ErrorLine("area", "m", {{"pod", "a/b"}, {"error", "e"}}); }),
         "\"m\" err=\"e\" pod=\"a/b\"");
  expect('I', LineWith({}, [] { Info("area", "m", {{"err", "e"}, {"pod", "a/b"}}); }), "\"m\" err=\"e\" pod=\"a/b\"");
}

TEST(Log, TheLineNumberIsTheCallers) {
  const int here = __LINE__;
  const std::string line = LineWith({}, [] { Info("area", "m"); });
  EXPECT_THAT(line, ::testing::HasSubstr(" log_test.cc:" + std::to_string(here + 1) + "] "));
}

TEST(Log, JsonHasComponentBasesKeys) {
  const Settings json{Format::kJson, 4, {}};
  const std::string line =
      LineWith(json, [] { Info("area", "It is \"so\"\n", {{"pod", "a/b\x1b\x9b\u202E"}, {"n", 3}, {"on", false}}); });
  EXPECT_THAT(line, ::testing::MatchesRegex("\\{\"ts\":[0-9]+(\\.[0-9]+)?,\"logger\":\"area\","
                                            "\"caller\":\"base/log_test.cc:[0-9]+\",\"msg\":.*\n"));
  EXPECT_EQ(line.substr(line.find(",\"msg")),
            R"(,"msg":"It is \"so\"\n","v":0,"pod":"a/b\u001b\ufffd\u202e","n":3,"on":false})"
            "\n");
  EXPECT_THAT(LineWith(json, [] { Debug("area", "m"); }), ::testing::HasSubstr("\"msg\":\"m\",\"v\":4}"));
  EXPECT_THAT(LineWith(json, [] { Info(Detail{2}, "area", "m", {}); }), ::testing::HasSubstr("\"msg\":\"m\",\"v\":2}"));
  EXPECT_THAT(LineWith(json, [] { ErrorLine("area", "m", {{"error", "e"}, {"pod", "a/b"}}); }),
              ::testing::HasSubstr("\"msg\":\"m\",\"pod\":\"a/b\",\"err\":\"e\"}"));
}

TEST(Log, VerbosityAndModules) {
  const auto debug = [] { Debug("area", "m"); };
  const auto scheduled = [] { Info({2, "schedule_one"}, "area", "m", {}); };
  using Modules = std::vector<std::pair<std::string, int>>;
  const struct {
    const char* name;
    int verbosity;
    Modules modules;
    bool has_debug;
    bool has_scheduled;
  } cases[] = {
      {"nothing", 0, {}, false, false},
      {"upstream's level", 2, {}, false, true},
      {"below debugging", 3, {}, false, true},
      {"debugging", 4, {}, true, true},
      {"the area", 0, {{"ar*", 4}}, true, true},
      {"the first that matches", 0, {{"area", 1}, {"*", 9}}, false, false},
      {"another area", 0, {{"runner", 9}}, false, false},
      {"the source", 0, {{"log_test", 4}}, true, true},
      {"not with its ending", 0, {{"log_test.cc", 4}}, false, false},
      {"upstream's source", 0, {{"schedule_one", 5}}, false, true},
      {"upstream's source, less of it", 0, {{"schedule_one", 1}}, false, false},
      {"a pattern for upstream's source", 0, {{"schedule_*", 2}}, false, true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(!LineWith({Format::kText, c.verbosity, c.modules}, debug).empty(), c.has_debug) << c.name;
    EXPECT_EQ(!LineWith({Format::kText, c.verbosity, c.modules}, scheduled).empty(), c.has_scheduled) << c.name;
  }
}

TEST(Log, VerbosityCanChange) {
  Configure({Format::kText, 2, {}});
  EXPECT_TRUE(IsVerbose(2));
  EXPECT_FALSE(IsVerbose(3));
  SetVerbosity(5);
  EXPECT_TRUE(Enabled({5}));
  EXPECT_FALSE(Enabled({6}));
  SetVerbosity(0);
  EXPECT_FALSE(Enabled({1}));
  SetLevel(Level::kError);
  EXPECT_EQ(LineWith({Format::kText, 9, {}}, [] { Debug("area", "m"); }), "");
  EXPECT_EQ(LineWith({Format::kText, 9, {}}, [] { Warning("area", "m"); }), "");
  SetLevel(Level::kInfo);
}

TEST(Log, AWriterWritesTheSameLines) {
  const std::uint64_t dropped = DroppedLines();
  ::testing::internal::CaptureStderr();
  {
    const AsyncWriter writer;
    for (int i = 0; i < 1000; ++i) Info("area", "m", {{"i", i}});
    Flush(std::chrono::seconds(60));  // the destructor of the writer waits two seconds
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  std::size_t at = 0;
  for (int i = 0; i < 1000 && at != std::string::npos; ++i) at = text.find("\"m\" i=" + std::to_string(i) + "\n", at);
  EXPECT_NE(at, std::string::npos) << "in their order, and all of them";
  EXPECT_EQ(DroppedLines(), dropped);
}

TEST(Log, FlushWaitsForTheWriter) {
  ::testing::internal::CaptureStderr();
  const AsyncWriter writer;
  Warning("area", "at last");
  Flush(std::chrono::seconds(60));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("\"at last\""));
}

TEST(Log, StreamsAreSplit) {
  struct Streams {
    std::string out, err;
  };
  const auto write = [](Format format, bool splits) {
    Configure({format, 0, {}, splits});
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Info("area", "info");
    Warning("area", "warning");
    ErrorLine("area", "error");
    Configure({});
    Streams streams{::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
    return streams;
  };
  using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;
  const Streams together = write(Format::kText, false);
  EXPECT_EQ(together.out, "");
  EXPECT_THAT(together.err, AllOf(HasSubstr("\"info\""), HasSubstr("\"warning\""), HasSubstr("\"error\"")));
  // Upstream's text format is split by severity, its JSON into errors and the rest.
  const Streams text = write(Format::kText, true);
  EXPECT_THAT(text.out, AllOf(HasSubstr("\"info\""), Not(HasSubstr("\"warning\"")), Not(HasSubstr("\"error\""))));
  EXPECT_THAT(text.err, AllOf(Not(HasSubstr("\"info\"")), HasSubstr("\"warning\""), HasSubstr("\"error\"")));
  const Streams json = write(Format::kJson, true);
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"info\""), HasSubstr("\"warning\""), Not(HasSubstr("\"error\""))));
  EXPECT_THAT(json.err, AllOf(Not(HasSubstr("\"info\"")), Not(HasSubstr("\"warning\"")), HasSubstr("\"error\"")));
}

}  // namespace
}  // namespace berth::log
