// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::answers {
namespace {

using ::testing::ElementsAre;

TEST(WrapWords, BreaksBetweenWords) {
  EXPECT_THAT(WrapWords("one two three", 7, 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapWords("one two three", 20, 20), ElementsAre("one two three"));
  EXPECT_THAT(WrapWords("one two three four", 7, 5), ElementsAre("one two", "three", "four"));
  EXPECT_THAT(WrapWords("a verylongword b", 5, 5), ElementsAre("a", "verylongword", "b")) << "it is not cut";
  EXPECT_THAT(WrapWords("", 5, 5), ElementsAre(""));
  EXPECT_THAT(WrapWords("ends ", 20, 20), ElementsAre("ends"));
  EXPECT_THAT(WrapWords("\x1b[31mred", 20, 20), ElementsAre("?[31mred")) << "text of the cluster is made printable";
  EXPECT_THAT(WrapWords("日本 日本 日本", 9, 9), ElementsAre("日本 日本", "日本")) << "columns count, not bytes";
}

TEST(Page, WhatItWrites) {
  Page page({.width = 24});
  page.Gap();
  page.Field("Pod", "default/web");
  page.Field("Refused", "no node takes it");
  page.Title("Changes");
  page.Text("one two three four five six", 2);
  page.Gap();
  cli::Table table({{"NODE"}, {"PODS", true}});
  table.AddRow({"n1", "12"});
  page.Rows(table, 2);
  EXPECT_THAT(std::move(page).Take(),
              ElementsAre("Pod:        default/web", "Refused:    no node", "            takes it", "", "Changes",
                          "  one two three four", "    five six", "", "  NODE   PODS", "  n1       12"));
}

TEST(Page, ColorsAreOfLabelsAndTitles) {
  Page page({.has_color = true}, 80);
  page.Field("Pod", "a");
  page.Line("b", cli::Color::kRed);
  EXPECT_THAT(std::move(page).Take(), ElementsAre("\x1b[1mPod:        \x1b[0ma", "\x1b[31mb\x1b[0m"));
}

}  // namespace
}  // namespace berth::answers
