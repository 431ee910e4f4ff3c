// SPDX-License-Identifier: Apache-2.0
// PodTraces: spans of the scheduling of sampled pods, from "added" to "bound", as OpenTelemetry means them. The core
// tells it what happens, and the shell takes finished spans as values after each turn and exports them (shell/tracing,
// docs/traces.md). Within turns only. No decision depends on it, and a core without it does no work for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/core/instruments/stopwatch.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth::instruments {

enum class Point : std::uint8_t;

// Identifies a span in a trace. A trace's id is made of the pod's UID, so that every process makes the same one.
struct TraceContext {
  std::uint64_t trace_high = 0;  // the first eight bytes of the trace's id; both halves 0: no trace
  std::uint64_t trace_low = 0;
  std::uint64_t span = 0;

  bool IsSet() const { return (trace_high | trace_low) != 0; }
  bool operator==(const TraceContext&) const = default;
};

enum class SpanKind : std::uint8_t { kInternal, kServer, kClient };  // in OpenTelemetry's order, which begins with 1

struct SpanAttribute {
  std::string_view key;  // of static storage
  std::variant<std::string, std::int64_t> value;
};

// A finished span. Times are those of Clock::Now().
struct Span {
  TraceContext context;
  std::uint64_t parent = 0;  // 0: none
  SpanKind kind = SpanKind::kInternal;
  std::string name{};
  Time begin{};
  Time end{};
  std::vector<SpanAttribute> attributes{};
  std::string error{};  // empty: it succeeded

  // Approximate size in memory.
  std::size_t Bytes() const;
};

// A write, a read or a request to an extender that belongs to a trace.
struct TracedOperation {
  std::uint64_t operation = 0;
  TraceContext parent;
};

// How an attempt ended.
struct AttemptEnd {
  std::string_view result;  // "scheduled", "unschedulable", "error", "put off" or "dropped"
  std::string_view message{};
  std::string_view node_name{};
  std::string_view profile{};
  Time began{};  // stopwatch time of the pop
  std::int32_t number = 0;
};

class PodTraces {
 public:
  // Pods whose traces are open at once. Beyond it the one that was begun first is given up.
  static constexpr std::size_t kPodsMax = 10'000;
  // Spans and operations between two calls of TakeInto(). Further ones are dropped.
  static constexpr std::size_t kSpansMax = 20'000;
  // Bytes of a message in an attribute. The rest is cut.
  static constexpr std::size_t kMessageBytesMax = 1024;
  // Waits of a pod before its first attempt that are kept.
  static constexpr std::size_t kHeldMax = 16;

  // Of a million pods, `per_million` are traced; which ones depends on their UIDs alone. `seed` starts the ids of
  // spans.
  PodTraces(std::uint32_t per_million, std::uint64_t seed);
  PodTraces(const PodTraces&) = delete;
  PodTraces& operator=(const PodTraces&) = delete;

  // The core's stopwatch. To be called before the first pod is added; `stopwatch` must outlive all calls but
  // TakeInto().
  void SetStopwatch(const Stopwatch& stopwatch) { stopwatch_ = &stopwatch; }

  // --- from the queue

  // The queue has a record of this pod from now on. Returns whether it is traced. A trace that is open goes on.
  bool Begin(const framework::PodInfo& pod);
  // The pod waits in `place` from now on. `cause` brought it there and ended the wait before it. `plugins` have refused
  // it, separated by commas.
  void Enter(std::string_view uid, std::string_view place, std::string cause, std::string plugins);
  // An attempt begins.
  void Pop(std::string_view uid);

  // --- from the scheduling and binding cycles; without effect if the pod is not traced

  // Points are noted for this pod until focus ends. Returns false if it is not traced, or has the focus already.
  bool BeginFocus(std::string_view uid);
  void EndFocus() { focus_ = nullptr; }
  // An extension point of the pod that has the focus ended at the stopwatch's latest time. One that took less than a
  // microsecond is left out.
  void NotePoint(Point point, framework::Code code, Duration took);
  void NotePermitWait(framework::Code code, Duration took);
  // An operation of the pod goes out. `is_in_point`: it belongs to the point that is noted next; otherwise to the
  // attempt.
  void AddOperation(std::string_view uid, std::uint64_t operation, bool is_in_point);
  void EndAttempt(std::string_view uid, const AttemptEnd& end);
  // The last span, that of the whole trace. `result`: "bound", or why there is no more to trace. Of a pod that was
  // never tried nothing comes out.
  void End(std::string_view uid, std::string_view result, std::string_view node_name = {});

  // --- from the shell, after a turn

  // Whether TakeInto() would take anything.
  bool HasNews() const { return !spans_.empty() || !operations_.empty() || dropped_ > 0; }
  // Appends spans and operations. Returns the number of spans that were dropped since the last call.
  std::uint64_t TakeInto(std::vector<Span>& spans, std::vector<TracedOperation>& operations);
  std::size_t open_count() const { return by_uid_.size(); }

 private:
  struct Trace {
    std::string uid;
    TraceContext root;
    Time began{};
    std::string namespace_name;
    std::string name;
    // The wait under way; no place: none.
    std::string_view place;
    Time waits_since{};
    std::string cause;
    std::string plugins;
    // Waits before the first attempt. A standby makes no attempts, and exports nothing.
    std::vector<Span> held;
    bool was_tried = false;
    std::uint64_t attempt = 0;  // the span of the attempt under way; 0: none
    std::uint64_t point = 0;    // the span of the next PreBind or Bind; 0: not chosen yet
  };
  using Traces = std::list<Trace>;

  Trace* Find(std::string_view uid);
  std::uint64_t NewSpan() { return ids_.Next() | 1; }
  void EndWait(Trace& trace, std::string_view ended_by);
  void NoteChild(Trace& trace, std::uint64_t id, std::string_view name, framework::Code code, Duration took);
  void Add(Span&& span);

  const std::uint32_t per_million_;
  Random ids_;
  const Stopwatch* stopwatch_ = nullptr;
  Traces traces_;                                                   // oldest first
  absl::flat_hash_map<std::string_view, Traces::iterator> by_uid_;  // keys are Trace::uid
  Trace* focus_ = nullptr;
  std::vector<Span> spans_;
  std::vector<TracedOperation> operations_;
  std::uint64_t dropped_ = 0;
};

// The id of the pod's trace, with its first span: the bytes of the UID, or of a hash if the UID is no UUID.
TraceContext RootOf(std::string_view uid);

}  // namespace berth::instruments
