// SPDX-License-Identifier: Apache-2.0
// FixedText: a string of at most N - 1 bytes that never allocates, for signal handlers. Longer texts are cut. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace berth {

template <std::size_t N>
class FixedText {
 public:
  void Add(std::string_view text) noexcept {
    const std::size_t size = std::min(text.size(), N - 1 - size_);
    std::copy_n(text.begin(), size, text_ + size_);
    size_ += size;
    text_[size_] = '\0';
  }
  // `number` must not be negative.
  void AddNumber(long number) noexcept {
    char digits[24];
    std::size_t at = sizeof digits;
    do digits[--at] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    Add({digits + at, sizeof digits - at});
  }

  std::string_view view() const noexcept { return {text_, size_}; }
  // Terminated by a 0.
  char* data() noexcept { return text_; }

 private:
  char text_[N] = {};
  std::size_t size_ = 0;
};

}  // namespace berth
