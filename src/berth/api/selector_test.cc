// SPDX-License-Identifier: Apache-2.0
#include "berth/api/selector.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::api {
namespace {

std::string Text(const LabelSelector& selector) {
  std::string text;
  for (const Requirement& requirement : selector.requirements) {
    if (!text.empty()) text += "; ";
    text += requirement.key + ' ' + std::string(ToString(requirement.op));
    for (const std::string& value : requirement.values) text += " '" + value + "'";
  }
  return text;
}

TEST(ParseLabelSelectorTest, Reads) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"  \t", ""},
      {"a=b", "a In 'b'"},
      {"a==b", "a In 'b'"},
      {"a = b", "a In 'b'"},
      {"a!=b", "a NotIn 'b'"},
      {"a=", "a In ''"},
      {"a!=,b", "a NotIn ''; b Exists"},
      {"a", "a Exists"},
      {"!a", "a DoesNotExist"},
      {"! a", "a DoesNotExist"},
      {"a>1", "a Gt '1'"},
      {"a < 5", "a Lt '5'"},
      {"a in (b)", "a In 'b'"},
      {"a in(c,b,c)", "a In 'b' 'c'"},
      {"a notin (b,c)", "a NotIn 'b' 'c'"},
      {"a in ()", "a In ''"},
      {"a in (,)", "a In ''"},
      {"a in (b,,c)", "a In '' 'b' 'c'"},
      {"a in (,b)", "a In '' 'b'"},
      {"a in (b,)", "a In '' 'b'"},
      {"in in (notin)", "in In 'notin'"},
      {"a=in", "a In 'in'"},
      {"notin", "notin Exists"},
      {"z=1,a,m in (x)", "a Exists; m In 'x'; z In '1'"},
      {"example.com/role=web,app.kubernetes.io/name!=x", "app.kubernetes.io/name NotIn 'x'; example.com/role In 'web'"},
  };
  for (const auto& [text, want] : cases) {
    const auto selector = ParseLabelSelector(text);
    ASSERT_TRUE(selector.ok()) << text << ": " << selector.error().message;
    EXPECT_EQ(Text(*selector), want) << text;
  }
}

TEST(ParseLabelSelectorTest, Refuses) {
  const std::pair<const char*, const char*> cases[] = {
      {",", "at byte 0: found ',', expected '!' or a label key"},
      {"a,", "at byte 2: it ends, expected '!' or a label key"},
      {"a,,b", "at byte 2: found ',', expected '!' or a label key"},
      {"=b", "at byte 0: found '=', expected '!' or a label key"},
      {"a b", "at byte 2: found 'b', expected one of '=', '==', '!=', '>', '<', 'in', 'notin'"},
      {"a=b c", "at byte 4: found 'c', expected ',' or the end"},
      {"a=b=c", "at byte 3: found '=', expected ',' or the end"},
      {"a in b", "at byte 5: found 'b', expected '('"},
      {"a in (b", "at byte 7: it ends, expected ',' or ')'"},
      {"a in (b c)", "at byte 8: found 'c', expected ',' or ')'"},
      {"a in (b))", "at byte 8: found ')', expected ',' or the end"},
      {"a=(b)", "at byte 2: found '(', expected a value"},
      {"!", "at byte 1: it ends, expected a label key"},
      {"a>-5",
       "a: '-5' is no label value: it must be empty, or at most 63 letters, digits, '-', '_' and '.', beginning and "
       "ending with "
       "a letter or digit"},
      {"!a=b", "at byte 2: found '=', expected ',' or the end"},
      {"a>x", "a: for 'Gt', 'Lt' operators, the value must be an integer, not 'x'"},
      {"a>", "a: for 'Gt', 'Lt' operators, the value must be an integer, not ''"},
      {"-a=b",
       "'-a' is no label key: it must be at most 63 letters, digits, '-', '_' and '.', beginning and ending with a "
       "letter or "
       "digit, with an optional DNS prefix and '/'"},
      {"a=b$",
       "a: 'b$' is no label value: it must be empty, or at most 63 letters, digits, '-', '_' and '.', beginning and "
       "ending with "
       "a letter or digit"},
  };
  for (const auto& [text, want] : cases) {
    const auto selector = ParseLabelSelector(text);
    ASSERT_FALSE(selector.ok()) << text;
    EXPECT_EQ(selector.error().message, "label selector '" + std::string(text) + "': " + want);
  }
}

