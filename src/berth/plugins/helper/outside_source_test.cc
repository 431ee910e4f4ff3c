// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/outside_source.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "berth/plugins/helper/policy_args.h"

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;

TEST(OutsideSource, APortIsCutFromNamesThatHaveOne) {
  const struct {
    std::string_view name, want;
  } kCases[] = {
      {"node-1", "node-1"}, {"node-1:9100", "node-1"}, {"10.0.0.1:9100", "10.0.0.1"}, {"fe80::1:9100", "fe80::1:9100"},
      {":9100", ":9100"},   {"node-1:", "node-1:"},    {"node-1:web", "node-1:web"},  {"", ""}};
  for (const auto& test_case : kCases) EXPECT_EQ(WithoutPort(test_case.name), test_case.want);
}

TEST(OutsideSource, WordsBecomeOnePrintableLine) {
  const struct {
    std::string_view words, want;
  } kCases[] = {
      {"PING CRITICAL - Packet loss = 100%", "PING CRITICAL - Packet loss = 100%"},
      {"two\nlines\r\n\tand  blanks ", "two lines and blanks"},
      {"\x1b[31mred\x07", "?[31mred?"},
      {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"\xff\xc3", "??"},
      {"\xc0\xaf overlong", "?? overlong"},
      {"\xed\xa0\x80 surrogate", "??? surrogate"},
      {"turned \xe2\x80\xae around", "turned ??? around"},
      {"", ""},
      {"0123456789012345678901234567890123456789", "0123456789012345678901234567890123456789"},
      {"01234567890123456789012345678901234567890", "0123456789012345678901234567890123456..."},
      {"0123456789012345678901234567890123456\xc3\xbc"
       "789",
       "0123456789012345678901234567890123456..."},
  };
  for (const auto& test_case : kCases) {
    EXPECT_EQ(Printable(test_case.words, 40), test_case.want);
    EXPECT_LE(Printable(test_case.words, 40).size(), 40U);
  }
}

TEST(OutsideSource, NumbersAreNumbersAndNothingElse) {
  EXPECT_EQ(ParseNumber("0.25"), 0.25);
  EXPECT_EQ(ParseNumber("-1"), -1);
  EXPECT_EQ(ParseNumber("1.5e-3"), 0.0015);
  for (const char* text : {"", "NaN", "nan", "+Inf", "inf", "-Inf", "1 ", " 1", "1,5", "0x10", "1e999", "%"})
    EXPECT_EQ(ParseNumber(text), std::nullopt) << text;
}

TEST(OutsideSource, UrlsAreJoinedAndQueriesEncoded) {
  EXPECT_EQ(JoinUrl("http://p:9090", "/api"), "http://p:9090/api");
  EXPECT_EQ(JoinUrl("http://p:9090/sub/", "/api"), "http://p:9090/sub/api");
  EXPECT_EQ(PercentEncode("1 - rate(x{mode=\"idle\"}[1m])"), "1%20-%20rate%28x%7Bmode%3D%22idle%22%7D%5B1m%5D%29");
}

TEST(OutsideSource, ArgumentsOfASource) {
  const auto read = [](std::string json) {
    return ReadPolicyArgs<framework::OutsideSource>("P", config::RawArgs{std::move(json)},
                                                    [](config::ObjectReader& reader, framework::OutsideSource& source) {
                                                      ReadEndpoint(reader, source);
                                                      ReadPolling(reader, source);
                                                    });
  };
  const auto source = read(
      R"({"url":"https://p","caFile":"/ca","insecureSkipTLSVerify":true,"bearerTokenFile":"/t","interval":"30s","timeout":"2s"})");
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ(source->url, "https://p");
  EXPECT_EQ(source->ca_file, "/ca");
  EXPECT_TRUE(source->insecure_skip_tls_verify);
  EXPECT_EQ(source->bearer_token_file, "/t");
  EXPECT_EQ(source->interval, 30s);
  EXPECT_EQ(source->timeout, 2s);
  const struct {
    std::string json, error;
  } kCases[] = {
      {"{}", "args.url: Required value"},
      {R"({"url":"p:9090"})", "must begin with http://"},
      {R"({"url":"http://p","interval":"10ms"})", "must be at least 1s"},
      {R"({"url":"http://p","timeout":"0s"})", "must be at least 1ms"},
      {R"({"url":"http://p","bearerTokenFile":"/a","basicAuthFile":"/b"})", "args.basicAuthFile"},
      {R"({"url":"http://p","colour":"red"})", "colour"},
  };
  for (const auto& test_case : kCases) {
    const auto refused = read(test_case.json);
    ASSERT_FALSE(refused.ok()) << test_case.json;
    EXPECT_NE(refused.error().message.find(test_case.error), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace berth::plugins
