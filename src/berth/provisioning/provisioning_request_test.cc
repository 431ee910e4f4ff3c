// SPDX-License-Identifier: Apache-2.0
#include "berth/provisioning/provisioning_request.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/codec/json_reader.h"
#include "berth/provisioning/provisioning_testing.h"

namespace berth::provisioning {
namespace {

Expected<RequestPtr> Decode(const std::string& text) {
  codec::JsonReader reader;
  const auto parsed = reader.Parse(text);
  BERTH_CHECK(parsed.ok(), text);
  return DecodeProvisioningRequest(*parsed);
}

TEST(ProvisioningRequestTest, ReadsWhatItNeeds) {
  const auto request = Decode(R"({"apiVersion":"autoscaling.x-k8s.io/v1","kind":"ProvisioningRequest",
    "metadata":{"namespace":"jobs","name":"r","uid":"u","resourceVersion":"7","generation":2,
                "creationTimestamp":"2026-01-02T03:04:05Z"},
    "spec":{"provisioningClassName":"check-capacity.autoscaling.x-k8s.io","parameters":{"processorInstance":"berth"},
            "podSets":[{"podTemplateRef":{"name":"main"},"count":3},{"podTemplateRef":{"name":"side"},"count":1}]},
    "status":{"conditions":[{"type":"Provisioned","status":"True","reason":"CapacityIsFound","message":"m",
                             "observedGeneration":2,"lastTransitionTime":"2026-01-02T03:05:05Z"}],
              "provisioningClassDetails":{"berth-nodes-0":"0 a=3"}}})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ((*request)->Key(), "jobs/r");
  EXPECT_EQ((*request)->pod_sets, (std::vector<PodSet>{{"main", 3}, {"side", 1}}));
  EXPECT_TRUE((*request)->Is(kProvisioned));
  EXPECT_FALSE((*request)->Is(kFailed));
  EXPECT_EQ((*request)->Find(kProvisioned)->transition_time - (*request)->creation_time, std::chrono::minutes(1));
  EXPECT_TRUE(IsForProcessor(**request, "berth"));
  EXPECT_EQ(PlacesOf((*request)->details, 2), (Places{{{"a", 3}}, {}}));
}

TEST(ProvisioningRequestTest, SaysWhatIsWrong) {
  const struct {
    const char* spec;
    const char* want;
  } cases[] = {
      {R"({"podSets":[]})", "spec.podSets: must have at least one"},
      {R"({"podSets":[{"podTemplateRef":{"name":"a"},"count":1},{"count":1}]})",
       "spec.podSets[1].podTemplateRef.name: missing"},
      {R"({"podSets":[{"podTemplateRef":{"name":"a"},"count":0}]})", "spec.podSets[0].count: must be at least 1"},
      {R"({"podSets":[{"podTemplateRef":{"name":"a"},"count":"many"}]})", "spec.podSets[0].count: must be at least 1"},
  };
  for (const auto& each : cases) {
    const auto request = Decode(R"({"metadata":{"namespace":"n","name":"r"},"spec":)" + std::string(each.spec) + "}");
    ASSERT_FALSE(request.ok()) << each.spec;
    EXPECT_EQ(request.error().message, each.want);
  }
}

TEST(ProvisioningRequestTest, OtherClassesAndProcessorsAreLeftAlone) {
  const ProvisioningRequest ours = MakeRequest("r", Time{});
  EXPECT_TRUE(IsForProcessor(ours, "berth"));
  EXPECT_FALSE(IsForProcessor(ours, "other"));
  ProvisioningRequest unnamed = ours;
  unnamed.parameters.clear();
  EXPECT_FALSE(IsForProcessor(unnamed, "berth")) << "it is the cluster-autoscaler's";
  ProvisioningRequest other = ours;
  other.class_name = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
  EXPECT_FALSE(IsForProcessor(other, "berth"));
}

TEST(ProvisioningRequestTest, AConditionKeepsItsTimeWhileItsStatusStays) {
  const Time first{std::chrono::seconds(100)};
  const Time later{std::chrono::seconds(200)};
  std::vector<Condition> conditions;
  SetCondition(conditions, {"Provisioned", "False", "a", "x", 1, first});
  SetCondition(conditions, {"Provisioned", "False", "a", "y", 1, later});
  EXPECT_EQ(conditions, (std::vector<Condition>{{"Provisioned", "False", "a", "y", 1, first}}));
  SetCondition(conditions, {"Provisioned", "True", "b", "z", 1, later});
  EXPECT_EQ(conditions, (std::vector<Condition>{{"Provisioned", "True", "b", "z", 1, later}}));
}

TEST(ProvisioningRequestTest, PlacesComeBackFromDetails) {
  Places many(2);
  for (int i = 0; i < 5000; ++i) many[0].emplace_back("a-node-with-a-long-name-" + std::to_string(i), 2);
  many[1] = {{"b", 1}};
  for (const Places& places : {Places{{{"a", 2}, {"b", 1}}, {{"a", 7}}}, Places{{}, {}}, many}) {
    const auto details = DetailsOf(places);
    for (const auto& [key, value] : details) EXPECT_LE(value.size(), 32'768U);
    EXPECT_EQ(PlacesOf(details, 2), places);
  }
  EXPECT_EQ(PlacesOf({{"berth-nodes-0", "9 a=1"}, {"berth-nodes-1", "0 a b= =1 c=x d=3"}, {"other", "0 z=1"}}, 1),
            (Places{{{"d", 3}}}))
      << "what cannot be read is left out";
}

TEST(ProvisioningRequestTest, APatchNamesTheVersionItRestsOn) {
  ProvisioningRequest request = MakeRequest("r", Time{});
  request.details = {{"berth-nodes-3", "old"}, {"of-others", "stays"}};
  EXPECT_EQ(
      StatusPatch(request, {{"Failed", "True", "R", "m", 1, Time{std::chrono::seconds(0)}}}, {{"berth-nodes-0", "0"}}),
      R"({"metadata":{"uid":"uid-of-r","resourceVersion":"1"},"status":{"conditions":[{"type":"Failed",)"
      R"("status":"True","reason":"R","message":"m","observedGeneration":1,)"
      R"("lastTransitionTime":"1970-01-01T00:00:00Z"}],"provisioningClassDetails":{"berth-nodes-3":null,)"
      R"("berth-nodes-0":"0"}}})");
}

}  // namespace
}  // namespace berth::provisioning
