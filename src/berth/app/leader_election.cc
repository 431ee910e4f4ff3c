// SPDX-License-Identifier: Apache-2.0
#include "berth/app/leader_election.h"

#include <cstdio>
#include <cstdlib>
#include <future>
#include <utility>

#include "berth/app/process.h"
#include "berth/base/log.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"

namespace berth::app {
namespace {

class FencedTransport final : public net::Transport {
 public:
  FencedTransport(std::unique_ptr<net::Transport> inner, std::shared_ptr<const net::WriteFence> fence)
      : inner_(std::move(inner)), fence_(std::move(fence)) {}

  void Send(net::Request request, net::SendOptions options, Done done) override {
    if (request.method != "GET" && request.method != "HEAD") request.fence = fence_;
    inner_->Send(std::move(request), options, std::move(done));
  }
  std::unique_ptr<net::StreamHandle> Stream(net::Request request, net::StreamOptions options,
                                            net::StreamCallbacks callbacks) override {
    return inner_->Stream(std::move(request), options, std::move(callbacks));
  }

 private:
  const std::unique_ptr<net::Transport> inner_;
  const std::shared_ptr<const net::WriteFence> fence_;
};

client::LeaderElectorOptions OptionsFor(const config::LeaderElection& settings) {
  client::LeaderElectorOptions options;
  options.namespace_name = settings.resource_namespace;
  options.name = settings.resource_name;
  // As upstream: two processes on one host must not take each other for themselves.
  options.identity = HostName() + '_' + RandomUuid();
  options.lease_duration = settings.lease_duration;
  options.renew_deadline = settings.renew_deadline;
  options.retry_period = settings.retry_period;
  return options;
}

}  // namespace

LeaderElection::LeaderElection() : fence_(std::make_shared<net::WriteFence>(clock_)) {}

LeaderElection::~LeaderElection() = default;

std::unique_ptr<net::Transport> LeaderElection::Fenced(std::unique_ptr<net::Transport> transport) const {
  return std::make_unique<FencedTransport>(std::move(transport), fence_);
}

Expected<void> LeaderElection::Check(const config::LeaderElection& settings) {
  const auto checked = OptionsFor(settings).Check();
  return checked.ok() ? checked : Expected<void>(checked.error().Wrap("leaderElection"));
}

void LeaderElection::Prepare(const config::LeaderElection& settings, const std::string& component, std::uint64_t seed,
                             client::RestClient& rest, std::function<void()> on_leading) {
  client::LeaderElectorOptions options = OptionsFor(settings);
  options.component = component;
  options.seed = seed;
  elector_ = std::make_unique<client::LeaderElector>(
      rest, fence_, std::move(options),
      client::LeaderElector::Callbacks{.on_started_leading = std::move(on_leading),
                                       .on_lost = [this](const std::string& why) {
                                         log::ErrorLine("app", "Leaderelection lost", {{"reason", why}});
                                         has_lost_ = true;
                                         cli::EndWait();
                                       }});
}

void LeaderElection::Withdraw() {
  const auto done = std::make_shared<std::promise<void>>();
  elector_->Withdraw([done](bool) { done->set_value(); });
  done->get_future().wait_for(kEndMax);
}

void LeaderElection::End(bool is_settled) {
  const auto done = std::make_shared<std::promise<void>>();
  if (is_settled) {
    elector_->Release([done](bool) { done->set_value(); });
  } else {
    elector_->LeaveToRunOut([done](bool was_leader) {
      if (was_leader)
        log::Warning("app", "The leader election lease is left to run out: a write may still take effect");
      done->set_value();
    });
  }
  done->get_future().wait_for(kEndMax);
}

void EndWithLostLease() {
  std::fflush(nullptr);
  std::_Exit(cli::kExitFailed);
}

}  // namespace berth::app
