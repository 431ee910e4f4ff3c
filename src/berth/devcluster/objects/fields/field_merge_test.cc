// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/fields/field_merge.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {
namespace {

json::object Parse(std::string_view text) { return json::parse(text).as_object(); }
FieldType Type(std::string_view group, std::string_view plural) {
  const ResourceType* type = FindResource(group, "v1", plural);
  EXPECT_NE(type, nullptr) << plural;
  return FieldType::Of(*type);
}
FieldType Pods() { return Type("", "pods"); }
std::string Fields(const FieldSet& set) { return json::serialize(ToFieldsV1(set)); }

// A pod's spec with these members.
json::object Pod(std::string_view spec) { return Parse(R"({"spec":)" + std::string(spec) + '}'); }
std::string Merged(std::string_view live, std::string_view applied) {
  return json::serialize(MergeConfiguration(Pods(), Pod(live), Pod(applied)).at("spec"));
}

TEST(FieldMerge, MembersAndWholeValues) {
  EXPECT_EQ(Merged(R"({"hostNetwork":true,"priority":1})", R"({"priority":2})"),
            R"({"hostNetwork":true,"priority":2})");
  // Atomic: node selectors, tolerations, selectors of affinity terms.
  EXPECT_EQ(Merged(R"({"nodeSelector":{"a":"1"}})", R"({"nodeSelector":{"b":"2"}})"), R"({"nodeSelector":{"b":"2"}})");
  EXPECT_EQ(Merged(R"({"tolerations":[{"key":"a"}]})", R"({"tolerations":[{"key":"b"}]})"),
            R"({"tolerations":[{"key":"b"}]})");
  EXPECT_EQ(json::serialize(MergeConfiguration(Pods(), Parse(R"({"metadata":{"labels":{"a":"1"}}})"),
                                               Parse(R"({"metadata":{"labels":{"b":"2"}}})"))),
            R"({"metadata":{"labels":{"a":"1","b":"2"}}})");
}

TEST(FieldMerge, ListsByTheirKeys) {
  EXPECT_EQ(Merged(R"({"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]})",
                   R"({"containers":[{"name":"b","image":"2"}]})"),
            R"({"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]})");
  // Both keys count, and a protocol that is not there is TCP.
  EXPECT_EQ(Merged(R"({"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"TCP","name":"x"}]}]})",
                   R"({"containers":[{"name":"a","ports":[{"containerPort":53,"name":"y"},
                                                          {"containerPort":53,"protocol":"UDP"}]}]})"),
            R"({"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"TCP","name":"y"},)"
            R"({"containerPort":53,"protocol":"UDP"}]}]})");
}

// Names instead of elements: the order in which a list comes out.
std::string Order(std::string_view live, std::string_view applied) {
  const auto list = [](std::string_view names) {
    std::string text;
    for (const char name : names) text += (text.empty() ? "" : ",") + (R"({"name":")" + std::string(1, name) + "\"}");
    return R"({"containers":[)" + text + "]}";
  };
  std::string order;
  const json::object merged = MergeConfiguration(Pods(), Pod(list(live)), Pod(list(applied)));
  for (const json::value& each : merged.at("spec").at("containers").as_array()) {
    order += std::string(each.at("name").as_string());
  }
  return order;
}

TEST(FieldMerge, OrderOfLists) {
  EXPECT_EQ(Order("", "ab"), "ab");
  EXPECT_EQ(Order("ab", ""), "ab");
  EXPECT_EQ(Order("abc", "b"), "abc");
  EXPECT_EQ(Order("abc", "cb"), "acb");
  EXPECT_EQ(Order("ab", "xb"), "axb");
  EXPECT_EQ(Order("ab", "bx"), "abx");
  EXPECT_EQ(Order("ab", "x"), "abx");
  EXPECT_EQ(Order("abcd", "db"), "acdb");
}

TEST(FieldMerge, FieldsOfAConfiguration) {
  EXPECT_EQ(Fields(FieldsOf(Pods(), Parse(R"({"metadata":{"labels":{"a":"1"},"finalizers":["x"]},
      "spec":{"containers":[{"name":"a","ports":[{"containerPort":80}]}],"nodeSelector":{"z":"1"},
              "securityContext":{}}})"))),
            R"({"f:metadata":{"f:finalizers":{"v:\"x\"":{}},"f:labels":{"f:a":{}}},"f:spec":{"f:containers":)"
            R"({"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":)"
            R"({".":{},"f:containerPort":{}}}}},"f:nodeSelector":{},"f:securityContext":{}}})");
}

