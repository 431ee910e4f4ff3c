// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/watch_budget.h"

#include <algorithm>
#include <utility>

namespace berth::apiserver {

void WatchBudget::Note(Account& account, std::size_t bytes, Time now) {
  if (account.bytes == 0 || bytes < account.bytes) account.progress_at = now;
  total_ += bytes;
  total_ -= std::exchange(account.bytes, bytes);
}

std::vector<std::size_t> WatchBudget::Overdrawn(const std::vector<const Account*>& accounts, Time now) {
  if (!IsFull()) {
    is_over_ = false;
    return {};
  }
  if (!std::exchange(is_over_, true)) over_since_ = now;
  std::vector<std::size_t> ended;
  std::vector<std::size_t> others;
  std::size_t left = total_;
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    if (accounts[i]->bytes == 0) continue;
    if (now - accounts[i]->progress_at >= kWatchStallMax) {
      ended.push_back(i);
      left -= accounts[i]->bytes;
    } else {
      others.push_back(i);
    }
  }
  if (left <= kWatchesUnreadBytesMax || now - over_since_ < kWatchesOverMax) return ended;
  // Their peers read, but so slowly that they keep all others waiting. Those that read quickly hold nothing by now.
  std::stable_sort(others.begin(), others.end(),
                   [&](std::size_t a, std::size_t b) { return accounts[a]->bytes > accounts[b]->bytes; });
  for (const std::size_t i : others) {
    if (left <= kWatchesUnreadBytesMax / 2) break;
    ended.push_back(i);
    left -= accounts[i]->bytes;
  }
  return ended;
}

}  // namespace berth::apiserver
