// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/flag_set.h"

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

struct Values {
  std::string name = "default";
  bool on = false;
  bool off = true;
  std::int32_t port = 10259;
  std::int32_t level = 0;
  Duration period = 15s;
  Words paths = {"/healthz", "/livez"};
  FlagSet flags;

  Values() {
    flags.BeginGroup("Some");
    flags.Add("the-name", name, "The name");
    flags.Add("on", on, "Switches it on");
    flags.Add("off", off, "Switches it off");
    flags.Add("secure-port", port, "The port");
    flags.BeginGroup("Other");
    flags.Add("v", level, "How much is said").letter = 'v';
    flags.Add("period", period, "How long");
    flags.Add("paths", paths, "Which");
  }
  std::string Error(const Words& arguments) {
    const auto words = flags.Parse(arguments);
    return words.ok() ? "" : words.error().message;
  }
};

TEST(FlagSet, ReadsEachFormThatPflagReads) {
  struct {
    Words arguments;
    std::string name;
    bool on, off;
    std::int32_t port, level;
    Duration period;
    Words paths, words;
  } const cases[] = {
      {{}, "default", false, true, 10259, 0, 15s, {"/healthz", "/livez"}, {}},
      {{"--the-name", "a", "--on"}, "a", true, true, 10259, 0, 15s, {"/healthz", "/livez"}, {}},
      {{"--the_name=a=b", "--off=F"}, "a=b", false, false, 10259, 0, 15s, {"/healthz", "/livez"}, {}},
      {{"--the-name=", "--secure_port", "0x10"}, "", false, true, 16, 0, 15s, {"/healthz", "/livez"}, {}},
      {{"-v=2", "--period", "1m30s"}, "default", false, true, 10259, 2, 90s, {"/healthz", "/livez"}, {}},
      {{"-v2"}, "default", false, true, 10259, 2, 15s, {"/healthz", "/livez"}, {}},
      {{"-v", "2", "--v=3"}, "default", false, true, 10259, 3, 15s, {"/healthz", "/livez"}, {}},
      {{"--paths=a,b", "--paths", "\"c,d\",e"}, "default", false, true, 10259, 0, 15s, {"a", "b", "c,d", "e"}, {}},
      {{"--paths="}, "default", false, true, 10259, 0, 15s, {}, {}},
      {{"--on", "false"}, "default", true, true, 10259, 0, 15s, {"/healthz", "/livez"}, {"false"}},
      {{"x", "-", "--", "--on", "-v"},
       "default",
       false,
       true,
       10259,
       0,
       15s,
       {"/healthz", "/livez"},
       {"x", "-", "--on", "-v"}},
      {{"--the-name", "--on"}, "--on", false, true, 10259, 0, 15s, {"/healthz", "/livez"}, {}},
  };
  for (const auto& c : cases) {
    Values values;
    const auto words = values.flags.Parse(c.arguments);
    const std::string line = ::testing::PrintToString(c.arguments);
    ASSERT_TRUE(words.ok()) << line << words.error().message;
    EXPECT_EQ(values.name, c.name) << line;
    EXPECT_EQ(values.on, c.on) << line;
    EXPECT_EQ(values.off, c.off) << line;
    EXPECT_EQ(values.port, c.port) << line;
    EXPECT_EQ(values.level, c.level) << line;
    EXPECT_EQ(values.period, c.period) << line;
    EXPECT_EQ(values.paths, c.paths) << line;
    EXPECT_EQ(*words, c.words) << line;
  }
}

TEST(FlagSet, AnErrorNamesFlagAndValueAndWhatWouldBeRight) {
  struct {
    Words arguments;
    std::string error;
  } const cases[] = {
      {{"--on=maybe"}, "--on: \"maybe\" should be true or false"},
      {{"--secure-port=https"},
       "--secure-port: \"https\" is no number, or too large: should be a whole number of 32 bits"},
      {{"--secure-port", "2147483648"},
       "--secure-port: \"2147483648\" is no number, or too large: should be a whole number of 32 bits"},
      {{"--period=15"}, "--period: \"15\" should be a duration such as 15s or 1m30s"},
      {{"--paths=a,\"b"},
       "--paths: \"a,\"b\" should be a list by commas; a value with a comma or quote stands in double quotes"},
      {{"--secure-prt=1"}, "unknown flag --secure-prt; the nearest is --secure-port"},
      {{"--something-else"}, "unknown flag --something-else"},
      {{"-x"}, "unknown flag -x"},
      {{"-v="}, "--v: \"=\" is no number, or too large: should be a whole number of 32 bits"},
      {{"--the-name"}, "--the-name needs a value: string"},
      {{"-v"}, "--v needs a value: int"},
      {{"--=1"}, "\"--=1\" is no flag: should be --name=value"},
      {{"---on"}, "\"---on\" is no flag: should be --name=value"},
  };
  for (const auto& c : cases) EXPECT_EQ(Values().Error(c.arguments), c.error);
}

TEST(FlagSet, KnowsWhichFlagsWereGiven) {
  Values values;
  ASSERT_EQ(values.Error({"--off=true", "-v=0"}), "");
  EXPECT_TRUE(values.flags.IsGiven("off"));
  EXPECT_TRUE(values.flags.IsGiven("v"));
  EXPECT_FALSE(values.flags.IsGiven("on"));
  EXPECT_FALSE(values.flags.IsGiven("no-such-flag"));
}

TEST(FlagSet, HelpHasTheGroupsWithTheirDefaults) {
  EXPECT_EQ(Values().flags.Help(58),
            "Some flags:\n\n"
            "      --the-name string   The name (default \"default\")\n"
            "      --on                Switches it on\n"
            "      --off               Switches it off (default true)\n"
            "      --secure-port int   The port (default 10259)\n"
            "\n"
            "Other flags:\n\n"
            "  -v, --v int             How much is said\n"
            "      --period duration   How long (default 15s)\n"
            "      --paths strings     Which (default\n"
            "                          [/healthz,/livez])\n");
}

TEST(FlagSet, GoIntegers) {
  const std::optional<std::int64_t> none;
  struct {
    std::string text;
    int bits;
    std::optional<std::int64_t> value;
  } const cases[] = {
      {"0", 32, 0},
      {"-1", 32, -1},
      {"+7", 32, 7},
      {"0x1F", 32, 31},
      {"0o17", 32, 15},
      {"017", 32, 15},
      {"0b101", 32, 5},
      {"1_000", 32, 1000},
      {"0x1_0", 32, 16},
      {"0_7", 32, 7},
      {"", 32, none},
      {"-", 32, none},
      {"08", 32, none},
      {"1e3", 32, none},
      {" 1", 32, none},
      {"0x", 32, none},
      {"2147483647", 32, 2147483647},
      {"-2147483649", 32, none},
      {"9223372036854775807", 64, std::numeric_limits<std::int64_t>::max()},
      {"9223372036854775808", 64, none},
  };
  for (const auto& c : cases) EXPECT_EQ(ParseGoInteger(c.text, c.bits), c.value) << c.text;
}

}  // namespace
}  // namespace berth::cli
