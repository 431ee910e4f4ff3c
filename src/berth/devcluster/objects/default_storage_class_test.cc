// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/default_storage_class.h"

#include <gtest/gtest.h>

namespace berth::objects {
namespace {

namespace json = codec::json;

json::object Class(const char* name, const char* created, bool is_default) {
  return {{"metadata", json::object{{"name", name},
                                    {"creationTimestamp", created},
                                    {"annotations", json::object{{"storageclass.kubernetes.io/is-default-class",
                                                                  is_default ? "true" : "false"}}}}}};
}

std::string ClassOf(const char* claim, const std::vector<json::object>& classes) {
  std::vector<const json::object*> each;
  for (const json::object& one : classes) each.push_back(&one);
  json::object object = json::parse(claim).as_object();
  ApplyDefaultStorageClass(object, each);
  const json::value* name = object.at("spec").as_object().if_contains("storageClassName");
  return name == nullptr ? "none" : std::string(name->as_string());
}

TEST(DefaultStorageClass, IsTheNewestThatIsMarked) {
  const std::vector<json::object> classes = {
      Class("a", "2026-01-01T00:00:00Z", true), Class("b", "2026-01-02T00:00:00Z", true),
      Class("c", "2026-01-02T00:00:00Z", true), Class("d", "2026-01-03T00:00:00Z", false)};
  EXPECT_EQ(ClassOf(R"({"spec":{}})", classes), "b");
  EXPECT_EQ(ClassOf(R"({"spec":{"storageClassName":""}})", classes), "") << "none is wanted";
  EXPECT_EQ(ClassOf(R"({"spec":{"storageClassName":"d"}})", classes), "d");
  EXPECT_EQ(ClassOf(R"({"spec":{}})", {Class("d", "2026-01-03T00:00:00Z", false)}), "none");
}

}  // namespace
}  // namespace berth::objects
