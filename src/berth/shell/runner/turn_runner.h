// SPDX-License-Identifier: Apache-2.0
// TurnRunner: takes the core's turns, one at a time, on one of two threads. A turn takes the waiting inputs, decides
// some pods and leaves its outputs. The event loop's thread, which does all I/O, takes short turns after it has handled
// what its sockets brought: waking another thread costs more than deciding a pod. Longer work (the first lists, a great
// backlog, large clusters) goes to a thread of the core's own, until that has nothing to do
// (docs/adr/0008-turn-taking.md). TurnRunner itself never decides anything and never does I/O.
//
// Who takes the next turn (Turn):
//
//   kResting ---a---> kLoopDue ---b---> kLoopTurn     a  an input on the loop's thread, and few wait
//      |                 |                  |         b  the loop gets to it
//      +--------c--------+--------c---------+         c  an input from another thread, or too many wait; the loop's
//                        |                               turn took long; everything is listed; draining begins
//                        v
//                     kCoreDue                        d  the core's thread wakes up; at wake_at_ it does so from the
//                        |                               upper three states as well
//                        d
//                        v
//                    kCoreTurn ---e---> kCoreAgain    e  an input; or something is left after the turn
//                        ^                  |
//                        +--------d---------+
//
//   After a turn that leaves nothing to do: kLoopTurn or kCoreTurn to kResting. One that leaves a little to the loop:
//   kLoopTurn to kLoopDue.
//
// What may be done in a turn (Phase):
//
//   kStandby                                          kStandby     only after StandBy(): another process leads
//      | Lead()
//      v
//   kListing --> kCatchingUp --> kDeciding            kListing     until everything has been listed, EndListing()
//      |              |              |                kCatchingUp  until the core's thread first finds nothing to do
//      +--------------+--------------+                kDeciding    the loop takes turns as well
//                     | Drain(), from kStandby as well
//                     v
//                 kDraining --> kDrained              kDraining    until no binding is under way
//
//   Any of them to kStopped by Stop(). Pods are decided in kCatchingUp and kDeciding alone, and where may_decide
//   agrees.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/scheduler/counts.h"
#include "berth/core/scheduler/io.h"
#include "berth/shell/client/event_loop.h"

namespace berth::runner {

// What a turn may do.
struct TurnRequest {
  Time now{};
  Duration wall_ahead{0};            // how far the time of day is ahead of `now`
  bool may_decide = false;           // false: inputs are taken and timers run, but no pod is decided
  bool is_ending = false;            // cycles must not wait for anything any more
  std::optional<Duration> time_max;  // after which no further pod is decided; nullopt: a fixed number of pods
};

// The result of a turn.
struct TurnResult {
  bool has_more = false;         // a pod may be ready
  bool took_long = false;        // it was cut short by time_max
  bool is_idle = false;          // it was allowed to decide, and there is nothing to do until an input comes
  bool has_open_writes = false;  // bindings may still take effect, under way or with an unknown outcome
  std::optional<Time> wake_at;   // a turn has something to do then, without any input
  scheduler::Counts counts;
};

// The interface of the core (scheduler_core.h), which tests replace.
class Core {
 public:
  virtual ~Core() = default;
  // Takes all of `inputs` and fills `outputs`, which is empty. One call at a time, but on any thread.
  virtual TurnResult TakeTurn(const TurnRequest& request, std::vector<scheduler::Input>& inputs,
                              std::vector<scheduler::Output>& outputs) = 0;
};

// Where long turns are taken.
enum class LongTurns : std::uint8_t {
  kOnThread,  // on a thread of the core's own
  kOnLoop,    // on the event loop's thread as well: for simulations, which have one thread
};

class TurnRunner final {
 public:
  // The most inputs that wait for the core. Beyond it the event loop waits, and with it the API server's watches.
  static constexpr std::size_t kInputsMax = 100'000;
  // The limits of a turn on the event loop's thread, which then handles its sockets again.
  static constexpr std::size_t kInputsOnLoopMax = 1024;
  static constexpr Duration kTurnOnLoopMax = std::chrono::milliseconds(2);

  struct Callbacks {
    // Performs an output. They come in order, on the loop's thread.
    std::function<void(scheduler::Output&&)> perform;
    // Asked before each turn, by the thread that takes it. False: the turn decides nothing. Empty: it always may.
    std::function<bool()> may_decide = {};
    // Called once on the core's thread, when all listed objects have been taken and the pods among them decided.
    std::function<void()> on_caught_up;
  };

