// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/health.h"

#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

net::Response Get(const std::string& target, const std::string& store_failure = {}) {
  const auto answer = ServeHealth(*net::ParseTarget(target), store_failure);
  return answer ? *answer : net::Response{};
}

TEST(Health, SaysOkOrListsItsChecks) {
  for (const char* path : {"/healthz", "/livez", "/readyz", "/readyz/", "/readyz/ping", "/livez/etcd"}) {
    EXPECT_EQ(Get(path).status, 200) << path;
    EXPECT_EQ(Get(path).body, "ok") << path;
    EXPECT_EQ(Get(path).Get("Content-Type"), "text/plain; charset=utf-8") << path;
  }
  EXPECT_EQ(Get("/livez?verbose").body, "[+]ping ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n");
  EXPECT_EQ(Get("/healthz?verbose=true").body, "[+]ping ok\n[+]log ok\n[+]etcd ok\nhealthz check passed\n");
  EXPECT_EQ(Get("/readyz?verbose").body,
            "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n[+]shutdown ok\n"
            "readyz check passed\n");
  EXPECT_EQ(Get("/readyz/nonsense").status, 404);
  EXPECT_EQ(Get("/healthzz").status, 0) << "somebody else's path";
  EXPECT_EQ(Get("/").status, 0);
}

TEST(Health, LeavesOutWhatIsExcluded) {
  EXPECT_EQ(Get("/livez?verbose&exclude=etcd&exclude=nonsense").body,
            "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n"
            "warn: some health checks cannot be excluded: no matches for \"nonsense\"\nlivez check passed\n");
  EXPECT_EQ(Get("/livez?exclude=etcd", "disk full").status, 200);
}

TEST(Health, FailsWhileWritesAreNotKept) {
  const net::Response answer = Get("/livez", "disk full");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\nlivez check failed\n");
  EXPECT_EQ(Get("/livez/etcd", "disk full").body, "internal server error: disk full\n");
  EXPECT_EQ(Get("/livez/ping", "disk full").status, 200);
}

}  // namespace
}  // namespace berth::apiserver
