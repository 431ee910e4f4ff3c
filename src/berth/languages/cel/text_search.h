// SPDX-License-Identifier: Apache-2.0
// TextSearch: finds a text in others by Knuth, Morris and Pratt. A value; any thread. std::search and std::string::find
// compare up to the product of the lengths, which a selector of a few KiB can make 10^12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace berth::cel {

// A search takes at most twice as many comparisons as the text has characters, and its making twice those of the wanted
// text.
template <typename Char>
class TextSearch {
 public:
  // `wanted` is not empty, has fewer than 2^32 characters and must outlive it.
  explicit TextSearch(std::span<const Char> wanted) : wanted_(wanted), borders_(wanted.size()) {
    for (std::size_t i = 1, matched = 0; i < wanted.size(); ++i) {
      matched = Next(matched, wanted[i]);
      borders_[i] = static_cast<std::uint32_t>(matched);
    }
  }

  // Where it begins first, at `from` or behind.
  std::optional<std::size_t> First(std::span<const Char> text, std::size_t from = 0) const {
    for (std::size_t i = from, matched = 0; i < text.size(); ++i) {
      matched = Next(matched, text[i]);
      if (matched == wanted_.size()) return i + 1 - matched;
    }
    return std::nullopt;
  }

  // Where it begins last, at `from` or before.
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
  // How many characters of the wanted text the text ends with, after one more; `matched` before, not all of them.
  std::size_t Next(std::size_t matched, const Char& character) const {
    while (!(wanted_[matched] == character)) {
      if (matched == 0) return 0;
      matched = borders_[matched - 1];
    }
    return matched + 1;
  }

  std::span<const Char> wanted_;
  // By length less one: of so much of the wanted text, the longest proper beginning that is its end as well.
  std::vector<std::uint32_t> borders_;
};

}  // namespace berth::cel
