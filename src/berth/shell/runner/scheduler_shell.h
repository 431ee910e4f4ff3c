// SPDX-License-Identifier: Apache-2.0
// SchedulerShell: the core and everything around it that `berth run` and `berth demo` need: feeds push inputs, the
// runner takes turns, the performer carries outputs out. It only puts these together, and ends them in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/base/worker_pool.h"
#include "berth/core/config/types.h"
#include "berth/core/instruments/scheduler_metrics.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/counts.h"
#include "berth/core/scheduler/pod_choice.h"
#include "berth/framework/handle.h"
#include "berth/plugins/registry.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/outside/outside_poller.h"
#include "berth/shell/plugin_files/plugin_files.h"
#include "berth/shell/runner/await.h"
#include "berth/shell/runner/booking_feed.h"
#include "berth/shell/runner/object_listener.h"
#include "berth/shell/runner/reservations.h"
#include "berth/shell/runner/turn_runner.h"

namespace berth::outside {
class HttpExtenders;
}
namespace berth::recording {
class Recorder;
}
namespace berth::tracing {
class Tracer;
}
namespace berth::runtime {
struct ProfilePlugins;
}
namespace berth::scheduler {
class Scheduler;
struct Decision;
struct UnboundPod;
}  // namespace berth::scheduler

namespace berth::runner {

class Feeds;
struct FeedSource;
class OutputPerformer;
class SchedulerCore;

struct ShellOptions {
  std::uint64_t seed = 0;
  std::string hostname;
  // The plugins that profiles may name. Only Make() uses them.
  config::KnownPlugins plugins = plugins::InTreePlugins();
  // The most binding cycles under way at once. The core decides no further pod while there are this many, or twice as
  // many as the binding pipeline sends at once: that keeps the pipeline busy, and more would only have to be settled at
  // the end. Cycles that wait for time to pass (a volume that is being made) do not count.
  std::size_t bindings_max = 128;
  // Called by the thread that takes the turn, after each decision.
  std::function<void(const scheduler::Decision&)> on_decision;
  // Whether Decision::reason is filled. Every plugin then scores all nodes, for each pod.
  bool tells_reasons = false;
  // Makes clients on the event loop of `rest`, for plugins that ask other servers; empty: no plugin may.
  outside::OutsidePoller::MakeClient make_client;
  framework::Metrics* metrics = &framework::Metrics::None();  // outlives the shell
  // Outlives the shell; null: nobody reads what the core counts.
  instruments::SchedulerMetrics* scheduler_metrics = nullptr;
  // Outlives the shell; null: no pod is traced. `scheduler_metrics` has its PodTraces.
  tracing::Tracer* tracer = nullptr;
  const Clock* stopwatch = nullptr;  // outlives the shell; measures the core's work; null: the clock does
  plugin_files::ReadPluginFile read_file = plugin_files::PluginFiles("");  // for plugins that are being made
  scheduler::PodChoice pods;
  // How long a pod stays among the unschedulable ones before it is tried again without an event.
  Duration unschedulable_max = std::chrono::minutes(5);
  // True: nothing is decided before each source of data from outside has answered or failed once.
  bool waits_for_outside_data = false;
  LongTurns long_turns = LongTurns::kOnThread;
  Await await = {};  // how Stop() waits; not empty with LongTurns::kOnLoop, or Stop() does not wait
  // Makes the recorder of this run, after the plugins, since these may read files. Empty: nothing is recorded.
  using MakeRecorder = std::function<Expected<std::unique_ptr<recording::Recorder>>(
      std::span<const std::unique_ptr<runtime::ProfilePlugins>> profiles)>;
  MakeRecorder make_recorder = {};
  // Makes what asks the core to promise room. Empty: nobody does.
  MakeBookingFeed make_booking_feed = {};
  // With leader election: whether this process leads. It is asked before each turn, by the thread that takes it.
  // Nothing is decided before Lead(), or while this returns false. Empty: there is no election. The fence
  // (net/write_fence.h) of `rest`, `events_rest` and the clients of make_client keeps a standby from writing.
  std::function<bool()> is_leading = {};
  // With an election: nothing is read from the cluster before Lead(), as with delayCacheUntilActive.
  bool lists_when_leading = false;
};

class SchedulerShell final {
 public:
  static constexpr std::size_t kWorkersMax = 16;
  static constexpr Duration kEventsGraceMin = std::chrono::seconds(1);

