// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/net/transport.h"

namespace berth::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(ShownUrlTest, HasNoSecrets) {
  struct {
    std::string text;
    std::string want;
  } const cases[] = {
      {"https://host:6443/a/b", "https://host:6443/a/b"},
      {"https://user:secret@host/a", "https://host/a"},
      {"https://user:se@cr/et@host/a", "https://host/a"},
      {"user:secret@host", "host"},
      {"https://secret@host?token=secret&b=secret&secret", "https://host?token=xxxxx&b=xxxxx&xxxxx"},
      {"/data?key=secret=secret", "/data?key=xxxxx"},
      {"https://host/?a=secret@secret#secret", "https://host/?a=xxxxx"},
      {"https://host/?", "https://host/?xxxxx"},
      {"/api/v1/pods?limit=5&token=secret&labelSelector=a%3Db", "/api/v1/pods?limit=5&token=xxxxx&labelSelector=a%3Db"},
      {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(ShownUrl(c.text), c.want) << c.text;
  const auto refused = ParseUrl("https://admin:secret@host?x=secret");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message.find("secret"), std::string::npos) << refused.error().message;
}

TEST(PercentEncodeTest, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(PercentEncode("web-1.a_b~C9"), "web-1.a_b~C9");
  EXPECT_EQ(PercentEncode("app in (a,b)/x"), "app%20in%20%28a%2Cb%29%2Fx");
  EXPECT_EQ(PercentEncode("\xc3\xbc+%"), "%C3%BC%2B%25");
}

TEST(PercentDecodeTest, IsTheReverse) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(PercentDecode(PercentEncode(all), true).value(), all);
  EXPECT_EQ(PercentDecode(PercentEncode(all), false).value(), all);
}

TEST(PercentDecodeTest, PlusIsSpaceInQueriesOnly) {
  EXPECT_EQ(PercentDecode("a+b%2b", true).value(), "a b+");
  EXPECT_EQ(PercentDecode("a+b%2B", false).value(), "a+b+");
}

TEST(PercentDecodeTest, RefusesBrokenEscapes) {
  for (const char* text : {"%", "a%2", "%zz", "%2g", "%%20", "% 1"}) {
    const auto decoded = PercentDecode(text, false);
    ASSERT_FALSE(decoded.ok()) << text;
    EXPECT_THAT(decoded.error().message, HasSubstr("two hex digits")) << text;
  }
}

TEST(ParseTargetTest, SplitsPathAndQuery) {
  const auto target = ParseTarget("/api/v1/namespaces/a%2Fb/pods/?labelSelector=app%3Dx&watch&limit=5+0&limit=6&&=v");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->path, "/api/v1/namespaces/a%2Fb/pods/");
  EXPECT_THAT(target->segments, ElementsAre("api", "v1", "namespaces", "a/b", "pods"));
  EXPECT_THAT(target->query, ElementsAre(Pair("labelSelector", "app=x"), Pair("watch", ""), Pair("limit", "5 0"),
                                         Pair("limit", "6"), Pair("", "v")));
  EXPECT_EQ(target->Query("limit"), "5 0");
  EXPECT_EQ(target->Query("nothing"), "");
  EXPECT_TRUE(target->Has("watch"));
  EXPECT_FALSE(target->Has("nothing"));
}

TEST(ParseTargetTest, Forms) {
  struct Case {
    std::string name;
    std::string target;
    std::string path;
    std::vector<std::string> segments;
  };
  const std::vector<Case> cases = {
      {"root", "/", "/", {}},
      {"root with query", "/?a=b", "/", {}},
      {"only slashes", "///", "///", {}},
      {"empty segment inside", "/a//b", "/a//b", {"a", "", "b"}},
      {"absolute form", "http://host:1/a/b?c=d", "/a/b", {"a", "b"}},
      {"absolute form without path", "HTTPS://host", "/", {}},
      {"plus in a path is a plus", "/a+b", "/a+b", {"a+b"}},
  };
  for (const Case& c : cases) {
    const auto target = ParseTarget(c.target);
    ASSERT_TRUE(target.ok()) << c.name << ": " << target.error().message;
    EXPECT_EQ(target->path, c.path) << c.name;
    EXPECT_EQ(target->segments, c.segments) << c.name;
  }
}

