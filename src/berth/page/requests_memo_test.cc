// SPDX-License-Identifier: Apache-2.0
#include "berth/page/requests_memo.h"

#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "berth/framework/make_pod_info.h"
#include "berth/testing/builders.h"

namespace berth::page {
namespace {

using testing::MakePod;

std::shared_ptr<const api::Pod> Built(api::Pod pod) { return std::make_shared<const api::Pod>(std::move(pod)); }

api::Pod Web(const std::string& name, const std::string& cpu) {
  return MakePod(name).Request("cpu", cpu).Request("memory", "1Gi").Build();
}

TEST(RequestsMemo, PodsThatRequestTheSameAreAlike) {
  const api::Pod one = Web("web-1", "500m");
  EXPECT_TRUE(RequestTheSame(one, Web("web-2", "0.5")));
  EXPECT_FALSE(RequestTheSame(one, Web("web-1", "501m")));
  api::Pod other = one;
  other.spec.containers[0].name = "renamed";
  EXPECT_TRUE(RequestTheSame(one, other)) << "a name alone requests nothing";
  other = one;
  other.spec.containers.push_back(one.spec.containers[0]);
  EXPECT_FALSE(RequestTheSame(one, other));
  other = one;
  other.spec.init_containers.push_back(one.spec.containers[0]);
  EXPECT_FALSE(RequestTheSame(one, other));
  api::Pod sidecar = other;
  sidecar.spec.init_containers[0].restart_always = true;
  EXPECT_FALSE(RequestTheSame(other, sidecar));
  other = one;
  other.spec.overhead = one.spec.containers[0].requests;
  EXPECT_FALSE(RequestTheSame(one, other));
  other = one;
  other.spec.requests = one.spec.containers[0].requests;
  EXPECT_FALSE(RequestTheSame(one, other));
}

TEST(RequestsMemo, StatusesCountForTheContainersThatTheyName) {
  api::Pod resized = Web("web-1", "500m");
  resized.spec.containers[0].name = "c";
  resized.status.container_statuses.push_back({"c", Web("w", "2").spec.containers[0].requests, std::nullopt});
  EXPECT_FALSE(RequestTheSame(resized, Web("web-1", "500m")));
  EXPECT_TRUE(RequestTheSame(resized, resized));
  api::Pod renamed = resized;
  renamed.spec.containers[0].name = "d";
  EXPECT_FALSE(RequestTheSame(resized, renamed));
  api::Pod refused = resized;
  refused.status.conditions.push_back({"PodResizePending", "True", "Infeasible", ""});
  EXPECT_FALSE(RequestTheSame(resized, refused));
  RequestsMemo memo;
  EXPECT_EQ(memo.Of(Built(resized)).cpu_milli, 2000);
  EXPECT_EQ(memo.Of(Built(renamed)).cpu_milli, 500);
}

// Whatever was asked for before, the answer is that of adding up.
TEST(RequestsMemo, SaysWhatAddingUpSays) {
  std::mt19937 random(1);
  RequestsMemo memo;
  for (int i = 0; i < 2'000; ++i) {
    const auto pod = Built(Web("web", std::to_string(1 + random() % 12) + "00m"));
    ASSERT_EQ(memo.Of(pod), framework::MakePodClass(*pod, {})->requests) << i;
  }
}

}  // namespace
}  // namespace berth::page
