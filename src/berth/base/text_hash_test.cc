// SPDX-License-Identifier: Apache-2.0
#include "berth/base/text_hash.h"

#include <bit>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(HashText, IsTheSameForEqualText) {
  const std::string text = "0b7f3b5e-9c1d-4a7e-8f2b-1d5c6a7b8c9d";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string copy = "-" + text.substr(0, size);  // at another address with another alignment
    EXPECT_EQ(HashText(std::string_view(text).substr(0, size)), HashText(std::string_view(copy).substr(1)));
  }
}

// Every byte matters at every length: the hashes of texts that differ in one byte differ in about half of their bits.
TEST(HashText, DependsOnEachByte) {
  for (std::size_t size = 1; size <= 70; ++size) {
    const std::string text(size, 'a');
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = 'b';
      const int bits = std::popcount(HashText(text) ^ HashText(other));
      EXPECT_GT(bits, 8) << size << " bytes, differing in number " << at;
      EXPECT_LT(bits, 56) << size << " bytes, differing in number " << at;
    }
  }
}

TEST(HashText, DependsOnTheLength) {
  std::set<std::size_t> hashes;
  for (std::size_t size = 0; size <= 70; ++size) hashes.insert(HashText(std::string(size, '\0')));
  EXPECT_EQ(hashes.size(), 71u);
}

// Hash tables use the low bits.
TEST(HashText, SpreadsNumberedNames) {
  std::set<std::size_t> low;
  for (int i = 0; i < 4096; ++i) low.insert(HashText("node-" + std::to_string(i)) % 4096);
  EXPECT_GT(low.size(), 2400u);  // random numbers would give 2,589
}

}  // namespace
}  // namespace berth
