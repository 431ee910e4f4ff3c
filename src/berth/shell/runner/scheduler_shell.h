// SchedulerShell: turns the network into the core's inputs and its outputs into API calls. Used by `berth run` and
// `berth demo`.
//
// The core runs in turns, one at a time. A turn takes the inputs there are, decides some pods and leaves its outputs.
// As long as turns are short the event loop's thread, which does all I/O, takes them itself, after all that a look at
// its sockets has brought: waking another thread costs more than deciding a pod. What is more than a short turn's work
// (the first list, a great backlog, large clusters) goes to a thread of the core's own, until that has nothing to do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "berth/base/time.h"
#include "berth/base/worker_pool.h"
#include "berth/core/config/types.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/handle.h"
#include "berth/plugins/registry.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/event_recorder.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/outside/outside_poller.h"
#include "berth/shell/plugin_files/plugin_files.h"

namespace berth::outside {
class HttpExtenders;
}

namespace berth::runner {

class BindingPipeline;
class StatusWriter;

struct ShellOptions {
  std::uint64_t seed = 0;
  std::string hostname;
  // What profiles may name. Looked at by Make() alone.
  std::span<const plugins::PluginRegistration> plugins = plugins::InTreePlugins();
  // Binding cycles under way at once, at most: the core decides no further pod while there are this many, or twice as
  // many as the binding pipeline sends at once, which keeps that busy; more would only be more to settle at the end.
  // Those that wait for time to pass (a volume that is being made) do not count.
  std::size_t bindings_max = 128;
  // Called by the thread that runs the core, after each decision.
  std::function<void(const scheduler::Decision&)> on_decision;
  // Makes clients on the event loop of `rest`, for plugins that ask other servers; empty: no plugin may.
  outside::OutsidePoller::MakeClient make_client;
  framework::Metrics* metrics = &framework::Metrics::None();               // outlives the shell
  plugin_files::ReadPluginFile read_file = plugin_files::PluginFiles("");  // for plugins that are being made
  scheduler::PodChoice pods;
  // Decides nothing before each source of data from outside has answered, or failed, once.
  bool waits_for_outside_data = false;
};

class SchedulerShell final {
 public:
  // Inputs that wait for the core. When there are more, the event loop waits, and with it the API server's watches.
  static constexpr std::size_t kInputsMax = 100'000;
  static constexpr std::size_t kWorkersMax = 16;

  // Before it is destroyed, Stop() must have returned and the event loop must have ended.
  //
  // `rest` carries lists, watches and writes, `events_rest` the events, so that these never stand in the way; both run
  // on `rest.loop()`. All must outlive the shell. Fails when the configuration's profiles cannot be made.
  static Expected<std::unique_ptr<SchedulerShell>> Make(const config::KubeSchedulerConfiguration& configuration,
                                                        client::RestClient& rest, client::RestClient& events_rest,
                                                        const Clock& clock, ShellOptions options);
  ~SchedulerShell();

  void Start();

  // Stops deciding at once, waits at most `grace` for bindings under way and then for events, and ends the threads. One
  // that waits for time to pass is not waited for.
  // Bindings that have not ended by then are given up: their pods are found bound or pending by the next scheduler.
  void Stop(Duration grace);

  // All objects that the profiles' plugins read have been listed once.
  bool HasSynced() const;

  // Everything that has been heard of is done: each pod of ours is placed and said to be so, refused, or gated. Any
  // thread.
  bool HasSettled() const;

  // Pods of ours without a node, by key. Any thread but the core's.
  std::vector<scheduler::UnplacedPod> Unplaced();

  // Waits until the API server has taken all that is known about pods' status, at most `limit`. Not on the loop's
  // thread.
  void FlushStatuses(Duration limit);

  // As the core counts, a moment ago. Any thread.
  scheduler::Counts counts() const;

 private:
  // Whether decisions may be made, and by whom a turn is taken.
  enum class Taker : std::uint8_t { kCoreThread, kLoop };
  struct TurnResult {
    bool has_more = false;   // a pod may be ready
    bool took_long = false;  // a turn of the loop's was cut short
  };

  SchedulerShell(client::RestClient& rest, client::RestClient& events_rest, const Clock& clock, ShellOptions options);

  Expected<void> MakeExtenders(std::vector<config::Extender> extenders,
                               const outside::OutsidePoller::MakeClient& make_client);
  void MakeInformers();
  void MakeObjectInformer(framework::ObjectKind kind, std::function<void()> synced);
  void Push(scheduler::Input input);
  void RunCore();
  void RunOnLoop();
  TurnResult TakeTurn(Taker taker);  // core_mutex_ is held
  void DecideSome(Taker taker, Time now, TurnResult& result);
  // These two on the loop's thread.
  void PerformOutputs();
  void Perform(scheduler::Output&& output);
  void PerformWrite(std::uint64_t operation, framework::ApiWrite&& write);
  void PerformRead(std::uint64_t operation, const framework::PodRef& pod);
  client::ApiWriter::ReadDone Answer(std::uint64_t operation);
  std::size_t BusyBindings() const;  // core_mutex_ is held
  std::size_t BindingsMax() const;

  client::RestClient& rest_;
  const Clock& clock_;
  const ShellOptions options_;
  client::ApiWriter writer_;
  std::unique_ptr<StatusWriter> status_writer_;
  std::unique_ptr<BindingPipeline> bindings_;
  std::unique_ptr<client::EventRecorder> recorder_;
  scheduler::CoreHandle handle_;
  std::unique_ptr<scheduler::Scheduler> core_;  // guarded by core_mutex_ once it runs
  std::unique_ptr<outside::OutsidePoller> outside_;
  std::unique_ptr<outside::HttpExtenders> extenders_;
  std::unique_ptr<client::Informer<api::Pod>> pods_;
  std::unique_ptr<client::Informer<api::Node>> nodes_;
  std::vector<std::unique_ptr<client::Informer<framework::AnyObject>>> objects_;  // of the kinds that plugins read

  std::mutex core_mutex_;                // before mutex_
  std::vector<scheduler::Input> batch_;  // guarded by core_mutex_; the inputs of a turn
  Time last_turn_{};                     // guarded by core_mutex_

  mutable std::mutex mutex_;         // guards what follows; never held while the core or a callback runs
  std::condition_variable changed_;  // the core's thread alone waits for it
  std::condition_variable room_;     // inputs_ has room
  std::condition_variable idle_;     // is_idle_ is true
  std::vector<scheduler::Input> inputs_;
  std::vector<scheduler::Output> outputs_;  // to be performed, in order
  bool is_core_due_ = false;                // there is work for the core's thread
  bool is_core_active_ = false;             // it takes the turns
  std::optional<Time> wake_at_;             // when it takes one in any case
  bool is_turn_posted_ = false;             // RunOnLoop is on its way
  bool is_synced_ = false;
  bool is_trimmed_ = false;   // memory was given back after the lists
  bool is_draining_ = false;  // decide nothing more
  bool is_stopped_ = false;
  bool is_idle_ = false;     // draining and no binding under way
  bool is_settled_ = false;  // nothing was left to do after the latest turn
  scheduler::Counts counts_;
  std::size_t unsynced_ = 0;  // informers that have not listed yet

  std::thread core_thread_;
  WorkerPool workers_{kWorkersMax};  // plugins' blocking work
};

}  // namespace berth::runner
