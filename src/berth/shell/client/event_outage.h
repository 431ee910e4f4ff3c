// SPDX-License-Identifier: Apache-2.0
// EventOutage: whether the API server is away or overloaded, as far as the events know, and how long they wait then.
// One that sends an event back now and then is not away: only that event waits. Not thread-safe: the recorder guards
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "berth/base/expected.h"
#include "berth/base/random.h"
#include "berth/base/time.h"

namespace berth::client {

class EventOutage {
 public:
  // Events in a row that the server sent back, after which it counts as away.
  static constexpr int kInRowMax = 3;

  EventOutage(Duration backoff_min, Duration backoff_max, std::uint64_t seed)
      : backoff_min_(backoff_min), backoff_max_(backoff_max), random_(seed) {}

  // The server has taken an event.
  void RecordTaken() {
    in_row_ = pauses_ = 0;
    is_probing_ = false;
  }
  // It has sent one back with which nothing is wrong. True: all shall wait.
  bool RecordSentBack() { return ++in_row_ >= kInRowMax || is_probing_; }

  // How long an event waits after so many failures; not shorter than the server asks for.
  Duration DelayAfter(int failures, const Error& error);

  // All wait, and then one event goes first. Returns for how long; nothing when they do already.
  std::optional<Duration> Pause(const Error& error);
  void EndPause() { is_paused_ = false; }

  bool is_paused() const { return is_paused_; }
  bool is_probing() const { return is_probing_; }
  // Pauses in a row, the one at hand included.
  int pauses() const { return pauses_; }

 private:
  const Duration backoff_min_;
  const Duration backoff_max_;
  Random random_;
  int in_row_ = 0;
  bool is_probing_ = false;
  bool is_paused_ = false;
  int pauses_ = 0;
};

}  // namespace berth::client
