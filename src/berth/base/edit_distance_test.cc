// SPDX-License-Identifier: Apache-2.0
#include "berth/base/edit_distance.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(EditDistance, CountsChangesAdditionsAndOmissions) {
  struct Case {
    std::string_view a, b;
    std::size_t want;
  };
  for (const Case& test : std::vector<Case>{{"", "", 0},
                                            {"", "abc", 3},
                                            {"abc", "", 3},
                                            {"abc", "abc", 0},
                                            {"abc", "axc", 1},
                                            {"abc", "abcd", 1},
                                            {"abc", "bc", 1},
                                            {"kitten", "sitting", 3},
                                            {"NodeMacth", "NodeMatch", 2}}) {
    EXPECT_EQ(EditDistance(test.a, test.b), test.want) << test.a << " " << test.b;
  }
}

TEST(NearestName, IsTheFirstOfTheNearest) {
  const std::vector<std::string_view> names{"NodeName", "NodePorts", "NodeMatch"};
  EXPECT_EQ(NearestName("NodeMacth", names), "NodeMatch");
  EXPECT_EQ(NearestName("nodeports", names), "NodePorts");
  EXPECT_EQ(NearestName("Node", names), "NodeName");
  EXPECT_EQ(NearestName("x", {}), "");
  EXPECT_EQ(NearestName(std::string(1'000'000, 'x'), names), "NodeName");  // and returns quickly
}

TEST(SimilarName, IsOneThatWasMeant) {
  const std::vector<std::string_view> names{"NodeName", "NodePorts", "NodeMatch", "v"};
  EXPECT_EQ(SimilarName("NodeMacth", names), "NodeMatch");
  EXPECT_EQ(SimilarName("NodePrt", names), "NodePorts") << "two of seven";
  EXPECT_EQ(SimilarName("Node", names), "") << "as many letters are missing as there are";
  EXPECT_EQ(SimilarName("x", names), "v") << "one letter may always be wrong";
  EXPECT_EQ(SimilarName("x", {}), "");
  EXPECT_EQ(SimilarName(std::string(1'000'000, 'x'), names), "");
}

}  // namespace
}  // namespace berth
