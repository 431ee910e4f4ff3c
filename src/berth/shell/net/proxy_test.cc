// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/proxy.h"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Variables = std::map<std::string, std::string, std::less<>>;

ProxyEnvironment Environment(const Variables& variables) {
  return ReadProxyEnvironment([&](std::string_view name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

// "" where there is none.
std::string ShownProxy(const Variables& variables, std::string_view url) {
  const auto proxy = ProxyFor(Environment(variables), url);
  if (!proxy.ok()) return "error: " + proxy.error().message;
  return *proxy ? (*proxy)->shown : "";
}

TEST(ProxyTest, ParsesUrls) {
  struct Case {
    std::string text;
    Proxy::Kind kind;
    std::string host;
    std::uint16_t port;
    std::string user;  // "name|password"; empty: none
    std::string shown;
  };
  const Case cases[] = {
      {"http://proxy.example:3128", Proxy::Kind::kHttp, "proxy.example", 3128, "", "http://proxy.example:3128"},
      {"http://proxy.example", Proxy::Kind::kHttp, "proxy.example", 80, "", "http://proxy.example:80"},
      {"HTTP://proxy.example", Proxy::Kind::kHttp, "proxy.example", 80, "", "http://proxy.example:80"},
      {"http://proxy.example:/", Proxy::Kind::kHttp, "proxy.example", 80, "", "http://proxy.example:80"},
      {"http://proxy.example:1/x?y#z", Proxy::Kind::kHttp, "proxy.example", 1, "", "http://proxy.example:1"},
      {"https://proxy.example", Proxy::Kind::kHttps, "proxy.example", 443, "", "https://proxy.example:443"},
      {"socks5://[2001:db8::1]", Proxy::Kind::kSocks5, "2001:db8::1", 1080, "", "socks5://[2001:db8::1]:1080"},
      {"socks5h://10.0.0.1:9", Proxy::Kind::kSocks5, "10.0.0.1", 9, "", "socks5h://10.0.0.1:9"},
      {"http://u:p@h", Proxy::Kind::kHttp, "h", 80, "u|p", "http://h:80"},
      {"http://u@h", Proxy::Kind::kHttp, "h", 80, "u|", "http://h:80"},
      {"http://:p@h", Proxy::Kind::kHttp, "h", 80, "|p", "http://h:80"},
      {"http://u%40x:p%3a%2F%20@h", Proxy::Kind::kHttp, "h", 80, "u@x|p:/ ", "http://h:80"},
      {"http://u:p:q@r@h", Proxy::Kind::kHttp, "h", 80, "u|p:q@r", "http://h:80"},
  };
  for (const Case& c : cases) {
    const auto proxy = ParseProxy(c.text);
    ASSERT_TRUE(proxy.ok()) << c.text << ": " << proxy.error().message;
    EXPECT_EQ(proxy->kind, c.kind) << c.text;
    EXPECT_EQ(proxy->host, c.host) << c.text;
    EXPECT_EQ(proxy->port, c.port) << c.text;
    EXPECT_EQ(proxy->user ? proxy->user->name + "|" + proxy->user->password : "", c.user) << c.text;
    EXPECT_EQ(proxy->shown, c.shown) << c.text;
  }
}

TEST(ProxyTest, RefusesUrlsWithoutShowingAPassword) {
  struct Case {
    std::string text;
    std::string want;
  };
  const Case cases[] = {
      {"", "invalid proxy URL \"\": it must begin with http://, https://, socks5:// or socks5h://"},
      {"proxy.example:3128", "\"proxy.example:3128\": it must begin with http://"},
      {"ftp://u:secret@h", "invalid proxy URL \"ftp://h\": it must begin with"},
      {"socks4://h", "it must begin with"},
      {"http://", "\"http://\": it has no host"},
      {"http://u:secret@", "\"http://\": it has no host"},
      {"http://u:secret@:80", "it has no host"},
      {"http://u:secret@h:0", "\"http://h:0\": its port must be a number from 1 to 65535"},
      {"http://u:secret@h:x", "its port must be a number"},
      {"http://h:1:2", "its host must be NAME, NAME:PORT or [IPV6]:PORT"},
      {"http://u:secret@h 1", "\"http://h 1\": it has a space or a control character"},
      {"http://u:secret@h\n", "\"http://h?\": it has a space"},
      {"http://u:sec/ret@h:80", "\"http://h:80\": what of its user and password is no letter or digit must be percent"},
      {"http://u:1/secret@h:80", "\"http://h:80\": what of its user and password"},
      {"http://u:a#secret@h:80", "\"http://h:80\": what of its user and password"},
      {"http://u:a?secret@h:80", "\"http://h:80\": what of its user and password"},
      {"http://a:b@c/secret@h:80", "\"http://h:80\": what of its user and password"},
      {"http://u:secret^@h", "\"http://h\": what of its user and password"},
      {"http://u:secret%@h", "what of its user and password"},
      {"http://u:secret%4@h", "what of its user and password"},
      {"u:secret@h://x@y", "\"y\": it must begin with"},
      {"socks5://:secret@h", "SOCKS has room for a user of 1 to 255 bytes"},
      {"socks5://" + std::string(256, 'u') + ":secret@h", "\"socks5://h\": SOCKS has room"},
      {"socks5://u:secret" + std::string(256, 'p') + "@h", "SOCKS has room"},
  };
  for (const Case& c : cases) {
    const auto proxy = ParseProxy(c.text);
    ASSERT_FALSE(proxy.ok()) << c.text;
    EXPECT_THAT(proxy.error().message, HasSubstr(c.want)) << c.text;
    EXPECT_THAT(proxy.error().message, Not(HasSubstr("secret"))) << c.text;
    EXPECT_THAT(proxy.error().message, Not(HasSubstr("\n"))) << c.text;
    EXPECT_EQ(proxy.error().code, ErrorCode::kInvalid) << c.text;
  }
}

TEST(ProxyTest, WhichVariableCounts) {
  struct Case {
    std::string name;
    Variables variables;
    std::string url;
    std::string want;
  };
  const std::string https = "https://kube.example:6443";
  const std::string http = "http://kube.example:8080";
  const Case cases[] = {
      {"nothing set", {}, https, ""},
      {"https", {{"HTTPS_PROXY", "http://s:1"}, {"HTTP_PROXY", "http://p:1"}}, https, "http://s:1"},
      {"http", {{"HTTPS_PROXY", "http://s:1"}, {"HTTP_PROXY", "http://p:1"}}, http, "http://p:1"},
      {"none for https", {{"HTTP_PROXY", "http://p:1"}}, https, ""},
      {"none for http", {{"HTTPS_PROXY", "http://p:1"}}, http, ""},
      {"nobody asks for ALL_PROXY", {{"ALL_PROXY", "http://p:1"}}, https, ""},
      {"lower case", {{"https_proxy", "http://p:1"}}, https, "http://p:1"},
      {"upper before lower case", {{"HTTPS_PROXY", "http://u:1"}, {"https_proxy", "http://l:1"}}, https, "http://u:1"},
      {"an empty one is none", {{"HTTPS_PROXY", ""}, {"https_proxy", "http://l:1"}}, https, "http://l:1"},
      {"no scheme", {{"HTTPS_PROXY", "proxy.example:3128"}}, https, "http://proxy.example:3128"},
      {"no scheme and no port", {{"HTTPS_PROXY", "proxy.example"}}, https, "http://proxy.example:80"},
      {"no scheme but a user", {{"HTTPS_PROXY", "u:p@10.0.0.1:3128"}}, https, "http://10.0.0.1:3128"},
      {"SOCKS", {{"HTTPS_PROXY", "socks5h://p"}}, https, "socks5h://p:1080"},
      {"NO_PROXY in upper case",
       {{"HTTPS_PROXY", "http://p:1"}, {"NO_PROXY", "other"}, {"no_proxy", "kube.example"}},
       https,
       "http://p:1"},
      {"no_proxy", {{"HTTPS_PROXY", "http://p:1"}, {"no_proxy", "kube.example"}}, https, ""},
      {"CGI",
       {{"HTTP_PROXY", "http://p:1"}, {"REQUEST_METHOD", "GET"}},
       http,
       "error: HTTP_PROXY is not used beside REQUEST_METHOD: under CGI a client may have set it; unset one of them"},
      {"CGI and lower case",
       {{"http_proxy", "http://p:1"}, {"REQUEST_METHOD", "GET"}},
       http,
       "error: http_proxy is not used beside REQUEST_METHOD: under CGI a client may have set it; unset one of them"},
      {"CGI does not matter for https",
       {{"HTTPS_PROXY", "http://p:1"}, {"REQUEST_METHOD", "GET"}},
       https,
       "http://p:1"},
      {"CGI without a proxy", {{"REQUEST_METHOD", "GET"}}, http, ""},
      {"a bad value",
       {{"HTTPS_PROXY", "http://u:pw@p:port"}},
       https,
       "error: HTTPS_PROXY: invalid proxy URL \"http://p:port\": its port must be a number from 1 to 65535"},
      {"a bad value without a scheme",
       {{"https_proxy", "p:port"}},
       https,
       "error: https_proxy: invalid proxy URL \"http://p:port\": its port must be a number from 1 to 65535"},
      {"a scheme that is none of a proxy's",
       {{"HTTPS_PROXY", "ftp://p"}},
       https,
       "error: HTTPS_PROXY: invalid proxy URL \"ftp://p\": it must begin with http://, https://, socks5:// or "
       "socks5h://"},
      {"a bad value that nobody needs", {{"HTTPS_PROXY", "ftp://p"}, {"NO_PROXY", "*"}}, https, ""},
      {"a bad value for other URLs", {{"HTTPS_PROXY", "ftp://p"}}, http, ""},
  };
  for (const Case& c : cases) EXPECT_EQ(ShownProxy(c.variables, c.url), c.want) << c.name;
}

// Which servers are reached without the proxy, with what in NO_PROXY.
TEST(ProxyTest, Exclusions) {
  struct Case {
    std::string no_proxy;
    std::string host;
    bool is_proxied;
  };
  const Case cases[] = {
      // Loopback, whatever NO_PROXY says.
      {"", "localhost", false},
      {"", "localhost:6443", false},
      {"", "LOCALHOST", true},
      {"", "localhost.example", true},
      {"", "127.0.0.1", false},
      {"", "127.200.0.1:1", false},
      {"", "128.0.0.1", true},
      {"", "[::1]", false},
      {"", "[::1]:6443", false},
      {"", "[::ffff:127.0.0.1]", false},
      {"", "[::2]", true},
      // Names, with their subdomains.
      {"example.com", "example.com", false},
      {"example.com", "a.b.example.com", false},
      {"example.com", "notexample.com", true},
      {"example.com", "example.com.evil", true},
      {"EXAMPLE.com", "example.COM", false},
      {" example.com ", "example.com", false},
      {"other, example.com", "example.com", false},
      {",,example.com,", "example.com", false},
      {".example.com", "example.com", true},
      {".example.com", "a.example.com", false},
      {"*.example.com", "example.com", true},
      {"*.example.com", "a.example.com", false},
      {"a.*.com", "a.b.com", true},
      {"example.com.", "example.com", true},
      // Everything.
      {"*", "example.com", false},
      {"*", "10.0.0.1", false},
      {"x, *", "example.com", false},
      {"**", "example.com", true},
      {"*:443", "example.com", true},
      // Ports.
      {"example.com:443", "example.com", false},
      {"example.com:6443", "example.com:6443", false},
      {"example.com:6443", "a.example.com:6443", false},
      {".example.com:6443", "a.example.com:6443", false},
      {"*.example.com:6443", "a.example.com:6443", false},
      {"example.com:6443", "example.com:443", true},
      {"example.com:", "example.com:6443", false},
      {":443", "example.com", true},
      {"example.com:https", "example.com", true},
      {"a:b:443", "b", true},
      // Addresses.
      {"10.1.2.3", "10.1.2.3", false},
      {"10.1.2.3", "10.1.2.4", true},
      {"10.1.2.3", "10.1.2.3:6443", false},
      {"10.1.2.3:6443", "10.1.2.3:6443", false},
      {"10.1.2.3:6443", "10.1.2.3:443", true},
      {"10.1.2", "10.1.2.3", true},
      {"2001:db8::1", "[2001:DB8:0::1]", false},
      {"[2001:db8::1]:6443", "[2001:db8::1]:6443", false},
      {"[2001:db8::1]:6443", "[2001:db8::1]", true},
      {"[2001:db8::1]", "[2001:db8::1]", true},  // to Go that is a name
      {"::ffff:10.1.2.3", "10.1.2.3", false},
      {"2.3", "10.1.2.3", true},  // names match names alone
      {".3", "10.1.2.3", true},
      // Blocks.
      {"10.0.0.0/8", "10.255.0.1", false},
      {"10.0.0.0/8", "11.0.0.1", true},
      {"10.9.9.9/8", "10.0.0.1", false},
      {"10.1.2.0/23", "10.1.3.255", false},
      {"10.1.2.0/23", "10.1.4.0", true},
      {"10.1.2.3/32", "10.1.2.3", false},
      {"10.1.2.3/32", "10.1.2.2", true},
      {"0.0.0.0/0", "192.0.2.1", false},
      {"0.0.0.0/0", "[2001:db8::1]", true},
      {"0.0.0.0/0", "example.com", true},
      {"10.0.0.0/33", "10.0.0.0", true},
      {"10.0.0.0/", "10.0.0.0", true},
      {"10.0.0.0/-1", "10.0.0.0", true},
      {"2001:db8::/33", "[2001:db8:7fff::1]", false},
      {"2001:db8::/33", "[2001:db8:8000::1]", true},
      {"::/0", "[2001:db8::1]", false},
      {"::/0", "10.0.0.1", true},
      {"::ffff:10.0.0.0/104", "10.1.1.1", false},
      {"::ffff:10.0.0.0/8", "10.1.1.1", true},
      {"10.0.0.0/8,2001:db8::/32", "[2001:db8::1]", false},
      {"010.000.00.0/08", "10.1.1.1", false},  // client-go's own addition
      {"010.0.0.1", "10.0.0.1", true},
  };
  for (const Case& c : cases) {
    const Variables variables = {{"HTTPS_PROXY", "http://p:1"}, {"NO_PROXY", c.no_proxy}};
    EXPECT_EQ(ShownProxy(variables, "https://" + c.host), c.is_proxied ? "http://p:1" : "")
        << '"' << c.no_proxy << "\" and " << c.host;
  }
  const Variables variables = {{"HTTP_PROXY", "http://p:1"}, {"NO_PROXY", "example.com:80"}};
  EXPECT_EQ(ShownProxy(variables, "http://example.com"), "");
}

}  // namespace
}  // namespace berth::net
