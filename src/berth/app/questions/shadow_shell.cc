// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/shadow_shell.h"

#include <utility>

#include <malloc.h>

#include "berth/shell/outside/http_extender.h"

namespace berth::app {

// The Shadow as the runner turns it.
class ShadowShell::Turns final : public runner::Core {
 public:
  // Inputs taken in between two looks at the new ones.
  static constexpr int kStepsPerTurn = 1024;

  Turns(std::unique_ptr<shadow::Shadow> shadow, const Clock& clock, const Options& options)
      : shadow_(std::move(shadow)), clock_(clock), options_(options) {}

  runner::TurnResult TakeTurn(const runner::TurnRequest& request, std::vector<scheduler::Input>& inputs,
                              std::vector<scheduler::Output>&) override {
    shadow_->SetWallAhead(request.wall_ahead);
    for (scheduler::Input& input : inputs) shadow_->Take(std::move(input), request.now);
    inputs.clear();
    if (request.may_decide && !shadow_->is_looking()) {
      shadow_->BeginLooking(request.now);
      if (options_.on_looking) options_.on_looking();
    }
    runner::TurnResult result;
    StepSome(request, result);
    shadow_->Tick(request.now);
    decisions_.store(shadow_->decision_count(), std::memory_order_relaxed);
    if (!IsDone()) result.wake_at = shadow_->NextWake();
    return result;
  }

  // Between turns.
  const shadow::Shadow& shadow() const { return *shadow_; }
  // Any thread.
  std::uint64_t decision_count() const { return decisions_.load(std::memory_order_relaxed); }

 private:
  bool IsDone() const { return options_.decisions_max != 0 && shadow_->decision_count() >= options_.decisions_max; }

  void StepSome(const runner::TurnRequest& request, runner::TurnResult& result) {
    const Time begin = request.time_max ? clock_.Now() : request.now;
    for (int steps = 0; !IsDone(); ++steps) {
      if (steps == kStepsPerTurn && !request.is_ending) {
        result.has_more = true;
        return;
      }
      if (!shadow_->Step(request.now, request.is_ending)) return;
      if (request.time_max && clock_.Now() - begin > *request.time_max) {
        result.took_long = true;
        result.has_more = true;
        return;
      }
    }
    if (!std::exchange(has_reported_end_, true) && options_.on_done) options_.on_done();
  }

  const std::unique_ptr<shadow::Shadow> shadow_;
  const Clock& clock_;
  const Options& options_;
  bool has_reported_end_ = false;
  std::atomic<std::uint64_t> decisions_{0};
};

ShadowShell::ShadowShell(std::unique_ptr<shadow::Shadow> shadow, client::RestClient& rest, const Clock& clock,
                         Options options)
    : rest_(rest),
      clock_(clock),
      options_(std::move(options)),
      runner_(rest.loop(), clock,
              {.perform = [](scheduler::Output&&) {},
               .on_caught_up =
                   [] {
                     malloc_trim(0);  // Lists leave a lot behind that was needed once.
                   }}),
      turns_(std::make_unique<Turns>(std::move(shadow), clock, options_)) {}

Expected<std::unique_ptr<ShadowShell>> ShadowShell::Make(std::unique_ptr<shadow::Shadow> shadow,
                                                         client::RestClient& rest, const Clock& clock,
                                                         Options options) {
  std::unique_ptr<ShadowShell> made(new ShadowShell(std::move(shadow), rest, clock, std::move(options)));
  BERTH_RETURN_IF_ERROR(made->MakeParts());
  return made;
}

Expected<void> ShadowShell::MakeParts() {
  const auto push = [this](scheduler::Input input) { runner_.Push(std::move(input)); };
  const auto run_work = [this](std::function<void()> work) { workers_.Run(std::move(work)); };
  const scheduler::Scheduler& core = turns_->shadow().core();
  BERTH_ASSIGN_OR_RETURN(extenders_, outside::HttpExtenders::Make({}, rest_.loop(), options_.make_client, run_work,
                                                                  *options_.metrics, push));
  BERTH_ASSIGN_OR_RETURN(
      auto poller,
      outside::OutsidePoller::Make(core.outside_sources(), rest_, options_.make_client, run_work, *options_.metrics,
                                   options_.seed, [push](std::size_t source, outside::OutsidePoller::Data data) {
                                     push(scheduler::OutsideDone{source, std::move(data)});
                                   }));
  feeds_ =
      std::make_unique<runner::Feeds>(rest_, *extenders_, std::move(poller),
                                      runner::Feeds::Options{options_.seed, core.ObjectsRead(), options_.release_minor},
                                      runner::Feeds::Callbacks{push, [this] { runner_.EndListing(); }});
  return {};
}

ShadowShell::~ShadowShell() { Stop(Duration{0}); }

void ShadowShell::Start() {
  runner_.Start(*turns_);
  feeds_->Start();
}

void ShadowShell::Stop(Duration grace) {
  if (std::exchange(is_stopped_, true)) return;
  runner_.Drain(grace);
  runner_.Stop();
  if (extenders_) extenders_->Stop();
  if (feeds_) feeds_->Stop();
  runner_.Join();
}

shadow::ShadowReport ShadowShell::Report() {
  shadow::ShadowReport report;
  runner_.BetweenTurns([&] { report = turns_->shadow().Report(clock_.Now()); });
  return report;
}

std::uint64_t ShadowShell::decision_count() const { return turns_->decision_count(); }

}  // namespace berth::app