  // Before the shell is destroyed, Stop() must have returned and the event loop must have ended.
  //
  // `rest` carries lists, watches and writes, `events_rest` the events, so that these never stand in the way; both run
  // on `rest.loop()`. All must outlive the shell. Fails when the configuration's profiles cannot be made.
  static Expected<std::unique_ptr<SchedulerShell>> Make(const config::KubeSchedulerConfiguration& configuration,
                                                        client::RestClient& rest, client::RestClient& events_rest,
                                                        const Clock& clock, ShellOptions options);
  ~SchedulerShell();

  // Start() and Stop() on threads that are not the loop's, one after the other.
  void Start();

  // This process leads from now on (ShellOptions::is_leading). Pods are decided once everything has been read again
  // after this call. On the loop's thread, once, after Start().
  void Lead();

  // Stops deciding at once, and waits at most `grace` for bindings under way and then for events, which have at least
  // kEventsGraceMin; then ends the threads. It does not wait for bindings that wait for time to pass. Bindings that
  // have not ended by then are given up: the next scheduler finds their pods bound or pending. False: one of their
  // writes may still take effect, and nobody else may decide until it cannot any more.
  bool Stop(Duration grace);

  // All objects that the profiles' plugins read have been listed once. Any thread.
  bool HasSynced() const;

  // See Feeds::SetListener(). What was listed before is not told: the listener has to list by itself after this call,
  // and then finds nothing older than what it is told.
  void SetListener(std::optional<ObjectListener> listener);

  // The state of each informer. Any thread.
  std::vector<FeedSource> Sources() const;
  // See TurnRunner::TurnAge().
  Duration TurnAge() const { return runner_.TurnAge(); }

  // Nothing is left to do: each pod of ours is bound, with its event, or refused, or gated. Any thread.
  bool IsIdle() const { return runner_.IsIdle(); }

  // Our pods without a node, sorted by namespace and name. Any thread but those that take turns.
  std::vector<scheduler::UnboundPod> Unbound();

  // Calls `question` between two turns, which wait meanwhile, so it must be short. It may call the core's const methods
  // and MakeOverlay(now). `wall_ahead` is how far the time of day is ahead of `now`. Any thread but those that take
  // turns.
  using Question = std::function<void(scheduler::Scheduler& core, Time now, Duration wall_ahead)>;
  void Ask(const Question& question);

  // Logs cache and queue, and where they differ from the informers (debug_dump.h). Any thread but those that take
  // turns.
  void LogDebugDump();

  // Places for the replacements of pods that are about to be evicted. Any thread but those that take turns.
  Reservations& reservations() { return reservations_; }

  // Waits until the API server has taken all status patches, at most `limit`. Not on the loop's thread.
  void FlushStatuses(Duration limit);

  // The core's counts after the latest turn. Any thread.
  scheduler::Counts counts() const { return runner_.counts(); }

 private:
  SchedulerShell(client::RestClient& rest, const Clock& clock, ShellOptions options);

  Expected<void> MakeParts(const config::KubeSchedulerConfiguration& configuration, client::RestClient& events_rest);
  std::size_t FlushEvents(Duration limit);
  void StartFeeds();
  void EndListing(bool was_standby);

  client::RestClient& rest_;
  const Clock& clock_;
  const ShellOptions options_;
  bool is_stopped_ = false;  // on the thread of Stop()
  TurnRunner runner_;
  Reservations reservations_;
  scheduler::CoreHandle handle_;
  std::unique_ptr<outside::HttpExtenders> extenders_;
  std::unique_ptr<OutputPerformer> performer_;
  std::unique_ptr<recording::Recorder> recorder_;  // records the calls of core_; null: none
  std::unique_ptr<SchedulerCore> core_;
  std::unique_ptr<Feeds> feeds_;
  std::unique_ptr<BookingFeed> booking_feed_;  // null: no room is promised
  // Destroyed first, since work on its threads pushes inputs.
  WorkerPool workers_{kWorkersMax};  // plugins' blocking work, and large answers of other servers
};

}  // namespace berth::runner
