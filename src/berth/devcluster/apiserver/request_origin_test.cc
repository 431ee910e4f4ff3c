// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/request_origin.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

TEST(RequestOrigin, PagesOfOthersAreNotAnswered) {
  struct Case {
    const char* host;
    const char* origin;
    bool is_answered;
  };
  const std::vector<std::string> names = {"berth.example"};
  for (const Case& c : {
           Case{"", "", true},  // in process
           Case{"127.0.0.1:8001", "", true},
           Case{"[::1]:8001", "", true},
           Case{"LOCALHOST:8001", "", true},
           Case{"192.0.2.7", "", true},
           Case{"berth.example:8001", "", true},
           Case{"evil.example:8001", "", false},  // a name that was pointed here
           Case{"localhost.evil.example", "", false},
           Case{"127.0.0.1.evil.example:8001", "", false},
           Case{"127.0.0.1:8001", "http://127.0.0.1:8001", true},
           Case{"127.0.0.1:8001", "http://127.0.0.1:9000", false},
           Case{"127.0.0.1:8001", "https://evil.example", false},
           Case{"127.0.0.1:8001", "null", false},
       }) {
    net::Request request;
    if (*c.host != '\0') request.headers.push_back({"host", c.host});
    if (*c.origin != '\0') request.headers.push_back({"origin", c.origin});
    const auto refused = RefuseForeignOrigin(request, names);
    EXPECT_EQ(!refused, c.is_answered) << c.host << ' ' << c.origin;
    EXPECT_EQ(refused ? refused->code : 403, 403);
  }
}

}  // namespace
}  // namespace berth::apiserver
