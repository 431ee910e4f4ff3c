// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/json.h"

#include <gtest/gtest.h>

#include "berth/codec/document_memory.h"

namespace berth::codec {
namespace {

TEST(Json, KeepsKeyOrderAndIntegers) {
  const std::string text = R"({"b":1,"a":[true,null,"x\n"],"big":9007199254740993})";
  const auto parsed = ParseJson(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(WriteJson(*parsed), text);
}

TEST(Json, RefusesWithOneClearLine) {
  struct Case {
    const char* name;
    std::string text;
    ParseLimits limits;
    const char* want;
  };
  const Case cases[] = {
      {"empty", "", {}, "at the end: incomplete JSON"},
      {"half", "{\"a\":", {}, "at the end: incomplete JSON"},
      {"trailing", "{} x", {}, "at byte 3: extra data"},
      {"garbage", "{\"a\":tru}", {}, "at byte 5: syntax error"},
      {"nesting bomb", std::string(1'000'000, '['), {}, "nested deeper than 256 levels"},
      {"too long", "[1,2,3,4]", {.bytes_max = 4}, "9 bytes: at most 4"},
      {"bad utf-8", "\"\xff\"", {}, "at byte 1: "},
      {"number that cannot be written", "1e400", {}, "a number is out of the range of a float64"},
      {"zero times what cannot be written", "0e400", {}, "a number is out of the range of a float64"},
      {"one in a field", R"({"spec":{"at":[0,{"x":-1e400}]}})", {}, "spec.at[1].x: a number is out of the range"},
  };
  for (const Case& c : cases) {
    const auto parsed = ParseJson(c.text, c.limits);
    ASSERT_FALSE(parsed.ok()) << c.name;
    EXPECT_NE(parsed.error().message.find(c.want), std::string::npos) << c.name << ": " << parsed.error().message;
  }
}

TEST(DocumentMemory, HoldsSmallDocumentsAndLargeOnes) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{100'000}}) {
    DocumentMemory memory;
    json::value document(memory.storage());
    json::object& item = document.emplace_object()["items"].emplace_array().emplace_back(nullptr).emplace_object();
    item["text"] = std::string(size, 'x');
    EXPECT_TRUE(item["text"].storage()->is_equal(*memory.storage())) << "nothing of it lives elsewhere";
    EXPECT_EQ(WriteJson(document), R"({"items":[{"text":")" + std::string(size, 'x') + R"("}]})");
  }
}

TEST(Json, ReadsDeepSchemas) {
  const std::string text = std::string(200, '[') + std::string(200, ']');
  EXPECT_TRUE(ParseJson(text).ok());
}

}  // namespace
}  // namespace berth::codec
