// SPDX-License-Identifier: Apache-2.0
// Agenda: the event queue of a simulation and the clock of all simulated parties. Entries run in the order of their
// times, and those of one time in the order in which they were added. ProcessLoop: the event loop and the clock of one
// simulated process, over the agenda. One thread.
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
  // Identifies an entry for Cancel().
  using Key = std::pair<Time, std::uint64_t>;
  static constexpr Time kStart = Time(std::chrono::hours(24 * 365 * 56));
  // More entries than this at one time mean that something runs in circles.
  static constexpr int kStepsMax = 200'000;

  Time Now() const override { return now_; }
  Duration Elapsed() const { return now_ - kStart; }

  // `owner` may be null; Forget(), Hold() and CountOf() find entries by it. A time that has passed means now.
  Key At(Time time, const void* owner, std::function<void()> work);
  Key After(Duration delay, const void* owner, std::function<void()> work) {
    return At(now_ + delay, owner, std::move(work));
  }
  void Cancel(const Key& key) {
    entries_.erase(key);
    held_.erase(key);
  }
  // Drops all entries of this owner, which is not held any more.
  void Forget(const void* owner);
  // A stopped process: its entries that become due wait until LetGo(), and then run at once, in their order.
  void Hold(const void* owner) { held_owners_.insert(owner); }
  void LetGo(const void* owner);
  bool IsHeld(const void* owner) const { return held_owners_.contains(owner); }
  // How many entries the owner has.
  std::size_t CountOf(const void* owner) const;

  // Runs what is due up to `end`, as long as `goes_on` returns true. False: something runs in circles. An entry may
  // call it again, so that the others go on while it waits.
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
  std::map<Key, Entry> held_;  // entries that are due, of owners that are held
};

class ProcessLoop final : public client::EventLoop, public Clock {
 public:
  // `wall_ahead` is how far the machine's wall clock is ahead of the agenda's time, and may change. `agenda` and
  // `wall_ahead` must outlive it. `boot_ahead` is the same of its monotonic clock, which never changes.
  ProcessLoop(Agenda& agenda, const Duration& wall_ahead, Duration boot_ahead = Duration{0})
      : agenda_(agenda), wall_ahead_(wall_ahead), boot_ahead_(boot_ahead) {}
  ~ProcessLoop() override { Close(); }

  void Post(std::function<void()> work) override;
  std::function<void()> PostAfter(Duration delay, std::function<void()> work) override;
  // False for a stopped process, so that Dispatch() posts: a stopped process runs nothing.
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
