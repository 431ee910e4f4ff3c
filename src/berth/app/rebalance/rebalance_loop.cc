// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance/rebalance_loop.h"

#include <malloc.h>

#include "berth/app/rebalance/rebalance_cluster.h"
#include "berth/base/log.h"

namespace berth::app {

void RebalanceLoop::Start(RebalanceCluster& cluster, const rebalance::ControllerOptions& options) {
  thread_ = std::thread([this, &cluster, options] { Run(cluster, options); });
}

void RebalanceLoop::Begin() {
  const std::lock_guard lock(mutex_);
  may_begin_ = true;
  changed_.notify_all();
}

void RebalanceLoop::End() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void RebalanceLoop::Run(RebalanceCluster& cluster, const rebalance::ControllerOptions& options) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return may_begin_ || is_ending_; });
  rebalance::Controller controller(cluster, options);
  while (!is_ending_) {
    lock.unlock();
    const Time began = clock_.Now();
    auto report = std::make_shared<const rebalance::RoundReport>(controller.RunRound(clock_.WallNow()));
    cluster.OnRound(*report, clock_.Now() - began);
    malloc_trim(0);  // A whole cluster was in memory.
    lock.lock();
    report_ = report;
    changed_.wait_for(lock, report->next, [this] { return is_ending_.load(); });
  }
}

void RebalanceLoop::LogStaying() {
  std::shared_ptr<const rebalance::RoundReport> report;
  {
    const std::lock_guard lock(mutex_);
    report = report_;
  }
  if (report == nullptr) return log::Info("rebalance", "There has been no round yet");
  log::Info("rebalance", "Last round",
            {{"result", rebalance::ToString(report->result)}, {"waitsFor", report->wait.why}});
  for (const rebalance::StayingPod& pod : report->staying)
    log::Info("rebalance", "Stays",
              {{"pod", pod.key}, {"node", pod.node}, {"strategy", pod.strategy}, {"why", pod.why}});
}

}  // namespace berth::app
