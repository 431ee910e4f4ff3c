// SPDX-License-Identifier: Apache-2.0
// LeaderElection: leader election of a process that writes. Connects the elector (client/leader_elector.h) with what
// begins when this process leads, and with the end of the process. On one thread that is not the event loop's, unless a
// comment says otherwise.
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
#include "berth/shell/net/transport.h"
#include "berth/shell/net/write_fence.h"
#include "berth/shell/runner/await.h"

namespace berth::runner {

class LeaderElection {
 public:
  struct Options {
    config::LeaderElection settings;  // that Check() accepts
    std::string identity;             // unique to this process
    std::string component;            // the source named in events
    std::uint64_t seed = 0;
  };
  // On the loop's thread, each at most once.
  struct Callbacks {
    std::function<void()> on_leading;
    std::function<void(const std::string& why)> on_lost;  // HasLost() says so already
  };

  // kInvalid, with client-go's message.
  static Expected<void> Check(const config::LeaderElection& settings);

  // `clock` is the fence's, and must outlive the fence.
  explicit LeaderElection(const Clock& clock, Await await = {});
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  // The fence for all clients that write. It is closed until the lease is held.
  const std::shared_ptr<net::WriteFence>& fence() const { return fence_; }
  // Wraps a transport to extenders or to plugins' servers, so that the fence stops its requests too: a request to bind
  // is a write. Any thread.
  std::unique_ptr<net::Transport> Fenced(std::unique_ptr<net::Transport> transport) const;

  // Call it once. `rest` must have no fence, and live until End() has returned and its event loop has ended.
  void Prepare(const Options& options, client::RestClient& rest, Callbacks callbacks);
  // Once, after Prepare().
  void Start() { elector_->Start(); }

  // Whether the lease was lost. The process must end at once. Any thread.
  bool HasLost() const { return has_lost_; }
  // Call it before the shell stops. Ends the candidacy of a process that does not lead. Waits for the loop, at most
  // kEndMax.
  void Withdraw();
  // Call it after the shell has stopped. Gives the lease back if all that was sent is settled; else a write may still
  // take effect, and the lease is left to run out. Waits for the loop, at most kEndMax.
  void End(bool is_settled);

  // For metrics and health checks, after Prepare(). Any thread.
  const client::LeaderElector& elector() const { return *elector_; }

 private:
  static constexpr Duration kEndMax = 2 * client::LeaderElector::kReleaseMax;

  const Await await_;
  const std::shared_ptr<net::WriteFence> fence_;
  std::atomic<bool> has_lost_{false};
  std::unique_ptr<client::LeaderElector> elector_;
};

}  // namespace berth::runner
