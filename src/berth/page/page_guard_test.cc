// SPDX-License-Identifier: Apache-2.0
#include "berth/page/page_guard.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::page {
namespace {

constexpr char kAddress[] = "127.0.0.1:8400";

net::Request RequestOf(const std::string& target, std::vector<net::Header> headers) {
  net::Request request;
  request.target = target;
  request.headers = std::move(headers);
  return request;
}

// 0: it was let through.
int StatusOf(PageGuard& guard, const net::Request& request) {
  const auto answer = guard.Check(request, *net::ParseTarget(request.target));
  return answer ? answer->status : 0;
}

TEST(PageGuardTest, OnlyTheCookieLetsThrough) {
  struct Case {
    const char* what;
    std::vector<net::Header> headers;
    int status;
  };
  const net::Header cookie{"Cookie", "other=1; berth-ui-8400=session"};
  const std::vector<Case> cases = {
      {"the cookie", {{"Host", kAddress}, cookie}, 0},
      {"by name", {{"Host", "localhost:8400"}, cookie}, 0},
      {"its own origin", {{"Host", kAddress}, cookie, {"Origin", "http://127.0.0.1:8400"}}, 0},
      {"no cookie", {{"Host", kAddress}}, 403},
      {"a wrong cookie", {{"Host", kAddress}, {"Cookie", "berth-ui-8400=guess"}}, 403},
      {"another server's cookie", {{"Host", kAddress}, {"Cookie", "berth-ui-8401=session"}}, 403},
      {"a name that was pointed here", {{"Host", "evil.example:8400"}, cookie}, 403},
      {"another port", {{"Host", "127.0.0.1:80"}, cookie}, 403},
      {"no Host", {cookie}, 403},
      {"another site", {{"Host", kAddress}, cookie, {"Origin", "https://evil.example"}}, 403},
      {"an opaque origin", {{"Host", kAddress}, cookie, {"Origin", "null"}}, 403},
      {"another port's site", {{"Host", kAddress}, cookie, {"Origin", "http://127.0.0.1:9000"}}, 403},
  };
  for (const Case& one : cases) {
    PageGuard guard("key", "session", kAddress);
    EXPECT_EQ(StatusOf(guard, RequestOf("/ui/api/v1/status", one.headers)), one.status) << one.what;
  }
}

TEST(PageGuardTest, TheKeyWorksOnceAndGivesTheCookie) {
  PageGuard guard("key", "session", kAddress);
  EXPECT_EQ(guard.Link(), "http://127.0.0.1:8400/ui/?key=key");
  const std::vector<net::Header> host = {{"Host", kAddress}};
  EXPECT_EQ(StatusOf(guard, RequestOf("/ui/?key=kez", host)), 403);
  EXPECT_EQ(StatusOf(guard, RequestOf("/ui/?key=", host)), 403);
  const net::Request request = RequestOf("/ui/?key=key", host);
  const auto first = guard.Check(request, *net::ParseTarget(request.target));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(first->Get("Set-Cookie"), "berth-ui-8400=session; Path=/ui/; HttpOnly; SameSite=Strict");
  EXPECT_EQ(StatusOf(guard, request), 403) << "somebody else has found the link";
  EXPECT_EQ(StatusOf(guard, RequestOf("/ui/?key=key", {{"Host", kAddress}, {"Cookie", "berth-ui-8400=session"}})), 200)
      << "the same browser once more";
}

}  // namespace
}  // namespace berth::page