TEST(FieldMerge, WhatHasChanged) {
  const FieldChanges changes = CompareFields(
      Pods(), Pod(R"({"priority":1,"hostname":"h","containers":[{"name":"a","image":"1"},{"name":"b"}]})"),
      Pod(R"({"priority":2,"subdomain":"s","containers":[{"name":"c"},{"name":"a","image":"2"}]})"));
  EXPECT_EQ(Fields(changes.modified),
            R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{}}},"f:priority":{}}})");
  EXPECT_EQ(Fields(changes.added),
            R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{}}},"f:subdomain":{}}})");
  EXPECT_EQ(Fields(changes.removed),
            R"({"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}}},"f:hostname":{}}})");
}

TEST(FieldMerge, WithoutSomeFields) {
  const auto fields = FromFieldsV1(Parse(
      R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{}},"k:{\"name\":\"b\"}":{".":{}}},"f:hostname":{}}})"));
  EXPECT_EQ(json::serialize(WithoutFields(
                Pods(), Pod(R"({"hostname":"h","containers":[{"name":"a","image":"1"},{"name":"b"}]})"), *fields)),
            R"({"spec":{"containers":[{"name":"a"}]}})");
}

TEST(FieldMerge, ConfigurationsThatAreNone) {
  const auto errors = [](std::string_view spec) { return CheckConfiguration(Pods(), Pod(spec)); };
  EXPECT_TRUE(errors(R"({"containers":[{"name":"a","resources":{"limits":{"cpu":1,"memory":"1Gi"}}}]})").empty());
  EXPECT_EQ(errors(R"({"contianers":[]})"), std::vector<std::string>{".spec.contianers: field not declared in schema"});
  EXPECT_EQ(errors(R"({"priority":"x"})"),
            std::vector<std::string>{".spec.priority: expected numeric (int or float), got string"});
  EXPECT_EQ(errors(R"({"containers":[{"name":"a"},{"name":"a"}]})"),
            std::vector<std::string>{".spec.containers: duplicate entries for key [name=\"a\"]"});
  EXPECT_EQ(errors(R"({"containers":[{"image":"a"}]})"),
            std::vector<std::string>{
                ".spec.containers: element 0: associative list with keys has an element that omits all key fields "
                "[\"name\"] (and doesn't have default values for any key fields)"});
  EXPECT_EQ(
      errors(R"({"containers":[{"name":"a","env":[{"name":"e","valu":"1"}]}]})"),
      std::vector<std::string>{".spec.containers[name=\"a\"].env[name=\"e\"].valu: field not declared in schema"});
}

// A marker of a field that is misspelt would be an atomic list, in silence.
TEST(FieldMerge, MarkersAreThoseOfUpstream) {
  const FieldType pod = Pods().Member("spec");
  for (const char* list : {"containers", "initContainers", "volumes", "hostAliases", "imagePullSecrets",
                           "topologySpreadConstraints", "schedulingGates", "resourceClaims"}) {
    EXPECT_EQ(pod.Member(list).kind(), FieldType::Kind::kKeyedList) << list;
  }
  EXPECT_EQ(pod.Member("tolerations").kind(), FieldType::Kind::kWhole);
  EXPECT_EQ(Type("", "services").Member("spec").Member("ports").Keys().size(), 2u);
  EXPECT_EQ(Type("apps", "deployments").Member("spec").Member("selector").kind(), FieldType::Kind::kWhole);
  EXPECT_EQ(Type("", "persistentvolumes").Member("spec").Member("claimRef").kind(), FieldType::Kind::kStruct);
  EXPECT_EQ(Type("apps", "deployments").Member("status").Member("conditions").kind(), FieldType::Kind::kKeyedList);
  EXPECT_EQ(Type("batch", "jobs").Member("status").Member("conditions").kind(), FieldType::Kind::kWhole);
  EXPECT_EQ(Type("rbac.authorization.k8s.io", "roles").Member("rules").kind(), FieldType::Kind::kWhole);
  EXPECT_EQ(Type("", "secrets").Member("data").kind(), FieldType::Kind::kMap);
}

}  // namespace
}  // namespace berth::objects
