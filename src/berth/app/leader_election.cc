// SPDX-License-Identifier: Apache-2.0
#include "berth/app/leader_election.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/base/log_writer.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"

namespace berth::app {

void PrepareElection(runner::LeaderElection& election, const config::LeaderElection& settings,
                     const std::string& component, std::uint64_t seed, client::RestClient& rest,
                     std::function<void()> on_leading) {
  // As upstream: two processes on one host must not take each other for themselves.
  const std::string identity = HostName() + '_' + RandomUuid();
  election.Prepare({settings, identity, component, seed}, rest,
                   {.on_leading = std::move(on_leading), .on_lost = [](const std::string& why) {
                      log::ErrorLine("app", "Leaderelection lost", {{"reason", why}});
                      cli::EndWait();
                    }});
}

void EndWithLostLease() {
  log::Flush(log::AsyncWriter::kEndMax);
  std::fflush(nullptr);
  std::_Exit(cli::kExitFailed);
}

}  // namespace berth::app