TEST(ParseTargetTest, Refuses) {
  struct Case {
    std::string name;
    std::string target;
    std::string want;
  };
  std::string many = "/?";
  for (std::size_t i = 0; i <= kQueryParametersMax; ++i) many += "a&";
  const std::vector<Case> cases = {
      {"empty", "", "must begin with /"},
      {"relative", "api", "must begin with /"},
      {"asterisk", "*", "must begin with /"},
      {"fragment", "/a#b", "fragment"},
      {"space", "/a b", "percent-encoded"},
      {"control character", "/a\x01", "\"/a?\""},
      {"broken escape in the path", "/a%2", "two hex digits"},
      {"broken escape in a key", "/?%=1", "two hex digits"},
      {"broken escape in a value", "/?a=%g0", "two hex digits"},
      {"too many parameters", many, "more than 1024"},
  };
  for (const Case& c : cases) {
    const auto target = ParseTarget(c.target);
    ASSERT_FALSE(target.ok()) << c.name;
    EXPECT_THAT(target.error().message, HasSubstr(c.want)) << c.name;
  }
}

TEST(ParseUrlTest, Forms) {
  struct Case {
    std::string text;
    Url want;
  };
  const std::vector<Case> cases = {
      {"http://127.0.0.1:8001", {"http", "127.0.0.1", 8001, ""}},
      {"https://kube.example", {"https", "kube.example", 443, ""}},
      {"HTTP://kube.example/", {"http", "kube.example", 80, "/"}},
      {"https://[::1]:6443/k8s/clusters/c%201", {"https", "::1", 6443, "/k8s/clusters/c%201"}},
      {"https://[fe80::1]", {"https", "fe80::1", 443, ""}},
  };
  for (const Case& c : cases) {
    const auto url = ParseUrl(c.text);
    ASSERT_TRUE(url.ok()) << c.text << ": " << url.error().message;
    EXPECT_EQ(url->scheme, c.want.scheme) << c.text;
    EXPECT_EQ(url->host, c.want.host) << c.text;
    EXPECT_EQ(url->port, c.want.port) << c.text;
    EXPECT_EQ(url->path, c.want.path) << c.text;
  }
}

TEST(ParseUrlTest, Refuses) {
  struct Case {
    std::string text;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"", "must begin with http:// or https://"},
      {"127.0.0.1:8001", "must begin with http:// or https://"},
      {"ftp://a", "scheme must be http or https"},
      {"http://", "no host"},
      {"http://:80", "no host"},
      {"http://a:", "port must be"},
      {"http://a:0", "port must be"},
      {"http://a:65536", "port must be"},
      {"http://a:8x", "port must be"},
      {"http://a:-1", "port must be"},
      {"http://::1", "[IPV6]:PORT"},
      {"http://[::1", "[IPV6]:PORT"},
      {"http://[::1]x", "[IPV6]:PORT"},
      {"http://[a]", "[IPV6]:PORT"},
      {"http://u:p@a", "user name"},
      {"http://a?b", "query"},
      {"http://a/#b", "fragment"},
      {"http://a b", "space"},
      {"http://a/%", "two hex digits"},
  };
  for (const Case& c : cases) {
    const auto url = ParseUrl(c.text);
    ASSERT_FALSE(url.ok()) << c.text;
    EXPECT_THAT(url.error().message, HasSubstr(c.want)) << c.text;
  }
}

TEST(HostPortTest, SplitAndJoin) {
  for (const char* text : {"127.0.0.1:8001", "[::1]:443", "localhost:0", ":8001"}) {
    const auto split = SplitHostPort(text);
    ASSERT_TRUE(split.ok()) << text;
    EXPECT_EQ(JoinHostPort(split->first, split->second), text);
  }
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "a:b", "a:99999", "::1:80", "[::1]", "a b:80"}) {
    const auto split = SplitHostPort(text);
    ASSERT_FALSE(split.ok()) << text;
    EXPECT_THAT(split.error().message, HasSubstr("must be HOST:PORT")) << text;
  }
}

TEST(ResponseTest, GetIgnoresCaseAndTakesTheFirst) {
  const Response response{.headers = {{"Retry-After", "3"}, {"retry-after", "4"}}};
  EXPECT_EQ(response.Get("RETRY-AFTER"), "3");
  EXPECT_EQ(response.Get("Location"), "");
}

}  // namespace
}  // namespace berth::net
