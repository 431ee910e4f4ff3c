// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/scheduler_shell.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <variant>

#include <malloc.h>

#include "berth/base/log.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/configured_options.h"
#include "berth/shell/outside/http_extender.h"
#include "berth/shell/recording/outside_bodies.h"
#include "berth/shell/recording/recorder.h"
#include "berth/shell/runner/debug_dump.h"
#include "berth/shell/runner/feeds.h"
#include "berth/shell/runner/output_performer.h"
#include "berth/shell/runner/scheduler_core.h"

namespace berth::runner {
namespace {

scheduler::SchedulerOptions CoreOptions(const config::KubeSchedulerConfiguration& configuration,
                                        const ShellOptions& options, const Clock& clock) {
  scheduler::SchedulerOptions core = scheduler::OptionsOf(configuration);
  core.seed = options.seed;
  core.pods = options.pods;
  core.metrics = options.scheduler_metrics;
  core.stopwatch = options.stopwatch != nullptr ? options.stopwatch : &clock;
  core.queue.unschedulable_max = options.unschedulable_max;
  // The log has the score of each plugin at this level.
  const bool logs_scores = options.scheduler_metrics != nullptr && log::Enabled({10, "schedule_one"});
  core.evaluator.with_detail = logs_scores || options.tells_reasons;
  return core;
}

Expected<std::unique_ptr<net::Transport>> NoClient(const net::HttpClientOptions&) {
  return InvalidError("other servers cannot be asked here");
}

}  // namespace

SchedulerShell::SchedulerShell(client::RestClient& rest, const Clock& clock, ShellOptions options)
    : rest_(rest),
      clock_(clock),
      options_(std::move(options)),
      runner_(rest.loop(), clock,
              {.perform =
                   [this](scheduler::Output&& output) {
                     if (auto* const report = std::get_if<scheduler::BookingReport>(&output))
                       return booking_feed_->Take(std::move(*report));
                     if (!reservations_.Perform(output)) performer_->Perform(std::move(output));
                   },
               .may_decide = options_.is_leading,
               .on_caught_up =
                   [] {
                     malloc_trim(0);  // Gives back the memory that the first lists needed.
                   }},
              options_.long_turns),
      reservations_(rest.loop(), [this](scheduler::Input input) { runner_.Push(std::move(input)); }),
      handle_([this](framework::PermitDecision decision) { runner_.Push(std::move(decision)); }, *options_.metrics,
              options_.read_file) {}

Expected<std::unique_ptr<SchedulerShell>> SchedulerShell::Make(const config::KubeSchedulerConfiguration& configuration,
                                                               client::RestClient& rest,
                                                               client::RestClient& events_rest, const Clock& clock,
                                                               ShellOptions options) {
  std::unique_ptr<SchedulerShell> shell(new SchedulerShell(rest, clock, std::move(options)));
  BERTH_RETURN_IF_ERROR(shell->MakeParts(configuration, events_rest));
  return shell;
}

Expected<void> SchedulerShell::MakeParts(const config::KubeSchedulerConfiguration& configuration,
                                         client::RestClient& events_rest) {
  BERTH_ASSIGN_OR_RETURN(auto profiles, runtime::MakeProfiles(configuration, options_.plugins, handle_));
  if (options_.make_recorder) {
    BERTH_ASSIGN_OR_RETURN(recorder_, options_.make_recorder(profiles));
  }
  const scheduler::SchedulerOptions core = CoreOptions(configuration, options_, clock_);
  auto scheduler = std::make_unique<scheduler::Scheduler>(core, handle_, std::move(profiles));

  const outside::OutsidePoller::MakeClient make_client = options_.make_client ? options_.make_client : NoClient;
  const auto push = [this](scheduler::Input input) { runner_.Push(std::move(input)); };
  const auto run_work = [this](std::function<void()> work) { workers_.Run(std::move(work)); };
  BERTH_ASSIGN_OR_RETURN(extenders_, outside::HttpExtenders::Make(core.extenders, rest_.loop(), make_client, run_work,
                                                                  *options_.metrics, push, options_.tracer));
  std::vector<scheduler::OutsideRequest> sources = scheduler->outside_sources();
  if (recorder_ != nullptr) sources = recording::KeepBodies(std::move(sources));
  BERTH_ASSIGN_OR_RETURN(
      auto poller, outside::OutsidePoller::Make(sources, rest_, make_client, run_work, *options_.metrics, core.seed,
                                                [push](std::size_t source, outside::OutsidePoller::Data data) {
                                                  push(scheduler::OutsideDone{source, std::move(data)});
                                                }));
  performer_ = std::make_unique<OutputPerformer>(
      rest_, events_rest, *extenders_, workers_,
      OutputPerformer::Options{options_.seed, options_.hostname, options_.metrics, options_.tracer}, push);
  feeds_ =
      std::make_unique<Feeds>(rest_, *extenders_, std::move(poller),
                              Feeds::Options{options_.seed, scheduler->ObjectsRead(), configuration.release.minor},
                              Feeds::Callbacks{[this](scheduler::Input input) { reservations_.Take(std::move(input)); },
                                               [this] {
                                                 // The lists of a standby may be older than its lease: see Lead().
                                                 if (!options_.is_leading || options_.lists_when_leading) {
                                                   EndListing(false);
                                                 }
                                               }});
  if (options_.make_booking_feed) booking_feed_ = options_.make_booking_feed(rest_, events_rest, push);
  SchedulerCore::Options turns;
  turns.bindings_max = [this] { return std::min(options_.bindings_max, 2 * performer_->bindings_limit()); };
  turns.on_decision = options_.on_decision;
  turns.waits_for_outside_data = options_.waits_for_outside_data;
  turns.metrics = options_.metrics;
  turns.recorder = recorder_.get();
  turns.tracer = options_.tracer;
  core_ = std::make_unique<SchedulerCore>(std::move(scheduler), clock_, std::move(turns));
  return {};
}

SchedulerShell::~SchedulerShell() { Stop(Duration{0}); }

void SchedulerShell::Start() {
  if (options_.is_leading) runner_.StandBy();
  runner_.Start(*core_);
  if (!options_.is_leading || !options_.lists_when_leading) StartFeeds();
}

void SchedulerShell::StartFeeds() {
  feeds_->Start();
  if (booking_feed_) booking_feed_->Start();
}

// Every object is with the core. Promises go after them.
void SchedulerShell::EndListing(bool was_standby) {
  if (!booking_feed_) return runner_.EndListing();
  booking_feed_->Lead(was_standby, [this] { runner_.EndListing(); });
}

void SchedulerShell::Lead() {
  runner_.Lead();
  // With lists_when_leading the first lists are new enough, and their end calls EndListing().
  if (options_.lists_when_leading) return StartFeeds();
  feeds_->Refresh([this] { EndListing(true); });
}

bool SchedulerShell::HasSynced() const { return feeds_->HasSynced(); }

void SchedulerShell::SetListener(std::optional<ObjectListener> listener) { feeds_->SetListener(std::move(listener)); }

std::vector<FeedSource> SchedulerShell::Sources() const { return feeds_->Sources(); }

std::vector<scheduler::UnboundPod> SchedulerShell::Unbound() {
  std::vector<scheduler::UnboundPod> unbound;
  runner_.BetweenTurns([&] { unbound = core_->scheduler().Unbound(); });
  return unbound;
}

void SchedulerShell::Ask(const Question& question) {
  runner_.BetweenTurns([&] {
    const Time now = clock_.Now();
    const Duration wall_ahead = clock_.WallNow() - now;
    core_->for_questions().SetWallAhead(wall_ahead);
    question(core_->for_questions(), now, wall_ahead);
  });
}

void SchedulerShell::LogDebugDump() {
  // The names are taken before BetweenTurns(): an informer holds its lock while it waits for a turn to end.
  const KnownNames informers = feeds_->Names();
  DebugDump dump;
  runner_.BetweenTurns([&] { dump = DumpOf(core_->scheduler()); });
  LogDump(dump, informers);
}

void SchedulerShell::FlushStatuses(Duration limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto pending = std::make_shared<std::promise<std::size_t>>();
    // Outputs of the core that wait are performed first.
    rest_.loop().Post([this, pending] {
      runner_.PerformOutputs();
      pending->set_value(performer_->pending_statuses());
    });
    auto answer = pending->get_future();
    if (answer.wait_until(deadline) != std::future_status::ready || answer.get() == 0) return;
    if (std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Returns how many are left.
std::size_t SchedulerShell::FlushEvents(Duration limit) {
  if (!options_.await) return performer_->FlushEvents(limit);
  performer_->FlushEvents(Duration{0});  // starts sending without waiting
  options_.await(limit, [this] { return performer_->queued_events() == 0; });
  return performer_->queued_events();
}

bool SchedulerShell::Stop(Duration grace) {
  if (std::exchange(is_stopped_, true)) return runner_.IsSettled();
  const Time began = clock_.Now();
  const bool waits = grace > Duration{0} && (runner_.IsRunning() || options_.await);
  runner_.Drain(grace);
  if (waits && options_.await) options_.await(grace, [this] { return runner_.IsDrained(); });
  if (waits) {
    const Time end = std::max(clock_.Now() + std::min(grace, kEventsGraceMin), began + grace);
    const auto left_of_grace = [&] { return std::max(end - clock_.Now(), Duration{0}); };
    // The last outputs of the core, events among them, may not have reached the recorder yet.
    const auto performed = std::make_shared<std::promise<void>>();
    rest_.loop().Post([performed] { performed->set_value(); });
    AwaitFuture(options_.await, performed->get_future(), left_of_grace());
    if (const std::size_t left = FlushEvents(left_of_grace()); left > 0) {
      log::Warning("app", "Events were not sent before the end", {{"count", left}});
    }
  }
  runner_.Stop();
  if (extenders_) extenders_->Stop();
  if (feeds_) feeds_->Stop();
  if (booking_feed_) booking_feed_->Stop();
  runner_.Join();
  // This is asked last, since bindings that waited for time to pass may have begun to write meanwhile.
  return runner_.IsSettled();
}

}  // namespace berth::runner
