// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/yaml.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::codec {
namespace {

std::string AsJson(std::string_view text) {
  const auto value = ParseYaml(text);
  return value.ok() ? WriteJson(*value) : "error: " + value.error().message;
}

TEST(YamlTest, ReadsAsJson) {
  struct Case {
    const char* name;
    const char* yaml;
    const char* want;
  };
  const Case cases[] = {
      {"mapping and list", "a: 1\nb:\n- x\n- k: z\n", R"({"a":1,"b":["x",{"k":"z"}]})"},
      {"booleans", "[true, True, yes, on, false, FALSE, no, off]", "[true,true,true,true,false,false,false,false]"},
      {"nulls", "a:\nb: ~\nc: null\nd: ''\n", R"({"a":null,"b":null,"c":null,"d":""})"},
      {"integers", "[0, -7, +8, 0x1F, 0o17, 017, 0b101, 1_000, 18446744073709551615]",
       "[0,-7,8,31,15,15,5,1000,18446744073709551615]"},
      {"floats", "[0.5, .5, -1.5e-3, 6.02e23]", "[5E-1,5E-1,-1.5E-3,6.02E23]"},
      {"a whole float is an integer", "[50.0, 1e3, 08]", "[50,1000,8]"},
      {"quoted scalars are strings", "['1', \"true\", !!str 5, !!str yes]", R"(["1","true","5","yes"])"},
      {"tags that fit", "[!!int '3', !!float 3, !!bool 'true', !!null '']", "[3,3,true,null]"},
      {"what only looks like a number", "[1.2.3, 10m, 1Gi, 0x, 127.0.0.1, -, 2001-12-14]",
       R"(["1.2.3","10m","1Gi","0x","127.0.0.1","-","2001-12-14"])"},
      {"block scalars", "a: |\n  x\n  y\nb: >\n  p\n  q\n", R"({"a":"x\ny\n","b":"p q\n"})"},
      {"keys become strings", "1: a\ntrue: b\n", R"({"1":"a","true":"b"})"},
      {"alias", "a: &x [1, 2]\nb: *x\n", R"({"a":[1,2],"b":[1,2]})"},
      {"merge key", "base: &b {x: 1, z: 2}\nc:\n  <<: *b\n  z: 3\n", R"({"base":{"x":1,"z":2},"c":{"z":3,"x":1}})"},
      {"merge list, the first wins", "c:\n  <<: [{x: 1}, {x: 2, z: 3}]\n", R"({"c":{"x":1,"z":3}})"},
      {"quoted << is a key", "\"<<\": 1\n", R"({"<<":1})"},
      {"flow mapping that is no JSON", "{a: b, c: [d]}", R"({"a":"b","c":["d"]})"},
      {"JSON", R"({"a": [1, 2.5, "\ud83d\ude00"], "b": {"a": null}})",
       "{\"a\":[1,2.5E0,\"\xF0\x9F\x98\x80\"],\"b\":{\"a\":null}}"},
      {"JSON with tabs", "{\n\t\"a\": 1\n}", R"({"a":1})"},
      {"document markers", "---\na: 1\n---\n", R"({"a":1})"},
      {"comments", "# top\na: 1 # side\n", R"({"a":1})"},
      {"duplicate key", "a: 1\nb: 2\na: 3\n", "error: line 3, column 4: key \"a\" is already set in this mapping"},
      {"duplicate key in JSON", "{\"a\": 1,\n \"b\": {\"c\": 1, \"\\u0063\": 2}}",
       "error: line 2, column 16: key \"c\" is already set in this mapping"},
      {"null key", "~: 1\n", "error: line 1, column 1: a key must not be null"},
      {"key is no scalar", "? [a]\n: 1\n", "error: line 1, column 3: a key must be a scalar"},
      {"bad merge", "<<: 1\n", "error: line 1, column 5: \"<<\" merges a mapping or a list of mappings"},
      {"infinity", "a: -.inf\n", "error: line 1, column 4: -.inf has no form in JSON"},
      {"tag that does not fit", "a: !!int x\n", "error: line 1, column 4: \"x\" cannot be read as !!int"},
      {"self reference", "a: &x [*x]\n", "error: line 1, column 8: an alias inside its own anchor"},
      {"empty", "# nothing\n", "error: the text is empty: expected one YAML or JSON document"},
      {"two documents", "a: 1\n---\nb: 2\n", "error: expected one YAML document, found 2"},
      {"text that begins nothing", ",,a: 1\n", "error: line 1, column 1: unexpected text: no value begins here"},
      {"bracket behind the document", "[1]\n]\n", "error: line 2, column 1: illegal flow end"},
      {"not UTF-8", "a: \xff\n", "error: the text is not valid UTF-8"},
  };
  for (const Case& c : cases) EXPECT_EQ(AsJson(c.yaml), c.want) << c.name;
}

TEST(YamlTest, NamesThePlaceOfASyntaxError) {
  EXPECT_EQ(AsJson("a: 1\nb: [1, 2\n").rfind("error: line ", 0), 0U) << AsJson("a: 1\nb: [1, 2\n");
  EXPECT_EQ(AsJson("a: *missing\n").rfind("error: line 1", 0), 0U) << AsJson("a: *missing\n");
}

TEST(YamlTest, SaysInOneLineWhatIsWrong) {
  EXPECT_EQ(ParseYaml("\"\\\x01\"").error().message, "line 1, column 4: unknown escape character: ?");
  EXPECT_EQ(ParseYaml("\"\\\xc3\xa9\"").error().message, "line 1, column 4: unknown escape character: ?");
}

TEST(YamlTest, Stream) {
  const auto documents = ParseYamlStream("---\n---\na: 1\n---\n# empty\n---\n- b\n");
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ(WriteJson((*documents)[1]), R"(["b"])");
  EXPECT_TRUE(ParseYamlStream("")->empty());
}

TEST(YamlTest, Limits) {
  const auto too_long = ParseYaml("a: 1234567890\n", {.bytes_max = 8});
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.error().code, ErrorCode::kTooLarge);

  const auto deep = ParseYaml("a: {b: {c: {d: 1}}}\n", {.depth_max = 3});
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().message, "line 1, column 12: nested deeper than 3 levels");
  EXPECT_TRUE(ParseYaml("a: {b: {c: 1}}\n", {.depth_max = 3}).ok());
  EXPECT_FALSE(ParseYaml(std::string(100'000, '[')).ok());

  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    const std::string name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " [";
    for (int k = 0; k < 10; ++k) bomb += before + (k < 9 ? ", " : "]\n");
  }
  const auto exploded = ParseYaml(bomb);
  ASSERT_FALSE(exploded.ok());
  EXPECT_NE(exploded.error().message.find("too large once its aliases are expanded"), std::string::npos);
}

}  // namespace
}  // namespace berth::codec
