// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/yaml_writer.h"

#include <string>

#include <gtest/gtest.h>

#include "berth/codec/yaml.h"

namespace berth::codec {
namespace {

TEST(YamlWriter, BlocksWithKeysInOrder) {
  const json::value value =
      json::parse(R"({"b": {"z": 1, "x": []}, "a": [{"name": "m", "list": [1, 2.5]}, {}], "c": ""})");
  EXPECT_EQ(WriteYaml(value),
            "a:\n"
            "- list:\n"
            "  - 1\n"
            "  - 2.5\n"
            "  name: m\n"
            "- {}\n"
            "b:\n"
            "  x: []\n"
            "  z: 1\n"
            "c: \"\"\n");
}

TEST(YamlWriter, StringsStayStrings) {
  for (const char* text : {"plain",      "kubescheduler.config.k8s.io/v1",
                           "10m0s",      "true",
                           "yes",        "null",
                           "1.36",       "0x10",
                           "1e3",        "~",
                           "-",          "---",
                           "a: b",       "# c",
                           "line\nline", "\"q\"",
                           "",           " a",
                           "2026-01-01", "*",
                           "caf\xc3\xa9"}) {
    const json::value value = {{"k", json::array{text}}, {text, 1}};
    const auto read = ParseYaml(WriteYaml(value));
    ASSERT_TRUE(read.ok()) << text << read.error().message;
    EXPECT_EQ(*read, value) << WriteYaml(value);
  }
  EXPECT_EQ(WriteYaml(json::value("10m0s")), "10m0s\n");
  EXPECT_EQ(WriteYaml(json::value("1.36")), "\"1.36\"\n");
}

TEST(YamlWriter, ListsInLists) {
  const json::value value = json::parse(R"([[1, [2]], {"a": [[3]]}])");
  const auto read = ParseYaml(WriteYaml(value));
  ASSERT_TRUE(read.ok()) << WriteYaml(value);
  EXPECT_EQ(*read, value);
}

}  // namespace
}  // namespace berth::codec
