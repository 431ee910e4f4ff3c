// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/json_reader.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::codec {
namespace {

TEST(JsonReaderTest, ReadsOneDocumentAfterTheOther) {
  JsonReader reader;
  // Documents that grow and then shrink, so that memory is reused in both directions.
  for (const std::size_t length : {1U, 100U, 100'000U, 3U}) {
    const std::string text = R"({"text":")" + std::string(length, 'x') + R"("})";
    const auto document = reader.Parse(text);
    ASSERT_TRUE(document.ok()) << document.error().message;
    EXPECT_EQ(StringOrEmpty(*document, "text"), std::string(length, 'x'));
  }
}

TEST(JsonReaderTest, GivesBackTheMemoryOfAHugeDocument) {
  JsonReader reader;
  const std::string huge = '"' + std::string(3 * JsonReader::kRetainedBytesMax, 'x') + '"';
  ASSERT_TRUE(reader.Parse(huge).ok());
  const auto small = reader.Parse(R"({"a":1})");
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(FindInt(*small, "a"), 1);
}

TEST(JsonReaderTest, ReadsTextThatEndsAtItsLastByte) {
  // Bytes next to the view must not be read as part of the document.
  const std::string neighbours = R"({"a":1}garbage)";
  JsonReader reader;
  const auto document = reader.Parse(std::string_view(neighbours).substr(0, 7));
  ASSERT_TRUE(document.ok()) << document.error().message;
  EXPECT_EQ(FindInt(*document, "a"), 1);
}

TEST(JsonReaderTest, SaysWhatItDoesNotRead) {
  struct Case {
    const char* name;
    std::string text;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {"empty", "", ErrorCode::kInvalid, "empty"},
      {"blank", "  \n", ErrorCode::kInvalid, "no JSON"},
      {"cut short", R"({"a":)", ErrorCode::kInvalid, "no JSON"},
      {"two documents", "{} {}", ErrorCode::kInvalid, "no JSON"},
      {"not UTF-8", "\"\xff\"", ErrorCode::kInvalid, "no JSON"},
      {"html", "<html></html>", ErrorCode::kInvalid, "no JSON"},
      {"nested too deep", std::string(65, '[') + std::string(65, ']'), ErrorCode::kTooLarge, "deeper than 64 levels"},
      {"a nesting bomb", std::string(1'000'000, '['), ErrorCode::kInvalid, "no JSON"},
      {"too long", '"' + std::string(2'000'000, 'x') + '"', ErrorCode::kTooLarge, "at most 1500000"},
  };
  JsonReader reader(ReadLimits{.bytes_max = 1'500'000, .depth_max = 64});
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto document = reader.Parse(c.text);
    ASSERT_FALSE(document.ok());
    EXPECT_EQ(document.error().code, c.code);
    EXPECT_NE(document.error().message.find(c.message), std::string::npos) << document.error().message;
    EXPECT_EQ(document.error().message.find('\n'), std::string::npos);
    // The reader still works after a rejected document.
    EXPECT_TRUE(reader.Parse("{}").ok());
  }
}

TEST(JsonReaderTest, FindsMembersLeniently) {
  JsonReader reader;
  const auto document = reader.Parse(R"({"s":"x","i":-5,"b":true,"o":{"in":{"deep":"y"}},"a":[1],"n":null})");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(FindString(*document, "s"), "x");
  EXPECT_EQ(FindInt(*document, "i"), -5);
  EXPECT_EQ(FindBool(*document, "b"), true);
  EXPECT_TRUE(FindObject(*document, "o").has_value());
  EXPECT_EQ(FindArray(*document, "a")->size(), 1U);
  EXPECT_EQ(FindPath(*document, {"o", "in", "deep"})->get_string().value(), "y");
  // Absent, of another type, null, or inside a value that is not an object.
  EXPECT_FALSE(FindString(*document, "missing"));
  EXPECT_FALSE(FindString(*document, "i"));
  EXPECT_FALSE(FindInt(*document, "s"));
  EXPECT_FALSE(FindObject(*document, "a"));
  EXPECT_FALSE(FindString(*document, "n"));
  EXPECT_FALSE(FindPath(*document, {"s", "in"}));
  EXPECT_FALSE(FindPath(*document, {"o", "out", "deep"}));
  EXPECT_EQ(StringOrEmpty(*document, "b"), "");
  EXPECT_FALSE(FindMember(document->at_key("a").value(), "s"));
}

}  // namespace
}  // namespace berth::codec