  // Both must outlive it. The loop must have ended before it is destroyed.
  TurnRunner(client::EventLoop& loop, const Clock& clock, Callbacks callbacks,
             LongTurns long_turns = LongTurns::kOnThread);
  ~TurnRunner();
  TurnRunner(const TurnRunner&) = delete;
  TurnRunner& operator=(const TurnRunner&) = delete;

  // Once. `core` must live until Stop() has returned.
  void Start(Core& core);

  // Any thread, also before Start(). Waits while there are kInputsMax, unless the calling thread is in a turn, which
  // alone makes room; after Stop() it does nothing.
  void Push(scheduler::Input input);
  // To be called before Start(): inputs are taken, but nothing is decided before Lead() and an EndListing() after it.
  void StandBy();
  // Any thread; once, after StandBy().
  void Lead();
  // Every object has been listed once: pods may be decided. In kStandby it does nothing. Any thread.
  void EndListing();

  // On the loop's thread: performs what turns have left.
  void PerformOutputs();
  // Calls `look` between two turns, before the core's thread takes another one. Any thread but those of turns.
  void BetweenTurns(const std::function<void()>& look);
  // The number of calls of BetweenTurns() under way. Any thread.
  int look_count() const;

  // Whether nothing was left to do after the latest turn, and nothing has come since. Any thread.
  bool IsIdle() const;
  // The core's counts after the latest turn. Any thread.
  scheduler::Counts counts() const;

  // How long the turn under way has taken; zero when nobody takes one. Any thread.
  Duration TurnAge() const;

  // Decides nothing from now on, and waits, at most `grace`, until no busy binding is under way. Not on a thread of
  // turns. With LongTurns::kOnLoop it does not wait: see IsDrained().
  void Drain(Duration grace);
  // Any thread.
  bool IsDrained() const;
  // After Drain(): whether no write of a binding may still take effect, as of the latest turn. False if no turn has
  // been taken since. Any thread.
  bool IsSettled() const;
  // Takes no inputs from now on, and releases threads that wait in Push(). The core's thread ends soon; Join() waits
  // for it.
  void Stop();
  void Join();
  // Whether the core's thread runs: from Start() to Join(), and never with LongTurns::kOnLoop. Not to be called during
  // either.
  bool IsRunning() const { return core_thread_.joinable(); }

 private:
  enum class Turn : std::uint8_t { kResting, kLoopDue, kLoopTurn, kCoreDue, kCoreTurn, kCoreAgain };
  enum class Phase : std::uint8_t { kStandby, kListing, kCatchingUp, kDeciding, kDraining, kDrained, kStopped };

  // mutex_ is held in these.
  void CallForTurn();
  void PostTurn();
  void CallCoreThread();
  void WakeCoreThread();

  void RunOnLoop();
  void RunCoreThread();
  void RunCoreThreadOnLoop();
  void TakeCoreTurn();
  bool IsCoreTurnDue();
  bool AwaitCoreTurn();
  void EndCoreTurn(const TurnResult& result);
  TurnResult TakeTurn(std::optional<Duration> time_max);  // core_mutex_ is held

  client::EventLoop& loop_;
  const Clock& clock_;
  const Callbacks callbacks_;
  const LongTurns long_turns_;

  std::mutex core_mutex_;                     // held in a turn; locked before mutex_
  Core* core_ = nullptr;                      // guarded by core_mutex_
  std::vector<scheduler::Input> batch_;       // guarded by core_mutex_; the inputs of a turn
  std::atomic<std::thread::id> turn_thread_;  // the thread that is in a turn
  std::atomic<Time> turn_began_at_{Time{}};   // when the turn under way began; Time{}: there is none

  mutable std::mutex mutex_;  // guards what follows; never held while the core or a callback runs
  // Only the core's thread waits for it: kCoreDue, kStopped, another wake_at_ or the end of BetweenTurns().
  std::condition_variable core_due_;
  std::condition_variable room_;     // inputs_ has room
  std::condition_variable drained_;  // phase_ is kDrained
  Turn turn_ = Turn::kResting;
  Phase phase_ = Phase::kListing;
  std::vector<scheduler::Input> inputs_;
  std::vector<scheduler::Output> outputs_;  // to be performed, in order
  std::optional<Time> wake_at_;             // when the core's thread takes a turn in any case
  bool is_idle_ = false;
  bool is_settled_ = false;  // the latest turn was one after Drain(), and no write may still take effect
  scheduler::Counts counts_;

  int look_count_ = 0;                 // the core's thread waits for 0, since it would take the lock again at once
  bool is_core_posted_ = false;        // with kOnLoop: RunCoreThreadOnLoop is posted
  std::function<void()> cancel_wake_;  // with kOnLoop: the timer of wake_at_; on the loop's thread

  std::thread core_thread_;
};

}  // namespace berth::runner
