// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/turn_runner.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::runner {

using scheduler::Input;
using scheduler::Output;

TurnRunner::TurnRunner(client::EventLoop& loop, const Clock& clock, Callbacks callbacks, LongTurns long_turns)
    : loop_(loop), clock_(clock), callbacks_(std::move(callbacks)), long_turns_(long_turns) {}

TurnRunner::~TurnRunner() {
  Stop();
  Join();
}

void TurnRunner::Start(Core& core) {
  {
    const std::lock_guard core_lock(core_mutex_);
    core_ = &core;
  }
  if (long_turns_ == LongTurns::kOnThread) core_thread_ = std::thread([this] { RunCoreThread(); });
}

void TurnRunner::Push(Input input) {
  std::unique_lock lock(mutex_);
  const bool is_in_turn = turn_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  room_.wait(lock, [&] { return inputs_.size() < kInputsMax || is_in_turn || phase_ == Phase::kStopped; });
  if (phase_ == Phase::kStopped) return;
  inputs_.push_back(std::move(input));
  CallForTurn();
}

void TurnRunner::CallForTurn() {
  switch (turn_) {
    case Turn::kCoreDue:
    case Turn::kCoreAgain: return;
    case Turn::kCoreTurn: turn_ = Turn::kCoreAgain; return;  // the thread checks turn_ before it waits
    case Turn::kResting:
    case Turn::kLoopDue:
    case Turn::kLoopTurn: break;
  }
  const bool is_for_loop = phase_ == Phase::kDeciding && inputs_.size() <= kInputsOnLoopMax && loop_.IsCurrent();
  if (!is_for_loop) {
    CallCoreThread();
  } else if (turn_ == Turn::kResting) {
    PostTurn();
  }
  // In kLoopDue and kLoopTurn the loop finds the input by itself.
}

void TurnRunner::PostTurn() {
  turn_ = Turn::kLoopDue;
  loop_.Post([this] { RunOnLoop(); });
}

void TurnRunner::CallCoreThread() {
  const bool is_in_turn = turn_ == Turn::kCoreTurn || turn_ == Turn::kCoreAgain;
  turn_ = is_in_turn ? Turn::kCoreAgain : Turn::kCoreDue;
  WakeCoreThread();
}

void TurnRunner::WakeCoreThread() {
  if (long_turns_ == LongTurns::kOnThread) {
    core_due_.notify_one();
  } else if (!std::exchange(is_core_posted_, true)) {
    loop_.Post([this] { RunCoreThreadOnLoop(); });
  }
}

void TurnRunner::StandBy() {
  const std::lock_guard lock(mutex_);
  phase_ = Phase::kStandby;
}

void TurnRunner::Lead() {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::kStandby) phase_ = Phase::kListing;
}

void TurnRunner::EndListing() {
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::kListing) return;
  phase_ = Phase::kCatchingUp;
  CallCoreThread();
}

void TurnRunner::RunOnLoop() {
  {
    const std::lock_guard lock(mutex_);
    // The core's thread may have taken the turn since this was posted.
    if (phase_ == Phase::kStopped || turn_ != Turn::kLoopDue) return;
    turn_ = Turn::kLoopTurn;
  }
  TurnResult result;
  {
    const std::unique_lock core_lock(core_mutex_, std::try_to_lock);
    if (core_lock.owns_lock()) {
      result = TakeTurn(kTurnOnLoopMax);
    } else {
      result.took_long = true;  // BetweenTurns() holds the core, and the loop does not wait for that
    }
  }
  PerformOutputs();
  const std::lock_guard lock(mutex_);
  if (turn_ != Turn::kLoopTurn) return;
  if (!result.has_more && !result.took_long && inputs_.empty()) {
    turn_ = Turn::kResting;
  } else if (result.took_long || phase_ != Phase::kDeciding) {
    CallCoreThread();
  } else {
    PostTurn();
  }
}

void TurnRunner::RunCoreThread() {
  while (AwaitCoreTurn()) TakeCoreTurn();
}

// Does the work of the core's thread on the loop, one turn at a time, so that posted work and timers run in between.
void TurnRunner::RunCoreThreadOnLoop() {
  if (cancel_wake_) std::exchange(cancel_wake_, nullptr)();
  {
    const std::lock_guard lock(mutex_);
    is_core_posted_ = false;
    if (turn_ == Turn::kCoreTurn) turn_ = Turn::kResting;
    if (phase_ == Phase::kStopped) return;
    if (!IsCoreTurnDue()) {
      if (wake_at_) cancel_wake_ = loop_.PostAfter(*wake_at_ - clock_.Now(), [this] { RunCoreThreadOnLoop(); });
      return;
    }
    turn_ = Turn::kCoreTurn;
  }
  TakeCoreTurn();
  const std::lock_guard lock(mutex_);
  WakeCoreThread();
}

void TurnRunner::TakeCoreTurn() {
  TurnResult result;
  {
    const std::lock_guard core_lock(core_mutex_);
    result = TakeTurn(std::nullopt);
  }
  room_.notify_all();
  EndCoreTurn(result);
}

bool TurnRunner::IsCoreTurnDue() {
  return turn_ == Turn::kCoreDue || turn_ == Turn::kCoreAgain || (wake_at_ && *wake_at_ <= clock_.Now());
}

