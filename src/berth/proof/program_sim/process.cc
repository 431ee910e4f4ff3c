// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/process.h"

#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/core/config/default.h"
#include "berth/core/scheduler/bookings.h"
#include "berth/core/scheduler/profile_set.h"
#include "berth/plugins/registry.h"
#include "berth/proof/program_sim/gatekeeper.h"
#include "berth/proof/program_sim/outsiders.h"
#include "berth/provisioning/provisioning_feed.h"
#include "berth/shell/recording/recorder.h"
#include "berth/shell/runner/orderly_end.h"

namespace berth::program_sim {
namespace {

// The time from the loss of the lease until the main thread ends the process.
constexpr Duration kExitDelay = std::chrono::milliseconds(1);

// Behaves like a token file's credentials, without a file: the token is read again after a minute and after a 401.
class TokenCredentials final : public client::Credentials {
 public:
  TokenCredentials(const Network& network, const Clock& clock) : network_(network), clock_(clock) { Read(); }

  void Get(Done done) override {
    if (clock_.Now() - read_at_ > std::chrono::minutes(1)) Read();
    done("Bearer " + token_);
  }
  bool Invalidate(std::string_view authorization) override {
    Read();
    return authorization != "Bearer " + token_;
  }

 private:
  void Read() {
    token_ = network_.token_file();
    read_at_ = clock_.Now();
  }

  const Network& network_;
  const Clock& clock_;
  std::string token_;
  Time read_at_{};
};

}  // namespace

ProcessOptions OptionsOf(const Plan& plan, Life life, const char* scheduler_name, const std::string& recordings) {
  ProcessOptions options;
  options.life = life;
  options.seed = plan.seed * 1000 + static_cast<std::uint64_t>(life);
  options.takes_protobuf = plan.takes_protobuf;
  options.keeps_promises = plan.has_promises && std::string_view(scheduler_name) == kOurName;
  options.scheduler_name = scheduler_name;
  if (plan.has_gatekeeper) options.strict_until = Agenda::kStart + plan.storm_end;
  options.recordings = recordings;
  return options;
}

Process::Process(Agenda& agenda, Network& network, const Duration& wall_ahead, ProcessOptions options)
    : options_(std::move(options)), network_(network), loop_(agenda, wall_ahead, options_.boot_ahead) {
  transport_ = network.Connect(options_.life, loop_);
  const auto credentials = std::make_shared<TokenCredentials>(network, loop_);
  client::RestClientOptions rest;
  rest.sends_protobuf = options_.takes_protobuf;
  rest.takes_protobuf = options_.takes_protobuf;
  if (options_.election) {
    MakeElection(credentials);
    rest.fence = election_->fence();
  }
  rest_ = std::make_unique<client::RestClient>(loop_, *transport_, credentials, options_.seed, rest);
  events_rest_ = std::make_unique<client::RestClient>(loop_, *transport_, credentials, options_.seed + 1, rest);

  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  configuration.profiles.front().scheduler_name = options_.scheduler_name;
  runner::ShellOptions shell;
  std::vector<config::KnownPlugin> plugins = plugins::InTreePlugins();
  if (options_.strict_until) {
    plugins.push_back(GatekeeperPlugin(agenda, *options_.strict_until));
    configuration.profiles.front().plugins.multi_point.enabled.push_back({std::string(kGatekeeper)});
    shell.plugins = plugins;
  }
  shell.seed = options_.seed;
  shell.hostname = "host" + std::to_string(options_.life);
  shell.long_turns = runner::LongTurns::kOnLoop;
  shell.await = options_.await;
  if (election_) {
    shell.is_leading = [fence = election_->fence()] { return fence->IsOpen(); };
    shell.lists_when_leading = options_.lists_when_leading;
  }
  if (options_.keeps_promises) {
    shell.make_booking_feed = provisioning::FeedMaker({.controller = {.instance = kOurName, .namespaces = {}},
                                                       .seed = options_.seed,
                                                       .scheduler_name = options_.scheduler_name,
                                                       .hostname = shell.hostname});
  }
  if (!options_.recordings.empty()) {
    shell.make_recorder = [this, configuration](scheduler::ProfilesInMaking profiles) {
      recording::RecordingHeader header = recording::MakeHeader(configuration, {}, {});
      header.started_at = loop_.WallNow() + Duration(options_.life);  // two lives may begin at once
      header.origin = loop_.Now();
      header.seed = options_.seed;
      std::vector<std::string> of_pods = scheduler::AnnotationsRead(profiles);
      of_pods.emplace_back(scheduler::kConsumeAnnotation);
      return recording::Recorder::Start({.directory = options_.recordings}, header,
                                        {{}, recording::AnnotationFilter(std::move(of_pods))});
    };
  }
  auto made = runner::SchedulerShell::Make(configuration, *rest_, *events_rest_, loop_, std::move(shell));
  BERTH_CHECK(made.ok(), made.ok() ? "" : made.error().message);
  shell_ = std::move(*made);
  shell_->Start();
  if (election_) election_->Start();
}

void Process::MakeElection(const std::shared_ptr<client::Credentials>& credentials) {
  election_transport_ = network_.Connect(options_.life, loop_, Purpose::kElection);
  election_rest_ = std::make_unique<client::RestClient>(loop_, *election_transport_, credentials, options_.seed + 2);
  election_ = std::make_unique<runner::LeaderElection>(loop_, options_.await);
  election_->Prepare(
      {*options_.election, "life-" + std::to_string(options_.life), options_.scheduler_name, options_.seed},
      *election_rest_,
      {.on_leading =
           [this] {
             shell_->Lead();
             options_.on_leading();
           },
       // The callback ends the process, so it must not refer to it.
       .on_lost =
           [this](const std::string&) { loop_.PostAfter(kExitDelay, [on_lost = options_.on_lost] { on_lost(); }); }});
}

void Process::End() { runner::EndInOrder({*shell_, election_.get()}); }

void Process::Die() {
  loop_.Close();
  network_.Disconnect(options_.life);
}

Process::~Process() {
  loop_.Close();
  // `berth run` destroys them in this order.
  shell_.reset();
  election_.reset();
  election_rest_.reset();
  election_transport_.reset();
  events_rest_.reset();
  rest_.reset();
  transport_.reset();
}

}  // namespace berth::program_sim
