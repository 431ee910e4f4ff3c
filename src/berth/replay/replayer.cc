// SPDX-License-Identifier: Apache-2.0
#include "berth/replay/replayer.h"

#include <utility>

#include "berth/core/config/load.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/configured_options.h"
#include "berth/framework/guarded.h"

namespace berth::replay {

using recording::Op;
using recording::Record;
using recording::Scheduled;

namespace {

std::string Shown(const scheduler::Decision& decision) {
  return decision.PodKey() +
         (decision.node_name.empty() ? " is not placed: " + decision.message : " is placed on " + decision.node_name);
}

std::string Shown(Scheduled scheduled) {
  switch (scheduled) {
    case Scheduled::kNothing: return "no pod was ready";
    case Scheduled::kWaits: return "a pod waited for extenders";
    case Scheduled::kDecided: return "a pod was decided";
    case Scheduled::kFailed: return "berth failed";
  }
  return "something unknown happened";
}

}  // namespace

// Decisions of plugins' own threads come from the recording.
Replayer::Replayer(std::unique_ptr<recording::RecordingReader> reader, Watcher watcher)
    : reader_(std::move(reader)),
      watcher_(std::move(watcher)),
      handle_([](framework::PermitDecision) {}, framework::Metrics::None(), recording::FilesOf(reader_->header())) {}

Expected<std::unique_ptr<Replayer>> Replayer::Open(const std::string& path, config::KnownPlugins plugins,
                                                   Watcher watcher) {
  BERTH_ASSIGN_OR_RETURN(auto reader, recording::RecordingReader::Open(path));
  std::unique_ptr<Replayer> replayer(new Replayer(std::move(reader), std::move(watcher)));
  if (const auto made = replayer->MakeCore(plugins); !made.ok()) return made.error().Wrap(path);
  return replayer;
}

Expected<config::KubeSchedulerConfiguration> Replayer::Configuration() const {
  BERTH_ASSIGN_OR_RETURN(const auto gates, config::FeatureGates::Parse(header().gates));
  return config::LoadConfiguration(header().configuration, gates);
}

Expected<void> Replayer::MakeCore(config::KnownPlugins plugins) {
  const recording::RecordingHeader& recorded = header();
  BERTH_ASSIGN_OR_RETURN(const auto configuration, Configuration());
  auto profiles = runtime::MakeProfiles(configuration, plugins, handle_);
  if (!profiles.ok()) {
    if (recorded.plugin_directory.empty()) return profiles.error();
    return InvalidError(profiles.error().message + "; the recorded run had --plugin-dir " + recorded.plugin_directory);
  }
  scheduler::SchedulerOptions options = scheduler::OptionsOf(configuration);
  options.seed = recorded.seed;
  options.pods = recorded.pods;
  options.queue.unschedulable_max = recorded.unschedulable_max;
  core_ = std::make_unique<scheduler::Scheduler>(std::move(options), handle_, *std::move(profiles));
  return {};
}

Expected<bool> Replayer::Turn(Time until) {
  while (!difference_ && !is_over_) {
    if (!next_) {
      Record read;
      BERTH_ASSIGN_OR_RETURN(const bool is_there, reader_->Next(read));
      is_over_ = !is_there;
      if (is_over_) return false;
      next_ = read;
    }
    // It stays the next one, for a later `until`.
    if (next_->op == Op::kTurn && next_->now + next_->wall_ahead > until) return false;
    const Record record = *std::exchange(next_, std::nullopt);
    Apply(record);
    if (record.op == Op::kOutputs) return !difference_;
  }
  return false;
}

void Replayer::Apply(const Record& record) {
  switch (record.op) {
    case Op::kTurn:
      ++counts_.turns;
      turn_ = record;
      core_->SetWallAhead(record.wall_ahead);
      return;
    case Op::kCancel: return core_->CancelExtenderCycle(recording::kCancelReason);
    case Op::kInput: {
      const auto parse = [this](std::size_t source,
                                const std::string& body) -> Expected<std::shared_ptr<const framework::OutsideData>> {
        const auto& sources = core_->outside_sources();
        if (source >= sources.size()) return InvalidError("there is no such source");
        Expected<std::shared_ptr<const framework::OutsideData>> data = InvalidError("");
        const framework::Status failed = framework::GuardedCall([&] { data = sources[source].source.parse(body); });
        return failed.IsSuccess() ? data : InvalidError(failed.Message());
      };
      scheduler::Input input;
      if (!reader_->TakeInput(parse, input)) return;
      ++counts_.inputs;
      if (watcher_.on_input) watcher_.on_input(input);
      return core_->Handle(std::move(input), turn_.now);
    }
    case Op::kTick: return core_->Tick(turn_.now);
    case Op::kSchedule: return Schedule(record.scheduled);
    case Op::kDecision: return CheckDecision(record.digest);
    case Op::kOutputs: return CheckOutputs(record);
  }
}

void Replayer::Schedule(Scheduled recorded) {
  if (recorded != Scheduled::kNothing && watcher_.on_cycle) watcher_.on_cycle(counts_.decisions + 1);
  const bool has_begun = core_->ScheduleOne(turn_.now);
  const Scheduled now = !has_begun                       ? Scheduled::kNothing
                        : core_->IsWaitingForExtenders() ? Scheduled::kWaits
                                                         : Scheduled::kDecided;
  if (now == recorded) return;
  ++counts_.decisions;
  Differs("then " + Shown(recorded) + ", now " +
          (now == Scheduled::kDecided ? Shown(core_->decisions().Newest()) : Shown(now)));
}

void Replayer::CheckDecision(std::uint32_t recorded) {
  ++counts_.decisions;
  if (core_->decisions().size() == 0 || core_->IsWaitingForExtenders())
    return Differs("then a pod was decided, now none is");
  const scheduler::Decision& decision = core_->decisions().Newest();
  if (recording::DigestOf(decision) != recorded) return Differs("then it was another one, now " + Shown(decision));
  if (!decision.node_name.empty()) ++counts_.placed;
  if (watcher_.on_decision) watcher_.on_decision(counts_.decisions, decision);
}

void Replayer::CheckOutputs(const Record& record) {
  core_->TakeOutputs(outputs_);
  counts_.outputs += outputs_.size();
  if (outputs_.size() != record.outputs) {
    Differs("then " + std::to_string(record.outputs) + " outputs came of the turn, now " +
            std::to_string(outputs_.size()));
  } else if (!outputs_.empty() && recording::DigestOf(outputs_) != record.digest) {
    Differs("what the turn asks for outside (bindings, patches, events) is not the same");
  }
}

void Replayer::Differs(std::string what) {
  if (!difference_) difference_ = Difference{counts_.decisions, wall_now(), std::move(what)};
}

}  // namespace berth::replay
