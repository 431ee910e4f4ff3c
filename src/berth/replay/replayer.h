// SPDX-License-Identifier: Apache-2.0
// Replayer: a core that is given what a recorded one was given, call by call, and a comparison of what comes of it. Its
// outputs go nowhere: their outcomes are in the recording. One thread, although plugins may have more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/config/known_plugins.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/shell/recording/recording_reader.h"

namespace berth::replay {

// The first thing that is not as it was recorded.
struct Difference {
  std::uint64_t decision = 0;  // the number of the decision, or of the latest one before it
  Time time{};
  std::string what;  // one line
};

struct ReplayCounts {
  std::uint64_t turns = 0;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  std::uint64_t decisions = 0;  // also the number of the latest one
  std::uint64_t placed = 0;
};

class Replayer {
 public:
  struct Watcher {
    // All of these are optional. This one is called before the core gets the input.
    std::function<void(const scheduler::Input&)> on_input;
    // Before the scheduling cycle begins whose decision has this number.
    std::function<void(std::uint64_t number)> on_cycle;
    std::function<void(std::uint64_t number, const scheduler::Decision&)> on_decision;
  };

  // Errors are one line and name the file: it is no recording, or its plugins are not here.
  static Expected<std::unique_ptr<Replayer>> Open(const std::string& path, config::KnownPlugins plugins,
                                                  Watcher watcher = {});
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  // The next turn, if it was not later than that time of day. False if it was, so that a later time may be asked for,
  // and at the end of the recording; after a difference as well, since nothing that follows means anything.
  Expected<bool> Turn(Time until = Time::max());

  // The configuration that it was recorded with.
  Expected<config::KubeSchedulerConfiguration> Configuration() const;
  const recording::RecordingHeader& header() const { return reader_->header(); }
  const std::string& damage() const { return reader_->damage(); }
  const std::optional<Difference>& difference() const { return difference_; }
  const ReplayCounts& counts() const { return counts_; }
  const scheduler::Scheduler& core() const { return *core_; }
  // The core, to make an overlay of it between cycles.
  scheduler::Scheduler& for_questions() { return *core_; }
  // Times of the latest turn.
  Time now() const { return turn_.now; }
  Duration wall_ahead() const { return turn_.wall_ahead; }
  Time wall_now() const { return turn_.now + turn_.wall_ahead; }
  // The same, and before the first turn the time at which the recording began.
  Time reached() const { return counts_.turns == 0 ? header().started_at : wall_now(); }

 private:
  explicit Replayer(std::unique_ptr<recording::RecordingReader> reader, Watcher watcher);

  Expected<void> MakeCore(config::KnownPlugins plugins);
  void Apply(const recording::Record& record);
  void Schedule(recording::Scheduled recorded);
  void CheckDecision(std::uint32_t recorded);
  void CheckOutputs(const recording::Record& record);
  void Differs(std::string what);

  const std::unique_ptr<recording::RecordingReader> reader_;
  const Watcher watcher_;
  scheduler::CoreHandle handle_;
  std::unique_ptr<scheduler::Scheduler> core_;
  recording::Record turn_;
  std::optional<recording::Record> next_;  // read, and later than was asked for
  std::vector<scheduler::Output> outputs_;
  ReplayCounts counts_;
  std::optional<Difference> difference_;
  bool is_over_ = false;
};

}  // namespace berth::replay
