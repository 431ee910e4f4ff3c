// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/json_slices.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::codec {
namespace {

std::string Show(const std::optional<std::vector<JsonSlice>>& slices) {
  if (!slices) return "none";
  std::string shown;
  for (const JsonSlice& slice : *slices) {
    shown += '<';
    if (!slice.key.empty()) shown.append(slice.key).append("=");
    shown.append(slice.value).append(">");
  }
  return shown;
}

TEST(JsonSlices, Objects) {
  struct {
    std::string text;
    std::string want;
  } const cases[] = {
      {"{}", ""},
      {" { } ", ""},
      {R"({"a":1})", "<a=1>"},
      {R"( { "a" : [1, {"b": 2}] , "c":"x,}" } )", R"(<a=[1, {"b": 2}]><c="x,}">)"},
      {R"({"a\"b":"\\","c":null})", R"(<a\"b="\\"><c=null>)"},
      {R"({"a":not json,"b":1})", "<a=not json><b=1>"},
      {R"({"a":1,})", "none"},
      {R"({"a":1)", "none"},
      {R"({"a":[1})", "none"},
      {R"({"a":"x})", "none"},
      {R"({"a" 1})", "none"},
      {R"({a:1})", "none"},
      {R"({"a":})", "none"},
      {R"({"a":1}{"b":2})", "none"},
      {R"({"a":1]})", "none"},
      {R"([1])", "none"},
      {"", "none"},
      {"{", "none"},
  };
  for (const auto& c : cases) EXPECT_EQ(Show(SliceObject(c.text)), c.want) << c.text;
}

TEST(JsonSlices, Arrays) {
  struct {
    std::string text;
    std::string want;
  } const cases[] = {{"[]", ""},      {"[1, 2]", "<1><2>"}, {R"(["]",[[]],{"a":"["}])", R"(<"]"><[[]]><{"a":"["}>)"},
                     {"[1,", "none"}, {"[1,]", "none"},     {"{}", "none"},
                     {"null", "none"}};
  for (const auto& c : cases) EXPECT_EQ(Show(SliceArray(c.text)), c.want) << c.text;
}

TEST(JsonSlices, AnyDepth) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const std::string object = R"({"kind":"Pod","deep":)" + deep + R"(,"name":"a"})";
  EXPECT_EQ(FindSlice(object, "name"), R"("a")");
  EXPECT_EQ(FindSlice(object, "deep"), deep);
  EXPECT_EQ(FindSlice(object, "none"), std::nullopt);
  EXPECT_EQ(FindSlice("[]", "none"), std::nullopt);
}

TEST(JsonSlices, Texts) {
  EXPECT_EQ(PlainText(R"("ADDED")"), "ADDED");
  EXPECT_EQ(PlainText(R"("")"), "");
  EXPECT_EQ(PlainText(R"("a\u0041")"), "");
  EXPECT_EQ(PlainText("12"), "");
  EXPECT_EQ(PlainText("\""), "");
}

}  // namespace
}  // namespace berth::codec
