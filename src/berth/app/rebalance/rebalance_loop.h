// SPDX-License-Identifier: Apache-2.0
// RebalanceLoop: the rounds of a rebalancer, on a thread of their own, from Begin() to End(). Of its methods any thread
// may call Begin(), IsEnding() and LogStaying().
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "berth/base/time.h"
#include "berth/rebalance/controller.h"

namespace berth::app {

class RebalanceCluster;

class RebalanceLoop {
 public:
  // `clock` must outlive it.
  explicit RebalanceLoop(const Clock& clock) : clock_(clock) {}
  ~RebalanceLoop() { End(); }
  RebalanceLoop(const RebalanceLoop&) = delete;
  RebalanceLoop& operator=(const RebalanceLoop&) = delete;

  // Once. The thread waits for Begin(). `cluster` must outlive End().
  void Start(RebalanceCluster& cluster, const rebalance::ControllerOptions& options);
  void Begin();
  // Waits for the round that is under way, which breaks off between two evictions and waits for no answer longer than
  // AnswerWait::kEndingMax.
  void End();
  bool IsEnding() const { return is_ending_; }

  // Into the log: why the pods that the policy objects to are where they are.
  void LogStaying();

 private:
  void Run(RebalanceCluster& cluster, const rebalance::ControllerOptions& options);

  const Clock& clock_;
  std::mutex mutex_;  // guards the three below; is_ending_ is read without it as well
  std::condition_variable changed_;
  bool may_begin_ = false;
  std::shared_ptr<const rebalance::RoundReport> report_;  // of the last round
  std::atomic<bool> is_ending_{false};
  std::thread thread_;
};

}  // namespace berth::app
