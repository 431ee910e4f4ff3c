// SPDX-License-Identifier: Apache-2.0
// OutputPerformer: carries out the core's outputs: writes to and reads from the API server, events, questions to
// extenders, work on worker threads. The result of each is pushed as an input. Only the event loop's thread may use it,
// unless a function says otherwise. It never waits, and decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/time.h"
#include "berth/base/worker_pool.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/metrics.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/event_recorder.h"
#include "berth/shell/client/request_lanes.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/client/server_pace.h"
#include "berth/shell/tracing/tracer.h"

namespace berth::outside {
class HttpExtenders;
}

namespace berth::runner {

class BindingPipeline;
class StatusWriter;

class OutputPerformer final {
 public:
  struct Options {
    std::uint64_t seed = 0;
    std::string hostname;                                       // events name it
    framework::Metrics* metrics = &framework::Metrics::None();  // outlives it
    tracing::Tracer* tracer = nullptr;                          // outlives it; null: no pod is traced
  };
  using Push = std::function<void(scheduler::Input)>;

  // `rest` carries the writes, `events_rest` the events. All of these must outlive it, and so must what `push` rests
  // on, which is called on the loop's thread and on those of `workers`.
  OutputPerformer(client::RestClient& rest, client::RestClient& events_rest, outside::HttpExtenders& extenders,
                  WorkerPool& workers, Options options, Push push);
  ~OutputPerformer();
  OutputPerformer(const OutputPerformer&) = delete;
  OutputPerformer& operator=(const OutputPerformer&) = delete;

  void Perform(scheduler::Output&& output);

  // The number of pods with a status patch that the API server has not taken yet.
  std::size_t pending_statuses() const;
  // The present limit of bindings under way. Any thread.
  std::size_t bindings_limit() const;
  // The number of events that are not sent yet. Any thread.
  std::size_t queued_events() const;
  // Waits until all events are sent or `limit` has passed, and returns how many are left. Not on the loop's thread.
  std::size_t FlushEvents(Duration limit);

 private:
  void Write(scheduler::Write&& output);
  void Bind(std::uint64_t operation, framework::BindWrite&& bind);
  void ReadPod(std::uint64_t operation, const framework::PodRef& pod);
  void RecordEvent(scheduler::EmitEvent&& event);
  client::ApiWriter::ReadDone Answer(std::uint64_t operation, tracing::TracedCallPtr call);
  tracing::TracedCallPtr BeginCall(std::uint64_t operation, std::string_view name);
  // Sends a write in the lane of this namespace; a sequel goes before all others.
  using SendWrite = std::function<void(client::ApiWriter::ReadDone)>;
  void WriteInTurn(std::uint64_t operation, tracing::TracedCallPtr call, const std::string& namespace_name,
                   bool is_sequel, SendWrite send);

  const Push push_;
  outside::HttpExtenders& extenders_;
  WorkerPool& workers_;
  tracing::Tracer* const tracer_;
  client::ApiWriter writer_;
  const std::shared_ptr<client::ServerPace> pace_;     // of all writes
  const std::shared_ptr<client::RequestLanes> lanes_;  // of plugins' writes to objects, by namespace
  std::unique_ptr<StatusWriter> status_writer_;
  std::unique_ptr<BindingPipeline> bindings_;
  std::unique_ptr<client::EventRecorder> recorder_;
  // Becomes false at the end, for answers that come later: a RestClient that ends answers the calls that wait for
  // another try.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::runner
