// SPDX-License-Identifier: Apache-2.0
// LeaderElection: `berth run` as one of several processes of which one schedules. Joins the elector of a connection
// (client/leader_elector.h) to the scheduler's shell and to the end of the process. Used on the main thread, but where
// a function says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "berth/base/expected.h"
#include "berth/core/config/types.h"
#include "berth/shell/client/leader_elector.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/net/write_fence.h"

namespace berth::runner {
class SchedulerShell;
}

namespace berth::app {

class LeaderElection {
 public:
  // kInvalid, in client-go's words.
  static Expected<void> Check(const config::LeaderElection& settings);

  LeaderElection();
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  // For all clients that write: closed until the lease is held.
  const std::shared_ptr<net::WriteFence>& fence() const { return fence_; }
  // Stops what extenders and plugins' servers are asked, too: asking one to bind is a write. Any thread.
  std::unique_ptr<net::Transport> Fenced(std::unique_ptr<net::Transport> transport) const;

  // Once, with settings that Check() takes. `rest` has no fence, and the shell's event loop; both must live until
  // Release() has returned and the loop has ended. `component` names the source of events.
  // `on_leading` is called once, on the loop's thread, when this process begins to lead.
  void Prepare(const config::LeaderElection& settings, const std::string& component, std::uint64_t seed,
               client::RestClient& rest, runner::SchedulerShell& shell, std::function<void()> on_leading);
  // Once, after Prepare().
  void Start() { elector_->Start(); }

  // The lease was lost: the process ends at once, with upstream's words and status 1. WaitForSignal returns then. Any
  // thread.
  bool HasLost() const { return has_lost_; }
  // Before the shell stops: a process that does not lead no longer wants to. Waits for the loop, at most kEndMax.
  void Withdraw();
  // After the shell has stopped: gives the lease back. The same.
  void Release();

  // After Prepare(): for metrics and health checks. Any thread.
  const client::LeaderElector& elector() const { return *elector_; }

 private:
  static constexpr Duration kEndMax = 2 * client::LeaderElector::kReleaseMax;

  const net::BootClock clock_;
  const std::shared_ptr<net::WriteFence> fence_;
  std::atomic<bool> has_lost_{false};
  std::unique_ptr<client::LeaderElector> elector_;
};

// Says why, and ends the process: what still waits in it is what must not go on.
[[noreturn]] void EndWithLostLease();

}  // namespace berth::app
