// SPDX-License-Identifier: Apache-2.0
// SchedulerShell: the core and everything around it that `berth run` and `berth demo` need: feeds bring inputs, the
// runner takes turns, the performer carries outputs out. It only puts these together, and ends them in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/base/worker_pool.h"
#include "berth/core/config/types.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/handle.h"
#include "berth/plugins/registry.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/outside/outside_poller.h"
#include "berth/shell/plugin_files/plugin_files.h"
#include "berth/shell/runner/await.h"
#include "berth/shell/runner/reservations.h"
#include "berth/shell/runner/turn_runner.h"

namespace berth::outside {
class HttpExtenders;
}
namespace berth::recording {
class Recorder;
}

namespace berth::runner {

class Feeds;
struct FeedSource;
class OutputPerformer;
class SchedulerCore;

struct ShellOptions {
  std::uint64_t seed = 0;
  std::string hostname;
  // What profiles may name. Looked at by Make() alone.
  config::KnownPlugins plugins = plugins::InTreePlugins();
  // Binding cycles under way at once, at most: the core decides no further pod while there are this many, or twice as
  // many as the binding pipeline sends at once, which keeps that busy; more would only be more to settle at the end.
  // Those that wait for time to pass (a volume that is being made) do not count.
  std::size_t bindings_max = 128;
  // Called by the thread that takes the turn, after each decision.
  std::function<void(const scheduler::Decision&)> on_decision;
  // Decision::reason is filled. All nodes are scored for it by every plugin, for each pod.
  bool tells_reasons = false;
  // Makes clients on the event loop of `rest`, for plugins that ask other servers; empty: no plugin may.
  outside::OutsidePoller::MakeClient make_client;
  framework::Metrics* metrics = &framework::Metrics::None();   // outlives the shell
  instruments::SchedulerMetrics* scheduler_metrics = nullptr;  // the same; null: nobody reads what the core counts
  const Clock* stopwatch = nullptr;                            // the same; times the core's work; null: the clock does
  plugin_files::ReadPluginFile read_file = plugin_files::PluginFiles("");  // for plugins that are being made
  scheduler::PodChoice pods;
  // How long a pod stays among the unschedulable ones before it is tried again without an event.
  Duration unschedulable_max = std::chrono::minutes(5);
  // Decides nothing before each source of data from outside has answered, or failed, once.
  bool waits_for_outside_data = false;
  LongTurns long_turns = LongTurns::kOnThread;
  Await await = {};  // how Stop() waits; not empty with LongTurns::kOnLoop, or Stop() does not wait
  // Makes what writes this run down, when the plugins have been made: they may have read files. Empty: nothing is
  // recorded.
  using MakeRecorder = std::function<Expected<std::unique_ptr<recording::Recorder>>(
      std::span<const std::unique_ptr<runtime::ProfilePlugins>> profiles)>;
  MakeRecorder make_recorder = {};
  // With leader election: whether this process leads, asked before each turn, by the thread that takes it. It decides
  // nothing before Lead(), nor while this says no. Empty: there is no election. That a standby writes nothing is up to
  // the fence (net/write_fence.h) of `rest`, `events_rest` and what make_client makes.
  std::function<bool()> is_leading = {};
  // With an election: reads nothing of the cluster before Lead(), as delayCacheUntilActive wants it.
  bool lists_when_leading = false;
};

class SchedulerShell final {
 public:
  static constexpr std::size_t kWorkersMax = 16;
  static constexpr Duration kEventsGraceMin = std::chrono::seconds(1);

  // Before it is destroyed, Stop() must have returned and the event loop must have ended.
  //
  // `rest` carries lists, watches and writes, `events_rest` the events, so that these never stand in the way; both run
  // on `rest.loop()`. All must outlive the shell. Fails when the configuration's profiles cannot be made.
  static Expected<std::unique_ptr<SchedulerShell>> Make(const config::KubeSchedulerConfiguration& configuration,
                                                        client::RestClient& rest, client::RestClient& events_rest,
                                                        const Clock& clock, ShellOptions options);
  ~SchedulerShell();

  // Start() and Stop() on threads that are not the loop's, one after the other.
  void Start();

  // With ShellOptions::is_leading: it is this process's turn. Decides from when all that it knows of the cluster is as
  // new as this call. On the loop's thread, once, after Start().
  void Lead();

  // Stops deciding at once, waits at most `grace` for bindings under way and, in what is left of it, for events, which
  // have kEventsGraceMin in any case; then ends the threads. A binding that waits for time to pass is not waited for.
  // Bindings that have not ended by then are given up: their pods are found bound or pending by the next scheduler.
  // False: a write of one of them may still take effect, and nobody else may decide before it cannot any more.
  bool Stop(Duration grace);

  // All objects that the profiles' plugins read have been listed once. Any thread.
  bool HasSynced() const;

  // The informers, and how they fare. Any thread.
  std::vector<FeedSource> Sources() const;
  // As TurnRunner's. Any thread.
  Duration TurnAge() const { return runner_.TurnAge(); }

  // Everything that has been heard of is done: each pod of ours is placed and said to be so, refused, or gated. Any
  // thread.
  bool IsIdle() const { return runner_.IsIdle(); }

  // Pods of ours without a node, by namespace and name. Any thread but those that take turns.
  std::vector<scheduler::UnboundPod> Unbound();

  // Calls `question` between two turns, which wait meanwhile: it must be short. Of the core it may call what is const,
  // and MakeOverlay(now). `wall_ahead` is how far the time of day is ahead of `now`. Any thread but those that take
  // turns.
  using Question = std::function<void(scheduler::Scheduler& core, Time now, Duration wall_ahead)>;
  void Ask(const Question& question);

  // Writes cache and queue into the log, and where they differ from what has been heard (debug_dump.h). Any thread but
  // those that take turns.
  void LogDebugDump();

  // Places for the replacements of pods that are about to be evicted. Any thread but those that take turns.
  Reservations& reservations() { return reservations_; }

  // Waits until the API server has taken all that is known about pods' status, at most `limit`. Not on the loop's
  // thread.
  void FlushStatuses(Duration limit);

  // As the core counts, a moment ago. Any thread.
  scheduler::Counts counts() const { return runner_.counts(); }

 private:
  SchedulerShell(client::RestClient& rest, const Clock& clock, ShellOptions options);

  Expected<void> MakeParts(const config::KubeSchedulerConfiguration& configuration, client::RestClient& events_rest);
  std::size_t FlushEvents(Duration limit);

  client::RestClient& rest_;
  const Clock& clock_;
  const ShellOptions options_;
  bool is_stopped_ = false;  // on the thread of Stop()
  TurnRunner runner_;
  Reservations reservations_;
  scheduler::CoreHandle handle_;
  std::unique_ptr<outside::HttpExtenders> extenders_;
  std::unique_ptr<OutputPerformer> performer_;
  std::unique_ptr<recording::Recorder> recorder_;  // of core_; null: none
  std::unique_ptr<SchedulerCore> core_;
  std::unique_ptr<Feeds> feeds_;
  // The first to go: what its threads are at pushes inputs.
  WorkerPool workers_{kWorkersMax};  // plugins' blocking work, and large answers of other servers
};

}  // namespace berth::runner
