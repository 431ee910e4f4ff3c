// SPDX-License-Identifier: Apache-2.0
// EventRoom: bounds the events that wait, by number and by bytes, in all and for each namespace. Shares follow dynamic
// thresholds (Choudhury and Hahne): a namespace may hold kShareOfFree times what is free. A namespace alone gets
// kShareOfFree / (kShareOfFree + 1) of all, and there is always room for another namespace: a webhook that hangs costs
// its own namespace events, and no other. Not thread-safe: the recorder guards it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "berth/base/hash_map.h"

namespace berth::client {

class EventRoom {
 public:
  static constexpr std::size_t kShareOfFree = 7;

  EventRoom(std::size_t count_max, std::size_t bytes_max) : max_{count_max, bytes_max} {}

  bool IsFullFor(std::string_view namespace_name) const {
    const auto found = held_.find(namespace_name);
    const Held held = found == held_.end() ? Held{} : found->second;
    return IsAtLimit(held.count, all_.count, max_.count) || IsAtLimit(held.bytes, all_.bytes, max_.bytes);
  }
  void Take(std::string_view namespace_name, std::size_t bytes) {
    ++all_.count;
    all_.bytes += bytes;
    Held& held = held_[namespace_name];
    ++held.count;
    held.bytes += bytes;
  }
  // With the arguments of the earlier Take().
  void GiveBack(std::string_view namespace_name, std::size_t bytes) {
    --all_.count;
    all_.bytes -= bytes;
    const auto held = held_.find(namespace_name);
    held->second.bytes -= bytes;
    if (--held->second.count == 0) held_.erase(held);
  }
  std::size_t count() const { return all_.count; }

 private:
  struct Held {
    std::size_t count = 0;
    std::size_t bytes = 0;
  };

  static bool IsAtLimit(std::size_t held, std::size_t all, std::size_t max) {
    const std::size_t free = max - std::min(all, max);
    return free == 0 || held / kShareOfFree >= free;
  }

  const Held max_;
  Held all_;
  StringHashMap<Held> held_;  // by namespace; only namespaces that hold something
};

}  // namespace berth::client
