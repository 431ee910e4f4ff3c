// SPDX-License-Identifier: Apache-2.0
// TurnRunner: takes the core's turns, one at a time, on one of two threads. A turn takes the inputs there are, decides
// some pods and leaves its outputs. Short turns are taken by the event loop's thread, which does all I/O, after all
// that a look at its sockets has brought: waking another thread costs more than deciding a pod. What is more than a
// short turn's work (the first lists, a great backlog, large clusters) goes to a thread of the core's own, until that
// has nothing to do (docs/adr/0008-turn-taking.md). It never decides anything and never does I/O.
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
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/shell/client/event_loop.h"

namespace berth::runner {

// What a turn may do.
struct TurnRequest {
  Time now{};
  Duration wall_ahead{0};            // how far the time of day is ahead of `now`
  bool may_decide = false;           // else inputs are taken in, and what is due is done
  bool is_ending = false;            // no cycle may wait for anything any more
  std::optional<Duration> time_max;  // after which no further pod is decided; nullopt: a fixed number of pods
};

// What a turn has come to.
struct TurnResult {
  bool has_more = false;         // a pod may be ready
  bool took_long = false;        // it was cut short by time_max
  bool is_idle = false;          // it could decide, and nothing is left to do before something changes outside
  bool has_open_writes = false;  // bindings may still take effect, under way or with an unknown outcome
  std::optional<Time> wake_at;   // a turn has something to do then, without any input
  scheduler::Counts counts;
};

// What turns are taken of: the core (scheduler_core.h), or a test's.
class Core {
 public:
  virtual ~Core() = default;
  // Takes `inputs`, and leaves that empty; fills `outputs`, which is empty. One call at a time, but on any thread.
  virtual TurnResult TakeTurn(const TurnRequest& request, std::vector<scheduler::Input>& inputs,
                              std::vector<scheduler::Output>& outputs) = 0;
};

// Where the turns are taken that are more than a short turn's work.
enum class LongTurns : std::uint8_t {
  kOnThread,  // on a thread of the core's own
  kOnLoop,    // on the event loop's thread as well: for simulations, which have one thread
};

class TurnRunner final {
 public:
  // Inputs that wait for the core. When there are more, the event loop waits, and with it the API server's watches.
  static constexpr std::size_t kInputsMax = 100'000;
  // What the event loop's thread does for the core before it looks at its sockets again.
  static constexpr std::size_t kInputsOnLoopMax = 1024;
  static constexpr Duration kTurnOnLoopMax = std::chrono::milliseconds(2);

  struct Callbacks {
    // An output, in order. On the loop's thread.
    std::function<void(scheduler::Output&&)> perform;
    // Asked before each turn, by the thread that takes it: false, and it decides nothing. Empty: it always may.
    std::function<bool()> may_decide = {};
    // Once: all that was listed has been taken in and what follows from it decided. On the core's thread.
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
  // Before Start(): inputs are taken in, and nothing is decided before Lead() and an EndListing() after that.
  void StandBy();
  // Any thread; once, after StandBy().
  void Lead();
  // Every object has been listed once: pods may be decided. In kStandby it does nothing. Any thread.
  void EndListing();

  // On the loop's thread: performs what turns have left.
  void PerformOutputs();
  // Calls `look` while nobody takes a turn, and before the core's thread takes another. Any thread but those of turns.
  void BetweenTurns(const std::function<void()>& look);
  // Calls of BetweenTurns() under way. Any thread.
  int look_count() const;

  // Nothing was left to do after the latest turn, and nothing has come since. Any thread.
  bool IsIdle() const;
  // As of the latest turn. Any thread.
  scheduler::Counts counts() const;

  // How long the turn under way has taken; zero when nobody takes one. Any thread.
  Duration TurnAge() const;

  // Decides nothing from now on, and waits, at most `grace`, until no binding is under way that is worth waiting for.
  // Not on a thread of turns. With LongTurns::kOnLoop it does not wait: IsDrained() tells.
  void Drain(Duration grace);
  // Any thread.
  bool IsDrained() const;
  // After Drain(): no write of a binding may still take effect, as of the latest turn. False as well when no turn has
  // been taken since. Any thread.
  bool IsSettled() const;
  // Takes no inputs from now on, and lets go of whoever waits in Push(). The core's thread ends soon; Join() waits for
  // it.
  void Stop();
  void Join();
  // The core's thread runs: Start() has been called, and Join() has not returned. Not during either. Never with
  // LongTurns::kOnLoop.
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
  std::atomic<std::thread::id> turn_thread_;  // that is in a turn
  std::atomic<Time> turn_began_at_{Time{}};   // of the turn under way; Time{}: there is none

  mutable std::mutex mutex_;          // guards what follows; never held while the core or a callback runs
  std::condition_variable core_due_;  // the core's thread alone waits for it: kCoreDue, kStopped, another wake_at_ or
                                      // the end of a look
  std::condition_variable room_;      // inputs_ has room
  std::condition_variable drained_;   // phase_ is kDrained
  Turn turn_ = Turn::kResting;
  Phase phase_ = Phase::kListing;
  std::vector<scheduler::Input> inputs_;
  std::vector<scheduler::Output> outputs_;  // to be performed, in order
  std::optional<Time> wake_at_;             // when the core's thread takes a turn in any case
  bool is_idle_ = false;
  bool is_settled_ = false;  // the latest turn was one of an ending, and knew of no write that may still take effect
  scheduler::Counts counts_;

  int look_count_ = 0;                 // the core's thread, which would take the lock again at once, waits for 0
  bool is_core_posted_ = false;        // with kOnLoop: RunCoreThreadOnLoop is posted
  std::function<void()> cancel_wake_;  // with kOnLoop: the timer of wake_at_; on the loop's thread

  std::thread core_thread_;
};

}  // namespace berth::runner
