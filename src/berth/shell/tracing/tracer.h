// SPDX-License-Identifier: Apache-2.0
// Tracer: the shell's side of tracing. It takes finished spans from the core after a turn, makes the spans of requests
// that belong to a traced pod, and hands all to the exporter. Thread-safe, but for what says otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/random.h"
#include "berth/core/instruments/pod_traces.h"
#include "berth/shell/tracing/trace_exporter.h"

namespace berth::tracing {

// A request that belongs to a trace: its span, which ends with the answer.
struct TracedCall {
  instruments::Span span;
  std::string traceparent;  // the header's value
};
// Null: the request belongs to no trace.
using TracedCallPtr = std::shared_ptr<TracedCall>;

class Tracer {
 public:
  // Operations that have not been performed yet. Beyond it requests are not traced.
  static constexpr std::size_t kOperationsMax = 20'000;

  // `clock` gives the spans' times, and must outlive it. `seed` starts the ids.
  Tracer(std::uint32_t per_million, std::uint64_t seed, const Clock& clock, std::unique_ptr<TraceExporter> exporter);

  // For SchedulerMetrics::traces. Within turns only.
  instruments::PodTraces& pods() { return pods_; }
  // After a turn, on its thread, before its outputs are performed.
  void TakeTurn();

  // What carries out an operation begins: a request, as "POST pods/binding", or work on a thread (kInternal). Null if
  // the operation belongs to no trace.
  TracedCallPtr BeginCall(std::uint64_t operation, std::string_view name,
                          instruments::SpanKind kind = instruments::SpanKind::kClient);
  // It has ended; `error` is empty if it succeeded. A null call is ignored.
  void EndCall(const TracedCallPtr& call, std::string_view error);

  // Spans that were made elsewhere.
  void Add(std::vector<instruments::Span>&& spans) { exporter_->Add(std::move(spans)); }
  // See TraceExporter::Flush.
  std::size_t Flush(Duration limit) { return exporter_->Flush(limit); }

 private:
  const Clock& clock_;
  instruments::PodTraces pods_;
  const std::unique_ptr<TraceExporter> exporter_;
  std::vector<instruments::TracedOperation> taken_;  // of TakeTurn(), kept for its memory
  std::atomic<std::size_t> operation_count_{0};      // of operations_, so that most requests take no lock
  std::mutex mutex_;
  absl::flat_hash_map<std::uint64_t, instruments::TraceContext> operations_;  // guarded by mutex_
  Random ids_;                                                                // guarded by mutex_
};

// The header "traceparent" of the call; nothing if it is null.
template <typename Headers>
void AddTraceParent(const TracedCallPtr& call, Headers& headers) {
  if (call != nullptr) headers.push_back({"traceparent", call->traceparent});
}

}  // namespace berth::tracing
