// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/label_selector.h"

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using api::LabelSelector;
using api::Requirement;
using enum api::SelectorOperator;

constexpr const char* kName =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr const char* kValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

TEST(LabelSelectorError, IsUpstreams) {
  const struct {
    const char* name;
    std::vector<Requirement> requirements;
    std::string want;
  } cases[] = {
      {"everything", {}, ""},
      {"all operators", {{"a", kIn, {"x", ""}, ""}, {"b", kNotIn, {"y"}, ""}, {"c", kExists, {}, ""}}, ""},
      {"unknown operator", {{"a", kUnknown, {"x"}, "Foo\n"}}, "\"Foo\\n\" is not a valid label selector operator"},
      {"an operator of node selectors", {{"a", kGt, {"1"}, ""}}, "\"Gt\" is not a valid label selector operator"},
      {"In without values",
       {{"a", kIn, {}, ""}},
       "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
      {"Exists with values",
       {{"a", kExists, {"x", "<"}, ""}},
       "[values: Invalid value: [\"x\",\"\\u003c\"]: values set must be empty for exists and does not exist, "
       "values[1][a]: Invalid value: \"<\": " +
           std::string(kValue) + "]"},
      {"bad value", {{"a", kIn, {"x", "-"}, ""}}, "values[1][a]: Invalid value: \"-\": " + std::string(kValue)},
      {"long value",
       {{"a", kIn, {std::string(64, 'x')}, ""}},
       "values[0][a]: Invalid value: \"" + std::string(64, 'x') + "\": must be no more than 63 bytes"},
      {"empty key",
       {{"", kExists, {}, ""}},
       "key: Invalid value: \"\": name part must be non-empty; name part " + std::string(kName)},
      {"bad key", {{"a b", kExists, {}, ""}}, "key: Invalid value: \"a b\": name part " + std::string(kName)},
      {"empty prefix", {{"/a", kExists, {}, ""}}, "key: Invalid value: \"/a\": prefix part must be non-empty"},
      {"bad prefix",
       {{"A/a", kExists, {}, ""}},
       "key: Invalid value: \"A/a\": prefix part a lowercase RFC 1123 subdomain must consist of lower case "
       "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
       "'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
       "')"},
      {"long prefix",
       {{std::string(254, 'a') + "/a", kExists, {}, ""}},
       "key: Invalid value: \"" + std::string(254, 'a') + "/a\": prefix part must be no more than 253 bytes"},
      {"two slashes",
       {{"a/b/c", kExists, {}, ""}},
       "key: Invalid value: \"a/b/c\": a valid label key " + std::string(kName) +
           " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"},
      {"the first faulty requirement counts",
       {{"a", kExists, {}, ""}, {"b", kUnknown, {}, "X"}, {"c", kUnknown, {}, "Y"}},
       "\"X\" is not a valid label selector operator"},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(LabelSelectorError(LabelSelector{test.requirements}), test.want) << test.name;
  }
}

}  // namespace
}  // namespace berth::plugins
