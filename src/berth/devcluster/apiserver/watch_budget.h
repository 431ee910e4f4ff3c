// SPDX-License-Identifier: Apache-2.0
// WatchBudget: the bytes that the peers of all watches together leave unread, and which watches have to end when they
// are too many. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "berth/base/time.h"

namespace berth::apiserver {

// Bytes that may wait in all watches together. While there are more, nothing is written to any watch.
inline constexpr std::size_t kWatchesUnreadBytesMax = std::size_t{64} << 20;
// While there is more, a watch whose peer takes nothing for this long ends.
inline constexpr Duration kWatchStallMax = std::chrono::milliseconds(500);
// When that has not helped for this long, the watches that hold most end.
inline constexpr Duration kWatchesOverMax = std::chrono::seconds(2);

class WatchBudget {
 public:
  // What one watch holds. It belongs to its watch, which closes it before it goes.
  struct Account {
    std::size_t bytes = 0;
    Time progress_at;  // when it was seen to hold less than before, or nothing
  };

  // The account stands at this number of bytes from now on.
  void Note(Account& account, std::size_t bytes, Time now);
  void Close(Account& account) { Note(account, 0, Time()); }

  bool IsFull() const { return total_ > kWatchesUnreadBytesMax; }
  std::size_t total() const { return total_; }

  // Indexes of the accounts whose watches have to end. `accounts` are all there are, as of `now`.
  std::vector<std::size_t> Overdrawn(const std::vector<const Account*>& accounts, Time now);

 private:
  std::size_t total_ = 0;
  bool is_over_ = false;
  Time over_since_;
};

}  // namespace berth::apiserver
