// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/custom/custom_columns.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace berth::objects {
namespace {

std::string At(std::string_view path) {
  static const json::object kObject = json::parse(R"({
    "metadata":{"name":"w","labels":{"a.b/c":"label"},"creationTimestamp":"2023-11-14T22:13:20Z"},
    "spec":{"replicas":3,"list":[{"name":"x","n":1},{"name":"y","n":2}]},
    "status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Done","status":"False"}]}})")
                                          .as_object();
  const json::value* value = FindByJsonPath(kObject, path);
  return value == nullptr ? "none" : json::serialize(*value);
}

TEST(CustomColumns, Paths) {
  EXPECT_EQ(At(".spec.replicas"), "3");
  EXPECT_EQ(At("{.spec.replicas}"), "3");
  EXPECT_EQ(At(".spec.list[1].name"), R"("y")");
  EXPECT_EQ(At(".spec.list[-1].name"), R"("y")");
  EXPECT_EQ(At(".spec.list[*].name"), R"("x")");
  EXPECT_EQ(At(R"(.status.conditions[?(@.type=="Done")].status)"), R"("False")");
  EXPECT_EQ(At(R"(.status.conditions[?(@.type == 'Ready')].status)"), R"("True")");
  EXPECT_EQ(At(R"(.spec.list[?(@.n==2)].name)"), R"("y")");
  EXPECT_EQ(At(R"(.metadata.labels.a\.b/c)"), R"("label")");
  EXPECT_EQ(At(R"(.metadata.labels['a.b/c'])"), R"("label")");
  for (const char* none : {".spec.other", ".spec.list[7]", ".spec.replicas.x", "spec", "", ".", ".spec[",
                           ".spec.list[?]", ".spec.list[?(@.n>1)]", R"(.status.conditions[?(@.type=="No")].status)"}) {
    EXPECT_EQ(At(none), "none") << none;
  }
}

TEST(CustomColumns, Rows) {
  const CustomColumns columns = ColumnsOf(json::parse(R"({"additionalPrinterColumns":[
      {"name":"Replicas","type":"integer","jsonPath":".spec.replicas","priority":1},
      {"name":"Text","type":"string","jsonPath":".spec.list"},{"name":"No","type":"boolean","jsonPath":".spec.replicas"},
      {"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}]})")
                                              .as_object());
  ASSERT_EQ(columns.columns.size(), 5u);
  EXPECT_EQ(columns.columns[1].priority, 1);
  const json::object object = json::parse(R"({"metadata":{"name":"w","creationTimestamp":"1970-01-01T00:00:00Z"},
                                              "spec":{"replicas":3,"list":[1]}})")
                                  .as_object();
  EXPECT_EQ(json::serialize(columns.Row(object, 60)), R"(["w",3,"[1]",null,"60s"])");
}

TEST(CustomColumns, TheAgeWhenNoneAreGiven) {
  const CustomColumns columns = ColumnsOf({});
  ASSERT_EQ(columns.columns.size(), 2u);
  EXPECT_EQ(columns.columns[1].name, "Age");
}

}  // namespace
}  // namespace berth::objects
