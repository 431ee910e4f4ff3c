// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/names.h"

#include <gtest/gtest.h>

namespace berth::cel {
namespace {

TEST(Names, TheInnermostMeaningWins) {
  Environment environment;
  environment.AddVariable("x", IntType());
  Names names(environment);
  EXPECT_EQ(names.Find("x")->type, IntType());
  names.Open({{"x", StringType()}, {"y", BoolType()}});
  names.Open({{"x", BytesType()}});
  EXPECT_EQ(names.Find("x")->type, BytesType());
  EXPECT_EQ(names.Find("y")->type, BoolType());
  names.Close();
  EXPECT_EQ(names.Find("x")->type, StringType());
  names.Close();
  EXPECT_EQ(names.Find("x")->type, IntType());
  EXPECT_FALSE(names.Find("y"));
}

TEST(Names, TypesAreNamesToo) {
  Environment environment;
  environment.AddStruct("berth.Pod", {{"name", StringType()}});
  const Names names(environment);
  EXPECT_EQ(names.Find("int")->type_value, IntType());
  EXPECT_EQ(names.Find(".berth.Pod")->name, "berth.Pod");
  EXPECT_FALSE(names.Find("berth.Node"));
}

}  // namespace
}  // namespace berth::cel
