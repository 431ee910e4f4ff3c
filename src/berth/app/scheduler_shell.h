// SchedulerShell: turns the network into the core's inputs and its outputs into API calls. One thread runs the core;
// the event loop's thread does all I/O. Used by `berth run` and `berth demo`.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "berth/base/time.h"
#include "berth/base/worker_pool.h"
#include "berth/client/api_writer.h"
#include "berth/client/event_recorder.h"
#include "berth/client/informer.h"
#include "berth/client/rest_client.h"
#include "berth/config/types.h"
#include "berth/framework/handle.h"
#include "berth/scheduler/scheduler.h"

namespace berth::app {

class StatusWriter;

struct ShellOptions {
  std::uint64_t seed = 0;
  std::string hostname;
  // Binding cycles under way at once; the core decides no further pod while there are this many. Twice the connections
  // that carry them keeps these busy; more would only be more to settle at the end. Those that wait for time to pass (a
  // volume that is being made) do not count.
  std::size_t bindings_max = 128;
  // Called on the core's thread after each decision and each binding that took effect.
  std::function<void(const scheduler::Decision&)> on_decision;
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

  // As the core counts, a moment ago. Any thread.
  scheduler::Counts counts() const;

 private:
  // What the pod informer keeps of a pod: the core has the rest.
  struct PodRecord {
    std::string namespace_name;
    std::string name;
    std::string uid;
    mutable std::shared_ptr<const api::Pod> pod;  // handed to the core once
  };

  SchedulerShell(client::RestClient& rest, client::RestClient& events_rest, const Clock& clock, ShellOptions options);

  void MakeInformers();
  void MakeObjectInformer(framework::ObjectKind kind, std::function<void()> synced);
  void Push(scheduler::Input input);
  void RunCore();
  void Perform(std::vector<scheduler::Output>&& outputs);  // on the loop's thread
  void PerformWrite(std::uint64_t operation, framework::ApiWrite&& write);
  void PerformRead(std::uint64_t operation, const framework::PodRef& pod);
  client::ApiWriter::ReadDone Answer(std::uint64_t operation);
  std::size_t BusyBindings() const;  // core's thread

  client::RestClient& rest_;
  const Clock& clock_;
  const ShellOptions options_;
  client::ApiWriter writer_;
  std::unique_ptr<StatusWriter> status_writer_;
  std::unique_ptr<client::EventRecorder> recorder_;
  scheduler::CoreHandle handle_;
  std::unique_ptr<scheduler::Scheduler> core_;  // RunCore's thread alone touches it once it runs
  std::unique_ptr<client::Informer<PodRecord>> pods_;
  std::unique_ptr<client::Informer<api::Node>> nodes_;
  std::vector<std::unique_ptr<client::Informer<framework::AnyObject>>> objects_;  // of the kinds that plugins read

  mutable std::mutex mutex_;         // guards what follows; never held while the core or a callback runs
  std::condition_variable changed_;  // the core has something to do; its thread alone waits for it
  std::condition_variable room_;     // inputs_ has room
  std::condition_variable idle_;     // is_idle_ is true
  std::vector<scheduler::Input> inputs_;
  bool is_synced_ = false;
  bool is_draining_ = false;  // decide nothing more
  bool is_stopped_ = false;
  bool is_idle_ = false;  // draining and no binding under way
  scheduler::Counts counts_;
  std::size_t unsynced_ = 0;  // informers that have not listed yet

  std::thread core_thread_;
  WorkerPool workers_{kWorkersMax};  // plugins' blocking work
};

}  // namespace berth::app
