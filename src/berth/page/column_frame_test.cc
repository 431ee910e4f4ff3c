// SPDX-License-Identifier: Apache-2.0
#include "berth/page/column_frame.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/page/page_testing.h"

namespace berth::page {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNan;
using ::testing::SizeIs;

TEST(ColumnFrameTest, OfRowsThatAreAllAlikeTheFirstIsWritten) {
  constexpr std::size_t kRows = 1'000;
  const auto frame_of = [](std::uint32_t last) {
    ColumnFrame frame;
    std::vector<double> amounts;
    for (std::size_t i = 0; i < kRows; ++i) amounts.insert(amounts.end(), {0.5, 2.0});
    std::vector<std::uint32_t> numbers(kRows, 7);
    numbers.back() = last;
    frame.Add("amounts", std::move(amounts), 2);
    frame.Add("unknown", std::vector<double>(kRows, std::numeric_limits<double>::quiet_NaN()));
    frame.Add("numbers", std::move(numbers));
    frame.AddDifferences("steps", {5, 10, 15});
    frame.Add("none", std::vector<std::uint16_t>());
    return std::move(frame).Take({{"kind", "full"}});
  };
  const std::string alike = frame_of(7);
  EXPECT_LT(alike.size(), 700U);
  const FrameReader read(alike);
  const auto amounts = read.Column<double>("amounts");
  ASSERT_THAT(amounts, SizeIs(2 * kRows));
  EXPECT_EQ(amounts[1'998], 0.5);
  EXPECT_EQ(amounts[1'999], 2.0);
  EXPECT_THAT(read.Column<double>("unknown"), Each(IsNan()));
  EXPECT_THAT(read.Column<std::uint32_t>("numbers"), Each(7U));
  EXPECT_THAT(read.Column<std::uint32_t>("steps"), ElementsAre(5U, 10U, 15U));
  EXPECT_THAT(read.Column<std::uint16_t>("none"), IsEmpty());

  const std::string one_differs = frame_of(8);
  EXPECT_GT(one_differs.size(), kRows * sizeof(std::uint32_t));
  EXPECT_EQ(FrameReader(one_differs).Column<std::uint32_t>("numbers").back(), 8U);
}

}  // namespace
}  // namespace berth::page
