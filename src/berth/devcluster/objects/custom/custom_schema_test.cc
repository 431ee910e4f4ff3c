// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/custom/custom_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace berth::objects {
namespace {

json::object Parse(std::string_view text) { return json::parse(text).as_object(); }

// A schema whose spec has these properties.
std::string Spec(std::string_view properties, std::string_view more = "") {
  return R"({"type":"object","properties":{"spec":{"type":"object","properties":{)" + std::string(properties) + '}' +
         std::string(more) + "}}}";
}
std::vector<std::string> Errors(const std::string& schema, std::string_view spec) {
  std::vector<std::string> texts;
  for (const FieldError& each :
       CustomSchema(Parse(schema)).Validate(Parse(R"({"kind":"A","spec":)" + std::string(spec) + '}'))) {
    texts.push_back(each.field + ": " + each.message);
  }
  return texts;
}
using Texts = std::vector<std::string>;

TEST(CustomSchema, PrunesWhatItDoesNotKnow) {
  const CustomSchema schema(Parse(Spec(R"("a":{"type":"string"},"free":{"type":"object",
      "x-kubernetes-preserve-unknown-fields":true,"properties":{"in":{"type":"object","properties":{}}}},
      "map":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"string"}}}},
      "list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}})")));
  json::object object = Parse(R"({"apiVersion":"v","kind":"K","metadata":{"any":1},"other":1,"spec":{"a":"1","b":2,
      "free":{"z":1,"in":{"gone":1}},"map":{"k":{"x":"1","y":1}},"list":[{"x":"1"},{"y":1}]}})");
  EXPECT_EQ(schema.Prune(object),
            (Texts{R"(unknown field "other")", R"(unknown field "spec.b")", R"(unknown field "spec.free.in.gone")",
                   R"(unknown field "spec.map.k.y")", R"(unknown field "spec.list[1].y")"}));
  EXPECT_EQ(json::serialize(object), R"({"apiVersion":"v","kind":"K","metadata":{"any":1},"spec":{"a":"1",)"
                                     R"("free":{"z":1,"in":{}},"map":{"k":{"x":"1"}},"list":[{"x":"1"},{}]}})");
  EXPECT_TRUE(schema.Prune(object).empty());
}

