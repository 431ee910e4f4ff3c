// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/leader_election.h"

#include <future>
#include <utility>

#include "berth/base/log.h"

namespace berth::runner {
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

client::LeaderElectorOptions OptionsFor(const config::LeaderElection& settings, std::string identity) {
  client::LeaderElectorOptions options;
  options.namespace_name = settings.resource_namespace;
  options.name = settings.resource_name;
  options.identity = std::move(identity);
  options.lease_duration = settings.lease_duration;
  options.renew_deadline = settings.renew_deadline;
  options.retry_period = settings.retry_period;
  return options;
}

}  // namespace

LeaderElection::LeaderElection(const Clock& clock, Await await)
    : await_(std::move(await)), fence_(std::make_shared<net::WriteFence>(clock)) {}

LeaderElection::~LeaderElection() = default;

std::unique_ptr<net::Transport> LeaderElection::Fenced(std::unique_ptr<net::Transport> transport) const {
  return std::make_unique<FencedTransport>(std::move(transport), fence_);
}

Expected<void> LeaderElection::Check(const config::LeaderElection& settings) {
  const auto checked = OptionsFor(settings, "a process").Check();
  return checked.ok() ? checked : Expected<void>(checked.error().Wrap("leaderElection"));
}

void LeaderElection::Prepare(const Options& options, client::RestClient& rest, Callbacks callbacks) {
  client::LeaderElectorOptions elector = OptionsFor(options.settings, options.identity);
  elector.component = options.component;
  elector.seed = options.seed;
  elector_ = std::make_unique<client::LeaderElector>(
      rest, fence_, std::move(elector),
      client::LeaderElector::Callbacks{.on_started_leading = std::move(callbacks.on_leading),
                                       .on_lost = [this, tell = std::move(callbacks.on_lost)](const std::string& why) {
                                         has_lost_ = true;
                                         if (tell) tell(why);
                                       }});
}

void LeaderElection::Withdraw() {
  const auto done = std::make_shared<std::promise<void>>();
  elector_->Withdraw([done](bool) { done->set_value(); });
  AwaitFuture(await_, done->get_future(), kEndMax);
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
  AwaitFuture(await_, done->get_future(), kEndMax);
}

}  // namespace berth::runner
