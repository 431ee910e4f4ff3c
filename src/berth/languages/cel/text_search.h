// SPDX-License-Identifier: Apache-2.0
// TextSearch: the Knuth-Morris-Pratt algorithm. A value; any thread. std::search and std::string::find take up to the
// product of the lengths, which a selector of a few KiB can make 10^12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace berth::cel {

// A search takes at most twice as many comparisons as the text has characters; construction takes twice as many as the
// wanted text has.
template <typename Char>
class TextSearch {
 public:
  // `wanted` must not be empty, must have fewer than 2^32 characters, and must outlive it.
  explicit TextSearch(std::span<const Char> wanted) : wanted_(wanted), borders_(wanted.size()) {
    for (std::size_t i = 1, matched = 0; i < wanted.size(); ++i) {
      matched = Next(matched, wanted[i]);
      borders_[i] = static_cast<std::uint32_t>(matched);
    }
  }

  // The first occurrence at `from` or after it.
  std::optional<std::size_t> First(std::span<const Char> text, std::size_t from = 0) const {
    for (std::size_t i = from, matched = 0; i < text.size(); ++i) {
      matched = Next(matched, text[i]);
      if (matched == wanted_.size()) return i + 1 - matched;
    }
    return std::nullopt;
  }

  // The last occurrence at `from` or before it.
  std::optional<std::size_t> Last(std::span<const Char> text, std::size_t from) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0, matched = 0; i < text.size() && i + 1 <= from + wanted_.size(); ++i) {
      matched = Next(matched, text[i]);
      if (matched < wanted_.size()) continue;
      found = i + 1 - matched;
      matched = borders_.back();
    }
    return found;
  }

 private:
  // The length of the prefix of the wanted text that the text ends with, after one more character. `matched` is the
  // length before, and less than the whole.
  std::size_t Next(std::size_t matched, const Char& character) const {
    while (!(wanted_[matched] == character)) {
      if (matched == 0) return 0;
      matched = borders_[matched - 1];
    }
    return matched + 1;
  }

  std::span<const Char> wanted_;
  // The failure function: for each prefix length minus one, the length of the longest proper prefix that is also a
  // suffix.
  std::vector<std::uint32_t> borders_;
};

}  // namespace berth::cel
