// SPDX-License-Identifier: Apache-2.0
// Process: one life of a scheduler, with client, shell and core as `berth run` puts them together, on a simulated loop
// and network. Destroying it is a crash at that moment. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/base/time.h"
#include "berth/core/config/types.h"
#include "berth/proof/program_sim/agenda.h"
#include "berth/proof/program_sim/network.h"
#include "berth/proof/program_sim/plan.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/runner/await.h"
#include "berth/shell/runner/leader_election.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::program_sim {

struct ProcessOptions {
  Life life = 1;
  std::uint64_t seed = 0;
  bool takes_protobuf = false;
  bool keeps_promises = false;  // it answers ProvisioningRequests
  std::string scheduler_name;
  std::optional<Time> strict_until = std::nullopt;  // with a gatekeeper (gatekeeper.h)
  std::string recordings{};                         // the directory that this life is recorded into; empty: it is not
  // With leader election.
  std::optional<config::LeaderElection> election = std::nullopt;
  bool lists_when_leading = false;
  Duration boot_ahead{0};  // see ProcessLoop
  runner::Await await = {};
  std::function<void()> on_leading = {};
  // Called when the main thread has learned that the lease is lost, and ends the process. The process may be destroyed
  // in the call.
  std::function<void()> on_lost = {};
};

// What all processes of a plan have in common.
ProcessOptions OptionsOf(const Plan& plan, Life life, const char* scheduler_name, const std::string& recordings);

class Process final {
 public:
  // All must outlive it; `wall_ahead` is of the machine's clock.
  Process(Agenda& agenda, Network& network, const Duration& wall_ahead, ProcessOptions options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Life life() const { return options_.life; }
  const std::string& scheduler_name() const { return options_.scheduler_name; }
  const ProcessLoop& loop() const { return loop_; }
  runner::SchedulerShell& shell() { return *shell_; }
  // The number of timers and posted callbacks.
  std::size_t pending() const { return loop_.pending(); }

  // These with leader election alone.
  bool IsLeading() const { return election_->elector().IsLeader() && election_->fence()->IsOpen(); }
  // Ends as `berth run` does on SIGTERM, with ProcessOptions::await. Destroy the process afterwards.
  void End();
  // The process dies while End() is still on the stack: nothing of it runs any more, and nothing that it sends arrives.
  void Die();

 private:
  void MakeElection(const std::shared_ptr<client::Credentials>& credentials);

  const ProcessOptions options_;
  Network& network_;
  ProcessLoop loop_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<net::Transport> election_transport_;  // this and the next two: null without an election
  std::unique_ptr<client::RestClient> election_rest_;
  std::unique_ptr<runner::LeaderElection> election_;
  std::unique_ptr<client::RestClient> rest_;
  std::unique_ptr<client::RestClient> events_rest_;
  std::unique_ptr<runner::SchedulerShell> shell_;
};

}  // namespace berth::program_sim
