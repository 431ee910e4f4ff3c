// SPDX-License-Identifier: Apache-2.0
// HeldInputs: inputs that wait for a second before the core takes them in, so that decisions can be put into the order
// in which the other scheduler made them. It decides one pod after the other and binds them side by side, so that a
// binding may be seen before that of a pod decided earlier. Pure; one thread.
//
// An input keeps its place, the place of what was written last, except for this: before a decision is taken, all those
// that its scheduler's queue must have given out before it go first (IsDecidedBefore). All else would be a guess.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/plugin.h"
#include "berth/shadow/sighting.h"

namespace berth::shadow {

struct HeldInput {
  Time at{};  // when it came
  scheduler::Input input;
  std::optional<Sighting> sighting;
};

// True when the other scheduler must have decided `a` before `b`: both were in its queue for the first time, `a` came
// no later, and the queue gives out `a` first.
bool IsDecidedBefore(const Sighting& a, const Sighting& b, const framework::QueueSortPlugin& sort);

class HeldInputs {
 public:
  // Longer than bindings take that are under way side by side.
  static constexpr Duration kWindow = std::chrono::seconds(1);

  // `sort` must outlive it.
  explicit HeldInputs(const framework::QueueSortPlugin& sort) : sort_(sort) {}

  void Push(HeldInput held) { inputs_.push_back(std::move(held)); }
  // The next that has been held for the window; with `is_ending` the next of all.
  std::optional<HeldInput> Take(Time now, bool is_ending);
  // When Take() has something.
  std::optional<Time> NextDue() const {
    return inputs_.empty() ? std::nullopt : std::optional(inputs_.front().at + kWindow);
  }
  std::size_t size() const { return inputs_.size(); }
  // Calls `visit` for the decisions that are held, in their order, until it returns false.
  void ForEachSighting(const std::function<bool(const Sighting&)>& visit) const;

 private:
  using Inputs = std::list<HeldInput>;
  HeldInput TakeAt(Inputs::iterator at);

  const framework::QueueSortPlugin& sort_;
  Inputs inputs_;  // the oldest first
};

}  // namespace berth::shadow