TEST(RequirementTest, Matches) {
  using enum SelectorOperator;
  const std::string b = "b";
  const std::string five = "5";
  const std::string empty;
  struct Case {
    const char* name;
    Requirement requirement;
    const std::string* value;
    bool want;
  };
  const Case cases[] = {
      {"In", {"a", kIn, {"x", "b"}}, &b, true},
      {"In, other value", {"a", kIn, {"x"}}, &b, false},
      {"In, absent", {"a", kIn, {"x", ""}}, nullptr, false},
      {"In, empty value", {"a", kIn, {""}}, &empty, true},
      {"NotIn", {"a", kNotIn, {"x"}}, &b, true},
      {"NotIn, listed", {"a", kNotIn, {"b"}}, &b, false},
      {"NotIn, absent", {"a", kNotIn, {"b"}}, nullptr, true},
      {"Exists", {"a", kExists, {}}, &empty, true},
      {"Exists, absent", {"a", kExists, {}}, nullptr, false},
      {"DoesNotExist", {"a", kDoesNotExist, {}}, &b, false},
      {"DoesNotExist, absent", {"a", kDoesNotExist, {}}, nullptr, true},
      {"Gt", {"a", kGt, {"4"}}, &five, true},
      {"Gt, equal", {"a", kGt, {"5"}}, &five, false},
      {"Gt, absent", {"a", kGt, {"4"}}, nullptr, false},
      {"Gt, label is no number", {"a", kGt, {"4"}}, &b, false},
      {"Gt, limit is no number", {"a", kGt, {"x"}}, &five, false},
      {"Gt, limit beyond 64 bits", {"a", kGt, {"-9223372036854775809"}}, &five, false},
      {"Gt, two limits", {"a", kGt, {"1", "2"}}, &five, false},
      {"Lt", {"a", kLt, {"+6"}}, &five, true},
      {"Lt, greater", {"a", kLt, {"-6"}}, &five, false},
      {"unknown", {"a", kUnknown, {"b"}}, &b, false},
  };
  for (const Case& c : cases) EXPECT_EQ(c.requirement.Matches(c.value), c.want) << c.name;
}

TEST(RequirementTest, Validates) {
  using enum SelectorOperator;
  EXPECT_TRUE((Requirement{"a.b/c", kIn, {"x", ""}}.Validate().ok()));
  EXPECT_TRUE((Requirement{"a", kExists, {}}.Validate().ok()));
  EXPECT_TRUE((Requirement{"a", kLt, {"3"}}.Validate().ok()));
  const std::pair<Requirement, const char*> cases[] = {
      {{"a", kIn, {}}, "a: for 'in', 'notin' operators, values set can't be empty"},
      {{"a", kNotIn, {}}, "a: for 'in', 'notin' operators, values set can't be empty"},
      {{"a", kExists, {"b"}}, "a: values set must be empty for exists and does not exist"},
      {{"a", kGt, {"1", "2"}}, "a: for 'Gt', 'Lt' operators, exactly one value is required"},
      {{"a", kUnknown, {}}, "a: the operator must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt"},
  };
  for (const auto& [requirement, want] : cases) EXPECT_EQ(requirement.Validate().error().message, want);
}

TEST(LabelSelectorTest, AllRequirementsMustMatch) {
  const StringMap labels{{"app", "web"}, {"tier", "front"}};
  EXPECT_TRUE(LabelSelector{}.Matches(labels));
  EXPECT_TRUE(ParseLabelSelector("app=web,tier!=back")->Matches(labels));
  EXPECT_FALSE(ParseLabelSelector("app=web,tier=back")->Matches(labels));
}

TEST(NodeSelectorTermTest, Matches) {
  using enum SelectorOperator;
  const StringMap labels{{"zone", "a"}};
  struct Case {
    const char* name;
    NodeSelectorTerm term;
    bool want;
  };
  const Case cases[] = {
      {"empty", {}, false},
      {"label", {{{"zone", kIn, {"a"}}}, {}}, true},
      {"other label", {{{"zone", kIn, {"b"}}}, {}}, false},
      {"name", {{}, {{"metadata.name", kIn, {"n1"}}}}, true},
      {"other name", {{}, {{"metadata.name", kIn, {"n2"}}}}, false},
      {"not this name", {{}, {{"metadata.name", kNotIn, {"n1"}}}}, false},
      {"not another name", {{}, {{"metadata.name", kNotIn, {"n2"}}}}, true},
      {"both must match", {{{"zone", kIn, {"a"}}}, {{"metadata.name", kIn, {"n2"}}}}, false},
      {"two names match nothing", {{}, {{"metadata.name", kIn, {"n1", "n2"}}}}, false},
      {"another field is empty", {{}, {{"metadata.uid", kNotIn, {"x"}}}}, true},
  };
  for (const Case& c : cases) EXPECT_EQ(c.term.Matches("n1", labels), c.want) << c.name;
  EXPECT_EQ((NodeSelectorTerm{{}, {{"metadata.name", kIn, {"a", "b"}}}}.Validate().error().message),
            "metadata.name: a field takes exactly one value");
  EXPECT_EQ((NodeSelectorTerm{{}, {{"metadata.name", kExists, {}}}}.Validate().error().message),
            "metadata.name: the operator on a field must be In or NotIn");
}

TEST(SelectorOperatorTest, NamesGoBothWays) {
  for (const char* name : {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}) {
    EXPECT_EQ(ToString(ParseSelectorOperator(name)), name);
  }
  EXPECT_EQ(ParseSelectorOperator("in"), SelectorOperator::kUnknown);
}

}  // namespace
}  // namespace berth::api
