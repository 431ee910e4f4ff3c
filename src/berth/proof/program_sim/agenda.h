// SPDX-License-Identifier: Apache-2.0
// Agenda: what happens in a simulation, in the order of time and, at one time, of the calls. The one clock of all
// simulated parties. ProcessLoop: the event loop and the clock of one simulated process, over the agenda. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "berth/base/time.h"
#include "berth/shell/client/event_loop.h"

namespace berth::program_sim {

class Agenda final : public Clock {
 public:
  // By which an entry is cancelled.
  using Key = std::pair<Time, std::uint64_t>;
  static constexpr Time kStart = Time(std::chrono::hours(24 * 365 * 56));
  // Entries at one time; more mean that something runs in circles.
  static constexpr int kStepsMax = 200'000;

  Time Now() const override { return now_; }
  Duration Elapsed() const { return now_ - kStart; }

  // `owner` (null: nobody) is for Forget() alone. A time that has passed means now.
  Key At(Time time, const void* owner, std::function<void()> work);
  Key After(Duration delay, const void* owner, std::function<void()> work) {
    return At(now_ + delay, owner, std::move(work));
  }
  void Cancel(const Key& key) {
    entries_.erase(key);
    held_.erase(key);
  }
  // Drops all that this owner has put here, and lets go of it.
  void Forget(const void* owner);
  // What becomes due for this owner waits until LetGo(), and then comes at once, in its order: a stopped process.
  void Hold(const void* owner) { held_owners_.insert(owner); }
  void LetGo(const void* owner);
  bool IsHeld(const void* owner) const { return held_owners_.contains(owner); }
  // How many entries the owner has.
  std::size_t CountOf(const void* owner) const;

  // Runs what is due up to `end`, while `goes_on` says so. False: something runs in circles. What runs may call it as
  // well: whoever waits lets the others go on.
  bool RunUntil(Time end, const std::function<bool()>& goes_on);

 private:
  struct Entry {
    const void* owner = nullptr;
    std::function<void()> work;
  };

  Time now_ = kStart;
  std::uint64_t next_ = 0;
  std::map<Key, Entry> entries_;
  std::set<const void*> held_owners_;
  std::map<Key, Entry> held_;  // that were due, and whose owners are held
};

class ProcessLoop final : public client::EventLoop, public Clock {
 public:
  // `wall_ahead` is the step of the machine's clock, which somebody may change. Both must outlive it. `boot_ahead` is
  // how far the machine's clock that does not jump is ahead of others' of that kind.
  ProcessLoop(Agenda& agenda, const Duration& wall_ahead, Duration boot_ahead = Duration{0})
      : agenda_(agenda), wall_ahead_(wall_ahead), boot_ahead_(boot_ahead) {}
  ~ProcessLoop() override { Close(); }

  void Post(std::function<void()> work) override;
  std::function<void()> PostAfter(Duration delay, std::function<void()> work) override;
  // A stopped process runs nothing: what is dispatched to it waits.
  bool IsCurrent() const override { return !agenda_.IsHeld(this); }
  Time Now() const override { return agenda_.Now() + boot_ahead_; }
  Time WallNow() const override { return agenda_.Now() + wall_ahead_; }

  // The process dies: nothing that was posted runs any more.
  void Close();
  std::size_t pending() const { return agenda_.CountOf(this); }

 private:
  Agenda& agenda_;
  const Duration& wall_ahead_;
  const Duration boot_ahead_;
  bool is_closed_ = false;
};

}  // namespace berth::program_sim
