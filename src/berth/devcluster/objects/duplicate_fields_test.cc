// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/duplicate_fields.h"

#include <gtest/gtest.h>

namespace berth::objects {
namespace {

TEST(DuplicateFields, AreFoundInOrder) {
  struct Case {
    const char* name;
    const char* text;
    std::vector<std::string> want;
  };
  const Case cases[] = {{"none", R"({"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]})", {}},
                        {"nested first",
                         R"({"spec":{"containers":[{"name":"c","name":"x"}],"containers":[]}})",
                         {R"(duplicate field "spec.containers[0].name")", R"(duplicate field "spec.containers")"}},
                        {"three times", R"({"a":1,"a":2,"a":3})", {R"(duplicate field "a")", R"(duplicate field "a")"}},
                        {"escaped key", R"({"ab":1,"a\u0062":2})", {R"(duplicate field "ab")"}},
                        {"brackets in strings", R"({"a":"}]{[\"","b":1,"b":2})", {R"(duplicate field "b")"}},
                        {"empty containers", R"({"a":{},"b":[],"c":[ ],"d":{ },"d":null})", {R"(duplicate field "d")"}},
                        {"no JSON", R"({"a":1,"a")", {}},
                        {"cut off in a string", R"({"a":"x)", {}},
                        {"key of another object", R"({"a":{"x":1},"b":{"x":1},"x":1})", {}},
                        {"after a list of objects", R"({"a":[{"b":1},{"b":1}],"a":1})", {R"(duplicate field "a")"}},
                        {"nothing", "", {}}};
  std::string many = "{";
  for (int i = 0; i < 200; ++i) many += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_EQ(DuplicateFields(many + "\"z\":1}"), std::vector<std::string>{});
  EXPECT_EQ(DuplicateFields(many + "\"k199\":1}"), std::vector<std::string>{"duplicate field \"k199\""});
  for (const Case& c : cases) {
    if (std::string_view(c.name) == "no JSON") {
      EXPECT_LE(DuplicateFields(c.text).size(), 1U);
      continue;
    }
    EXPECT_EQ(DuplicateFields(c.text), c.want) << c.name;
  }
}

TEST(DuplicateFields, StopAtTheirBound) {
  std::string text = R"({"a":1)";
  for (std::size_t i = 0; i < kDuplicateFieldsMax + 10; ++i) text += R"(,"a":1)";
  EXPECT_EQ(DuplicateFields(text + "}").size(), kDuplicateFieldsMax);
}

}  // namespace
}  // namespace berth::objects
