// SPDX-License-Identifier: Apache-2.0
// ReadBuffer: bytes that have arrived and are not yet parsed. For the sources of this folder. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace berth::net {

class ReadBuffer {
 public:
  std::string_view unread() const { return std::string_view(bytes_).substr(begin_, end_ - begin_); }

  void Consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Room for one read; Filled says how much of it was used.
  std::pair<char*, std::size_t> Room() {
    if (begin_ > 0) {
      // Only what is unread: the room behind it may be a thousand times as large.
      std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_),
                bytes_.begin() + static_cast<std::ptrdiff_t>(end_), bytes_.begin());
      end_ -= begin_;
      begin_ = 0;
    }
    if (bytes_.size() < end_ + read_bytes_) bytes_.resize(end_ + read_bytes_);
    return {bytes_.data() + end_, bytes_.size() - end_};
  }

  std::size_t capacity() const { return bytes_.capacity(); }

  // Frees the memory that a large message has needed.
  void Trim() {
    if (begin_ != end_ || bytes_.capacity() <= 2 * kReadBytesMin) return;
    bytes_ = std::string();
    read_bytes_ = kReadBytesMin;
  }

  // A read that fills its room is part of a large message, so the next read may be larger.
  void Filled(std::size_t count, std::size_t room) {
    end_ += count;
    if (count == room) read_bytes_ = std::min(read_bytes_ * 2, kReadBytesMax);
  }

 private:
  static constexpr std::size_t kReadBytesMin = std::size_t{8} << 10;
  static constexpr std::size_t kReadBytesMax = std::size_t{256} << 10;

  std::string bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t read_bytes_ = kReadBytesMin;
};

}  // namespace berth::net
