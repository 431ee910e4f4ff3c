// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/priority.h"

#include <gtest/gtest.h>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {
namespace {

TEST(ResolvePodPriority, FollowsTheClass) {
  const json::object high =
      json::parse(R"({"metadata":{"name":"high"},"value":100,"preemptionPolicy":"Never"})").as_object();
  const json::object common =
      json::parse(R"({"metadata":{"name":"common"},"value":7,"globalDefault":true})").as_object();
  struct Case {
    const char* name;
    const char* spec;
    std::vector<const json::object*> classes;
    const char* want_spec;  // empty: refused
    const char* want_error;
  };
  const Case cases[] = {
      {"named class",
       R"({"priorityClassName":"high"})",
       {&high, &common},
       R"({"priorityClassName":"high","priority":100,"preemptionPolicy":"Never"})",
       ""},
      {"default class",
       "{}",
       {&high, &common},
       R"({"priorityClassName":"common","priority":7,"preemptionPolicy":"PreemptLowerPriority"})",
       ""},
      {"no class", "{}", {&high}, R"({"priority":0,"preemptionPolicy":"PreemptLowerPriority"})", ""},
      {"unknown class", R"({"priorityClassName":"zzz"})", {&high}, "", "no PriorityClass with name zzz was found"},
      {"own priority",
       R"({"priority":5})",
       {},
       "",
       "the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 "
       "from "
       "the given PriorityClass name"},
      {"own policy",
       R"({"preemptionPolicy":"X"})",
       {},
       "",
       "the string value of PreemptionPolicy (X) must not be provided in pod spec; priority admission controller "
       "computed "
       "PreemptLowerPriority from the given PriorityClass name"},
      {"system class",
       R"({"priorityClassName":"system-node-critical"})",
       {},
       R"({"priorityClassName":"system-node-critical"})",
       ""}};
  for (const Case& c : cases) {
    json::object pod;
    pod["spec"] = json::parse(c.spec);
    EXPECT_EQ(ResolvePodPriority(pod, c.classes).value_or(""), c.want_error) << c.name;
    if (*c.want_spec != '\0') {
      EXPECT_EQ(pod["spec"], json::parse(c.want_spec)) << c.name;
    }
  }
}

}  // namespace
}  // namespace berth::objects
