// SPDX-License-Identifier: Apache-2.0
#include "berth/provisioning/request_pods.h"

#include <string>

#include <gtest/gtest.h>

#include "berth/core/scheduler/bookings.h"
#include "berth/provisioning/provisioning_testing.h"

namespace berth::provisioning {
namespace {

TEST(RequestPodsTest, PodsAreThoseOfTheTemplateAsAdmissionMakesThem) {
  PodSources sources;
  sources.templates["jobs/main"] = MakeTemplate(
      R"({"priorityClassName":"high","containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"2"}}}]})");
  sources.admission[{"PriorityClass", "/high"}] = {
      "PriorityClass", "", "high", codec::ParseJson(R"({"metadata":{"name":"high"},"value":100})")->get_object()};
  const auto asked = PodsOf(MakeRequest("r", Time{}), sources, {{{"a", 2}}});
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  EXPECT_EQ(asked->request, "jobs/r");
  ASSERT_EQ(asked->sets.size(), 1U);
  const scheduler::BookingSet& set = asked->sets[0];
  EXPECT_EQ(set.name, "main");
  EXPECT_EQ(set.count, 2U);
  EXPECT_EQ(set.nodes.size(), 1U);
  ASSERT_EQ(set.pods.size(), 1U) << "equal pods are described once";
  const api::Pod& pod = *set.pods[0];
  EXPECT_EQ(pod.spec.priority, 100);
  EXPECT_EQ(pod.metadata.namespace_name, "jobs");
  EXPECT_NE(pod.metadata.name.find(scheduler::kStandInMark), std::string::npos);
  EXPECT_EQ(*pod.metadata.annotations.Find(scheduler::kConsumeAnnotation), "r");
  EXPECT_EQ(pod.spec.scheduler_name, "default-scheduler");
}

TEST(RequestPodsTest, PodsWithClaimsOfTheirOwnAreMadeOneByOne) {
  PodSources sources;
  sources.templates["jobs/main"] =
      MakeTemplate(R"({"containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"gpu"}]}}],)"
                   R"("resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"one-gpu"}]})");
  const auto early = PodsOf(MakeRequest("r", Time{}), sources, {});
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(early.error().message, "PodTemplate \"main\": ResourceClaimTemplate \"one-gpu\" not found");
  sources.admission[{"ResourceClaimTemplate", "jobs/one-gpu"}] = {
      "ResourceClaimTemplate", "jobs", "one-gpu",
      codec::ParseJson(
          R"({"spec":{"spec":{"devices":{"requests":[{"name":"x","exactly":{"deviceClassName":"gpu","count":1}}]}}}})")
          ->get_object()};
  const auto asked = PodsOf(MakeRequest("r", Time{}), sources, {});
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  EXPECT_EQ(asked->sets[0].pods.size(), 2U);
  EXPECT_EQ(asked->objects.size(), 2U);
}

// What others have made does not reach this request's pods.
TEST(RequestPodsTest, TemplatesOfOtherNamespacesAreOthers) {
  PodSources sources;
  sources.templates["jobs/main"] =
      MakeTemplate(R"({"containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"gpu"}]}}],)"
                   R"("resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"one-gpu"}]})");
  const auto add = [&](const std::string& namespace_name, const std::string& name) {
    sources.admission[{"ResourceClaimTemplate", namespace_name + "/" + name}] = {
        "ResourceClaimTemplate", namespace_name, name,
        codec::ParseJson(R"({"spec":{"spec":{"devices":{}}}})")->get_object()};
  };
  add("other", "one-gpu");
  add("jobs", "two-gpus");
  const auto asked = PodsOf(MakeRequest("r", Time{}), sources, {});
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().message, "PodTemplate \"main\": ResourceClaimTemplate \"one-gpu\" not found");
}

TEST(RequestPodsTest, SaysWhatIsWrong) {
  PodSources sources;
  sources.templates["jobs/pinned"] = MakeTemplate(R"({"nodeName":"a","containers":[{"name":"c","image":"i"}]})");
  sources.templates["jobs/wrong"] =
      MakeTemplate(R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"much"}}}]})");
  sources.templates["jobs/main"] = MainTemplate();
  const struct {
    std::vector<PodSet> sets;
    const char* want;
    ErrorCode code = ErrorCode::kInvalid;
  } cases[] = {
      {{{"none", 1}}, "PodTemplate \"none\" not found in namespace jobs", ErrorCode::kNotFound},
      {{{"main", 1'000'000}}, "the pod sets have more than 20000 pods, the most that one request may ask for"},
      {{{"main", 15'000}, {"main", 15'000}},
       "the pod sets have more than 20000 pods, the most that one request may ask for"},
      {{{"pinned", 1}},
       "PodTemplate \"pinned\": template.spec.nodeName: must be empty, the scheduler chooses the node"},
  };
  for (const auto& each : cases) {
    ProvisioningRequest request = MakeRequest("r", Time{});
    request.pod_sets = each.sets;
    const auto asked = PodsOf(request, sources, {});
    ASSERT_FALSE(asked.ok()) << each.want;
    EXPECT_EQ(asked.error().message, each.want);
    EXPECT_EQ(asked.error().code, each.code);
  }
  ProvisioningRequest request = MakeRequest("r", Time{});
  request.pod_sets = {{"wrong", 1}};
  const auto asked = PodsOf(request, sources, {});
  ASSERT_FALSE(asked.ok());
  EXPECT_TRUE(asked.error().message.starts_with("PodTemplate \"wrong\": ")) << asked.error().message;
  EXPECT_NE(asked.error().message.find("template.spec.containers[0].resources.requests"), std::string::npos)
      << asked.error().message;
}

}  // namespace
}  // namespace berth::provisioning
