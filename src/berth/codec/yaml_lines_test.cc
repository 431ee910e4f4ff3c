// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/yaml_lines.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::codec {
namespace {

constexpr const char* kPod = R"(# a comment
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {a.b/c: x,
  a: y}}
spec:
  containers:
  - name: c
    resources:
      requests:
        cpu: "1..5"
        nvidia.com/gpu: 1
        nvidia.com: 2
  - {name: d}
  - &e
    name: e
  - *e
)";

TEST(YamlLines, FindsTheLineOfAField) {
  const struct {
    const char* path;
    std::size_t line;  // 0: none
  } cases[] = {
      {"kind", 4},
      {"metadata.name", 5},
      {"metadata.labels[a.b/c]", 5},
      {"metadata.labels.a", 6},
      {"spec.containers", 9},
      {"spec.containers[0].resources.requests.cpu", 12},
      {"spec.containers[0].resources.requests[cpu]", 12},
      {"spec.containers[0].resources.requests[nvidia.com/gpu]", 13},
      {"spec.containers[0].resources.requests.nvidia.com/gpu", 13},
      {"spec.containers[0].resources.requests.nvidia.com", 14},
      {"spec.containers[1].name", 15},
      {"spec.containers[2].name", 17},
      {"spec.containers[3].name", 18},
      // For a missing field, the line of the innermost existing one.
      {"spec.containers[1].resources.limits.cpu", 15},
      {"spec.containers[9].name", 9},
      {"spec.nodeName", 8},
      {"spec", 8},
      {"status.phase", 0},
      {"not valid JSON", 0},
      {"", 0},
  };
  for (const auto& c : cases) EXPECT_EQ(LineOfField(kPod, c.path).value_or(0), c.line) << c.path;
}

TEST(YamlLines, CountsDocumentsThatAreNotEmpty) {
  constexpr const char* kStream = "---\na: 1\n---\n# nothing\n---\nnull\n---\nb: 2\n---\n\na: 3\n";
  EXPECT_EQ(LineOfField(kStream, "a", 0), 2U);
  EXPECT_EQ(LineOfField(kStream, "b", 1), 8U);
  EXPECT_EQ(LineOfField(kStream, "a", 2), 11U);
  EXPECT_EQ(LineOfField(kStream, "a", 1), std::nullopt);
  EXPECT_EQ(LineOfField(kStream, "a", 3), std::nullopt);
}

TEST(YamlLines, JsonHasLinesToo) {
  EXPECT_EQ(LineOfField("{\n\"a\": [\n1,\n{\"b\":\n 2}]}", "a[1].b"), 5U);
  EXPECT_EQ(LineOfField("{\"a\": [", "a"), std::nullopt);
  EXPECT_EQ(LineOfField("]", "a"), std::nullopt);
  EXPECT_EQ(LineOfField("", "a"), std::nullopt);
}

TEST(YamlLines, AnErrorSaysWhereItIs) {
  const auto in_file = [](const std::string& message) { return InFile("p.yaml", kPod, InvalidError(message)).message; };
  EXPECT_EQ(in_file("spec.containers[0].resources.requests[cpu]: \"1..5\" is no quantity"),
            "p.yaml:12: spec.containers[0].resources.requests[cpu]: \"1..5\" is no quantity");
  EXPECT_EQ(in_file("[metadata.labels.a: Invalid value, kind: Required value]"),
            "p.yaml:6: [metadata.labels.a: Invalid value, kind: Required value]");
  EXPECT_EQ(in_file("unknown field \"spec.containers[1].nam\""), "p.yaml:15: unknown field \"spec.containers[1].nam\"");
  EXPECT_EQ(in_file("not valid JSON: x"), "p.yaml: not valid JSON: x");
  EXPECT_EQ(in_file("no path"), "p.yaml: no path");
}

}  // namespace
}  // namespace berth::codec