// Waits for a turn of the core's thread. False when there is none any more.
bool TurnRunner::AwaitCoreTurn() {
  std::unique_lock lock(mutex_);
  if (turn_ == Turn::kCoreTurn) turn_ = Turn::kResting;
  while (phase_ != Phase::kStopped && (look_count_ > 0 || !IsCoreTurnDue())) {
    if (wake_at_ && look_count_ == 0) {
      core_due_.wait_for(lock, *wake_at_ - clock_.Now());
    } else {
      core_due_.wait(lock);
    }
  }
  if (phase_ == Phase::kStopped) return false;
  turn_ = Turn::kCoreTurn;
  return true;
}

void TurnRunner::EndCoreTurn(const TurnResult& result) {
  bool has_outputs = false;
  bool has_caught_up = false;
  {
    const std::lock_guard lock(mutex_);
    if (result.has_more || !inputs_.empty()) turn_ = Turn::kCoreAgain;
    has_outputs = !outputs_.empty();
    has_caught_up = phase_ == Phase::kCatchingUp && turn_ == Turn::kCoreTurn;
    if (has_caught_up) phase_ = Phase::kDeciding;
  }
  if (has_outputs) loop_.Post([this] { PerformOutputs(); });
  if (has_caught_up && callbacks_.on_caught_up) callbacks_.on_caught_up();
}

TurnResult TurnRunner::TakeTurn(std::optional<Duration> time_max) {
  TurnRequest request;
  request.time_max = time_max;
  const bool may_decide = !callbacks_.may_decide || callbacks_.may_decide();
  {
    const std::lock_guard lock(mutex_);
    batch_.swap(inputs_);
    request.is_ending = phase_ >= Phase::kDraining;
    request.may_decide = may_decide && (phase_ == Phase::kCatchingUp || phase_ == Phase::kDeciding);
    is_idle_ = false;
  }
  request.now = clock_.Now();
  request.wall_ahead = clock_.WallNow() - request.now;
  std::vector<Output> outputs;
  turn_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  turn_began_at_.store(request.now, std::memory_order_relaxed);
  const TurnResult result = core_->TakeTurn(request, batch_, outputs);
  turn_began_at_.store(Time{}, std::memory_order_relaxed);
  turn_thread_.store({}, std::memory_order_relaxed);

  const std::lock_guard lock(mutex_);
  if (outputs_.empty()) {
    outputs_.swap(outputs);
  } else {
    std::move(outputs.begin(), outputs.end(), std::back_inserter(outputs_));
  }
  counts_ = result.counts;
  is_idle_ = result.is_idle;
  is_settled_ = request.is_ending && !result.has_open_writes;
  if (phase_ == Phase::kDraining && !result.has_open_writes && inputs_.empty()) {
    phase_ = Phase::kDrained;
    drained_.notify_all();
  }
  const bool is_earlier = result.wake_at && (!wake_at_ || *result.wake_at < *wake_at_);
  wake_at_ = result.wake_at;
  if (is_earlier && turn_ == Turn::kLoopTurn) WakeCoreThread();
  return result;
}

Duration TurnRunner::TurnAge() const {
  const Time began_at = turn_began_at_.load(std::memory_order_relaxed);
  return began_at == Time{} ? Duration{0} : clock_.Now() - began_at;
}

void TurnRunner::PerformOutputs() {
  std::vector<Output> outputs;
  {
    const std::lock_guard lock(mutex_);
    outputs.swap(outputs_);
  }
  for (Output& output : outputs) callbacks_.perform(std::move(output));
}

void TurnRunner::BetweenTurns(const std::function<void()>& look) {
  {
    const std::lock_guard lock(mutex_);
    ++look_count_;
  }
  {
    const std::lock_guard core_lock(core_mutex_);
    // The call counts as a turn: a plugin that pushes a decision meanwhile must not wait for room, and TurnAge() shows
    // a call that hangs.
    turn_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    turn_began_at_.store(clock_.Now(), std::memory_order_relaxed);
    look();
    turn_began_at_.store(Time{}, std::memory_order_relaxed);
    turn_thread_.store({}, std::memory_order_relaxed);
  }
  const std::lock_guard lock(mutex_);
  --look_count_;
  core_due_.notify_one();
}

int TurnRunner::look_count() const {
  const std::lock_guard lock(mutex_);
  return look_count_;
}

bool TurnRunner::IsIdle() const {
  const std::lock_guard lock(mutex_);
  return is_idle_ && inputs_.empty();
}

scheduler::Counts TurnRunner::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void TurnRunner::Drain(Duration grace) {
  std::unique_lock lock(mutex_);
  if (phase_ >= Phase::kDraining) return;
  phase_ = Phase::kDraining;
  CallCoreThread();
  if (!IsRunning() || grace <= Duration{0}) return;
  // The core's thread notifies drained_ when the last binding has ended.
  drained_.wait_for(lock, grace, [this] { return phase_ == Phase::kDrained; });
}

bool TurnRunner::IsDrained() const {
  const std::lock_guard lock(mutex_);
  return phase_ >= Phase::kDrained;
}

bool TurnRunner::IsSettled() const {
  const std::lock_guard lock(mutex_);
  return is_settled_ && inputs_.empty();
}

void TurnRunner::Stop() {
  {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::kStopped;
  }
  core_due_.notify_all();
  room_.notify_all();
}

void TurnRunner::Join() {
  if (cancel_wake_) std::exchange(cancel_wake_, nullptr)();
  if (core_thread_.joinable()) core_thread_.join();
}

}  // namespace berth::runner
