// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/text_search.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace berth::cel {
namespace {

std::size_t comparisons = 0;

struct Counted {
  char character;
  bool operator==(const Counted& other) const {
    ++comparisons;
    return character == other.character;
  }
};

std::vector<Counted> CountedText(std::string_view text) {
  std::vector<Counted> counted;
  for (const char c : text) counted.push_back({c});
  return counted;
}

std::size_t OrNpos(std::optional<std::size_t> found) { return found.value_or(std::string::npos); }

TEST(TextSearch, FindsWhatPlainSearchFinds) {
  std::mt19937 random(7);
  const auto text_of = [&](std::size_t size) {
    std::string text;
    while (text.size() < size) text += random() % 3 == 0 ? 'b' : 'a';
    return text;
  };
  std::size_t found = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = text_of(random() % 30);
    const std::string wanted = text_of(1 + random() % 6);
    const std::size_t from = random() % 32;
    const TextSearch<char> search(wanted);
    ASSERT_EQ(OrNpos(search.First(text, from)), text.find(wanted, from))
        << wanted << " in " << text << " from " << from;
    ASSERT_EQ(OrNpos(search.Last(text, from)), text.rfind(wanted, from))
        << wanted << " in " << text << " from " << from;
    found += text.find(wanted, from) == std::string::npos ? 0 : 1;
  }
  EXPECT_GT(found, 2000U);
}

TEST(TextSearch, ComparesByTheSumOfTheLengths) {
  const std::string many(5000, 'a');
  for (const std::string& wanted : {many.substr(0, 2000) + 'b', 'b' + many.substr(0, 2000), many.substr(0, 2000)}) {
    for (const std::string& text : {many, many + 'b', many.substr(0, 1999) + 'c' + many}) {
      const std::vector<Counted> counted_text = CountedText(text);
      const std::vector<Counted> counted_wanted = CountedText(wanted);
      comparisons = 0;
      const TextSearch<Counted> search(counted_wanted);
      EXPECT_LE(comparisons, 2 * wanted.size());
      comparisons = 0;
      search.First(counted_text);
      EXPECT_LE(comparisons, 2 * text.size());
      comparisons = 0;
      search.Last(counted_text, text.size());
      EXPECT_LE(comparisons, 2 * text.size());
    }
  }
}

}  // namespace
}  // namespace berth::cel
