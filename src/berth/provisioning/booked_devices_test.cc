// SPDX-License-Identifier: Apache-2.0
// Devices are kept as well: from the request's templates to the pods that come, through the whole core.
#include <string>

#include <gtest/gtest.h>

#include "berth/core/scheduler/bookings.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/framework/object_kinds.h"
#include "berth/provisioning/provisioning_testing.h"
#include "berth/provisioning/request_pods.h"

namespace berth::provisioning {
namespace {

using scheduler::Harness;
using scheduler::Lines;
using testing::MakeNode;
using testing::MakePod;

constexpr const char* kClaimSpec =
    R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1}}]}})";

framework::AnyObject ObjectOf(framework::ObjectKind kind, const std::string& text) {
  codec::JsonReader reader;
  const auto parsed = reader.Parse(text);
  BERTH_CHECK(parsed.ok(), text);
  auto object = framework::DecodeObject(kind, *parsed);
  BERTH_CHECK(object.ok(), text);
  return *object;
}

// A pod with a claim of its own, as the claim controller has made it.
testing::PodBuilder PodWithClaim(Harness& h, const std::string& name) {
  h.core.Handle(
      scheduler::ObjectSet{ObjectOf(framework::ObjectKind::kResourceClaim,
                                    R"({"metadata":{"namespace":"jobs","name":")" + name +
                                        R"(-claim","uid":"uid-of-claim-)" + name + R"("},"spec":)" + kClaimSpec + "}")},
      h.now);
  return MakePod(name).Namespace("jobs").ResourceClaim({.name = "gpu", .claim_name = name + "-claim"});
}

TEST(BookedDevices, AreKeptForThePodsOfTheRequest) {
  Harness h;
  h.core.Handle(scheduler::BookingsKept{100}, h.now);
  h.Set(MakeNode("a"));
  h.core.Handle(scheduler::ObjectSet{ObjectOf(framework::ObjectKind::kDeviceClass, R"({"metadata":{"name":"gpu"}})")},
                h.now);
  h.core.Handle(scheduler::ObjectSet{ObjectOf(
                    framework::ObjectKind::kResourceSlice,
                    R"({"metadata":{"name":"a"},"spec":{"driver":"d","nodeName":"a","pool":{"name":"a","generation":1,)"
                    R"("resourceSliceCount":1},"devices":[{"name":"d0"},{"name":"d1"}]}})")},
                h.now);
  PodSources sources;
  sources.templates["jobs/main"] =
      MakeTemplate(R"({"containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"gpu"}]}}],)"
                   R"("resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"one"}]})");
  sources.admission[{"ResourceClaimTemplate", "jobs/one"}] = {
      "ResourceClaimTemplate", "jobs", "one",
      codec::ParseJson(std::string(R"({"spec":{"spec":)") + kClaimSpec + "}}")->get_object()};
  const auto ask = [&](const std::string& name) {
    auto asked = PodsOf(MakeRequest(name, Time{}), sources, {});
    BERTH_CHECK(asked.ok(), asked.error().message);
    h.core.Handle(*std::move(asked), h.now);
  };
  ask("r");
  EXPECT_EQ(h.Take(), (Lines{"booked jobs/r: main a=2"}));
  ask("s");
  EXPECT_EQ(h.Take(), (Lines{"refused jobs/s: pod set main: 0 of 2 pods have room; 0/1 nodes are available: 1 cannot "
                             "allocate all claims."}));
  h.Set(PodWithClaim(h, "other"));
  h.Run();
  for (const std::string& line : h.Take()) EXPECT_FALSE(line.starts_with("patch")) << line;

  h.Set(PodWithClaim(h, "p").Annotation(scheduler::kConsumeAnnotation, "r"));
  h.Run();
  // The first write of a binding cycle allocates the device.
  const Lines lines = h.Take();
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "patch p-claim") << ::testing::PrintToString(lines);

  h.core.Handle(scheduler::BookingEnded{"jobs/r", "uid-of-r"}, h.now);
  h.Run(std::chrono::seconds(20));
  bool is_given = false;
  for (const std::string& line : h.Take()) is_given = is_given || line == "patch other-claim";
  EXPECT_TRUE(is_given) << "the other device is free again";
}

}  // namespace
}  // namespace berth::provisioning
