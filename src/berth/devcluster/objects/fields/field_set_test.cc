// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/fields/field_set.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace berth::objects {
namespace {

FieldSet Read(std::string_view text) {
  const auto set = FromFieldsV1(json::parse(text).as_object());
  EXPECT_TRUE(set) << text;
  return set.value_or(FieldSet());
}
std::string Write(const FieldSet& set) { return json::serialize(ToFieldsV1(set)); }

TEST(FieldSet, IsReadAndWrittenAsUpstream) {
  constexpr std::string_view kText =
      R"({"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{}}}}})";
  EXPECT_EQ(Write(Read(kText)), kText);
  EXPECT_EQ(Write(Read(R"({"f:metadata":{"f:finalizers":{"v:\"x\"":{}}}})")),
            R"({"f:metadata":{"f:finalizers":{"v:\"x\"":{}}}})");
}

TEST(FieldSet, WhatIsNone) {
  for (const char* text : {R"({"spec":{}})", R"({"f:spec":1})", R"({"f:spec":{"f:a":[]}})"}) {
    EXPECT_FALSE(FromFieldsV1(json::parse(text).as_object())) << text;
  }
  std::string deep = "{}";
  for (int i = 0; i < kFieldSetDepthMax + 2; ++i) deep = R"({"f:a":)" + deep + '}';
  json::parse_options options;
  options.max_depth = 1000;
  EXPECT_FALSE(FromFieldsV1(json::parse(deep, {}, options).as_object()));
}

TEST(FieldSet, Algebra) {
  const FieldSet a = Read(R"({"f:a":{},"f:b":{".":{},"f:c":{},"f:d":{}}})");
  const FieldSet b = Read(R"({"f:b":{"f:c":{},"f:e":{}}})");
  EXPECT_EQ(Write(Union(a, b)), R"({"f:a":{},"f:b":{".":{},"f:c":{},"f:d":{},"f:e":{}}})");
  EXPECT_EQ(Write(Intersection(a, b)), R"({"f:b":{"f:c":{}}})");
  EXPECT_EQ(Write(Difference(a, b)), R"({"f:a":{},"f:b":{".":{},"f:d":{}}})");
  EXPECT_TRUE(Difference(a, a).IsEmpty());
  EXPECT_EQ(Union(a, a), a);
}

TEST(FieldSet, PathsAsMessagesShowThem) {
  EXPECT_EQ(PathsOf(Read(R"({"f:spec":{"f:replicas":{},"f:c":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},
                            "f:name":{}}}},"f:metadata":{"f:finalizers":{"v:\"x\"":{}}}})")),
            (std::vector<std::string>{".metadata.finalizers[=\"x\"]", ".spec.replicas",
                                      ".spec.c[containerPort=80,protocol=\"TCP\"]",
                                      ".spec.c[containerPort=80,protocol=\"TCP\"].name"}));
}

}  // namespace
}  // namespace berth::objects
