// SPDX-License-Identifier: Apache-2.0
// TraceExporter: sends spans to a collector in batches, over OTLP with gRPC or HTTP. Nobody waits for it: it keeps a
// bounded number of bytes, and drops what comes while they are full. Thread-safe; requests go out on its loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/instruments/pod_traces.h"
#include "berth/framework/metrics.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/net/transport.h"
#include "berth/shell/tracing/otlp.h"
#include "berth/shell/tracing/tracing_config.h"

namespace berth::tracing {

struct TraceExporterOptions {
  Resource resource;
  std::string version;                                  // of this program
  std::size_t buffer_bytes_max = std::size_t{8} << 20;  // of spans that wait
  std::size_t batch_spans_max = 512;
  Duration gather = std::chrono::seconds(5);    // how long spans wait for others to go with
  Duration timeout = std::chrono::seconds(10);  // of a request
  Duration backoff_min = std::chrono::seconds(1);
  Duration backoff_max = std::chrono::seconds(30);   // of a Retry-After, too
  Duration give_up_after = std::chrono::minutes(1);  // a batch is dropped when it has not been taken by then
  std::uint64_t seed = 1;                            // of the jitter
};

class TraceExporter {
 public:
  // `loop` and `metrics` must outlive it. `transport` leads to config.url.
  TraceExporter(client::EventLoop& loop, std::unique_ptr<net::Transport> transport, const TracingConfig& config,
                TraceExporterOptions options, framework::Metrics& metrics);
  // On the loop's thread, or after its end.
  ~TraceExporter();
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;

  // Never waits.
  void Add(std::vector<instruments::Span>&& spans);
  // Spans that were dropped before they came here.
  void CountDropped(std::uint64_t count);
  // Sends what there is at once, and waits at most `limit` for it to be taken. Returns how many spans are left. Not on
  // the loop's thread.
  std::size_t Flush(Duration limit);

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace berth::tracing