TEST(CustomSchema, FillsInDefaults) {
  const CustomSchema schema(Parse(Spec(R"("n":{"type":"integer","default":3},"o":{"type":"object","default":{},
      "properties":{"deep":{"type":"string","default":"x"}}},
      "list":{"type":"array","items":{"type":"object","properties":{"p":{"type":"string","default":"TCP"}}}},
      "null":{"type":"string","default":"d"},"maybe":{"type":"string","nullable":true,"default":"d"})")));
  json::object object = Parse(R"({"spec":{"list":[{}],"null":null,"maybe":null}})");
  EXPECT_TRUE(schema.Prune(object).empty());
  schema.FillIn(object);
  EXPECT_EQ(object, Parse(R"({"spec":{"list":[{"p":"TCP"}],"maybe":null,"n":3,"o":{"deep":"x"},"null":"d"}})"));
}

// Defaults of a small document must not fill the memory.
TEST(CustomSchema, DefaultsAreBounded) {
  const CustomSchema schema(
      Parse(Spec(R"("list":{"type":"array","items":{"type":"object","properties":{"p":{"type":"string",
      "default":")" +
                 std::string(100'000, 'x') + R"("}}}})")));
  std::string list;
  for (int i = 0; i < 100'000; ++i) list += i == 0 ? "{}" : ",{}";
  json::object object = Parse(R"({"spec":{"list":[)" + list + "]}}");
  schema.FillIn(object);
  EXPECT_LT(json::serialize(object).size(), 2 * kDefaultedBytesMax);
}

TEST(CustomSchema, TypesAsUpstreamNamesThem) {
  EXPECT_EQ(Errors(Spec(R"("n":{"type":"integer"})"), R"({"n":"x"})"),
            Texts{R"(spec.n: Invalid value: "string": spec.n in body must be of type integer: "string")"});
  EXPECT_EQ(Errors(Spec(R"("n":{"type":"integer"})"), R"({"n":1.5})"),
            Texts{R"(spec.n: Invalid value: "number": spec.n in body must be of type integer: "number")"});
  EXPECT_TRUE(Errors(Spec(R"("n":{"type":"integer"},"m":{"type":"number"})"), R"({"n":2.0,"m":2})").empty());
  EXPECT_EQ(Errors(Spec(R"("s":{"type":"string"})"), R"({"s":null})").size(), 1u);
  EXPECT_TRUE(Errors(Spec(R"("s":{"type":"string","nullable":true})"), R"({"s":null})").empty());
  EXPECT_TRUE(Errors(Spec(R"("p":{"x-kubernetes-int-or-string":true})"), R"({"p":"10%"})").empty());
  EXPECT_EQ(Errors(Spec(R"("p":{"x-kubernetes-int-or-string":true})"), R"({"p":true})").size(), 1u);
}

TEST(CustomSchema, ValuesAsUpstreamRefusesThem) {
  EXPECT_EQ(Errors(Spec(R"("a":{"type":"string"})", R"(,"required":["a"])"), "{}"), Texts{"spec.a: Required value"});
  EXPECT_EQ(Errors(Spec(R"("c":{"type":"string","enum":["red","blue"]})"), R"({"c":"x"})"),
            Texts{R"(spec.c: Unsupported value: "x": supported values: "red", "blue")"});
  EXPECT_EQ(Errors(Spec(R"("n":{"type":"integer","minimum":1,"maximum":3})"), R"({"n":0})"),
            Texts{"spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1"});
  EXPECT_EQ(Errors(Spec(R"("n":{"type":"integer","maximum":3,"exclusiveMaximum":true})"), R"({"n":3})"),
            Texts{"spec.n: Invalid value: 3: spec.n in body should be less than 3"});
  EXPECT_EQ(Errors(Spec(R"("s":{"type":"string","pattern":"^a+$"})"), R"({"s":"b"})"),
            Texts{R"(spec.s: Invalid value: "b": spec.s in body should match '^a+$')"});
  EXPECT_EQ(Errors(Spec(R"("s":{"type":"string","minLength":2})"), R"({"s":"ä"})").size(), 1u);
  EXPECT_EQ(Errors(Spec(R"("l":{"type":"array","maxItems":1,"items":{"type":"string"}})"), R"({"l":["a","b"]})"),
            Texts{"spec.l: Too many: 2: must have at most 1 items"});
  EXPECT_EQ(Errors(Spec(R"("l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}})"),
                   R"({"l":["a","a"]})"),
            Texts{R"(spec.l[1]: Duplicate value: "a")"});
  EXPECT_EQ(Errors(Spec(R"("t":{"type":"string","format":"date-time"})"), R"({"t":"now"})").size(), 1u);
}

TEST(CustomSchema, Combinations) {
  const std::string schema = Spec(R"("v":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},
      "oneOf":[{"required":["a"]},{"required":["b"]}]})");
  EXPECT_TRUE(Errors(schema, R"({"v":{"a":"1"}})").empty());
  EXPECT_EQ(Errors(schema, R"({"v":{"a":"1","b":"1"}})").size(), 1u);
  EXPECT_EQ(Errors(schema, R"({"v":{}})").size(), 1u);
  EXPECT_EQ(Errors(Spec(R"("v":{"type":"integer","not":{"minimum":5}})"), R"({"v":7})").size(), 1u);
  EXPECT_EQ(Errors(Spec(R"("v":{"type":"integer","anyOf":[{"minimum":5},{"maximum":1}]})"), R"({"v":3})").size(), 1u);
}

TEST(CustomSchema, SchemasThatAreNotStructural) {
  const auto check = [](std::string_view text) {
    Texts texts;
    for (const FieldError& each : CheckStructural(Parse(text), "s")) texts.push_back(each.field + ": " + each.message);
    return texts;
  };
  EXPECT_TRUE(check(Spec(R"("a":{"type":"string"},"p":{"x-kubernetes-int-or-string":true})")).empty());
  EXPECT_EQ(check("{}"), Texts{"s.type: Required value: must not be empty at the root"});
  EXPECT_EQ(check(Spec(R"("a":{})")),
            Texts{"s.properties[spec].properties[a].type: Required value: must not be empty for specified object "
                  "fields"});
  EXPECT_EQ(check(Spec(R"("a":{"type":"string","pattern":"("})")).size(), 1u);
  EXPECT_EQ(check(Spec(R"("a":{"type":"array"})")).size(), 1u);
}

TEST(CustomSchema, SaysWhatIsNotChecked) {
  EXPECT_EQ(UncheckedParts(Parse(Spec(R"("a":{"type":"string","format":"date-time"})"))), "");
  EXPECT_EQ(UncheckedParts(Parse(Spec(R"("a":{"type":"string","format":"ipv4"},"b":{"type":"string","format":"uri",
      "x-kubernetes-validations":[{"rule":"true"}]})"))),
            "x-kubernetes-validations and the formats ipv4, uri");
}

}  // namespace
}  // namespace berth::objects
