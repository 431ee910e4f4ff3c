// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/tracing/tracer.h"

#include <utility>

#include "berth/base/utf8.h"

namespace berth::tracing {

using instruments::Span;
using instruments::TraceContext;
using instruments::TracedOperation;

namespace {

constexpr std::uint64_t kIdsOfShell = 0x5bd1e995;  // so that ids of the core and the shell differ
constexpr std::size_t kErrorBytesMax = 300;

}  // namespace

Tracer::Tracer(std::uint32_t per_million, std::uint64_t seed, const Clock& clock,
               std::unique_ptr<TraceExporter> exporter)
    : clock_(clock), pods_(per_million, seed), exporter_(std::move(exporter)), ids_(seed ^ kIdsOfShell) {}

void Tracer::TakeTurn() {
  if (!pods_.HasNews()) return;
  std::vector<Span> spans;
  taken_.clear();
  exporter_->CountDropped(pods_.TakeInto(spans, taken_));
  if (!taken_.empty()) {
    const std::lock_guard lock(mutex_);
    for (const TracedOperation& one : taken_) {
      if (operations_.size() == kOperationsMax) operations_.clear();  // their outputs were given up
      operations_.emplace(one.operation, one.parent);
    }
    operation_count_.store(operations_.size(), std::memory_order_release);
  }
  if (!spans.empty()) exporter_->Add(std::move(spans));
}

TracedCallPtr Tracer::BeginCall(std::uint64_t operation, std::string_view name, instruments::SpanKind kind) {
  if (operation_count_.load(std::memory_order_acquire) == 0) return nullptr;
  TracedCallPtr call;
  {
    const std::lock_guard lock(mutex_);
    const auto found = operations_.find(operation);
    if (found == operations_.end()) return nullptr;
    call = std::make_shared<TracedCall>();
    call->span.context = found->second;
    call->span.parent = found->second.span;
    call->span.context.span = ids_.Next() | 1;
    operations_.erase(found);
    operation_count_.store(operations_.size(), std::memory_order_release);
  }
  call->span.kind = kind;
  call->span.name = name;
  call->span.begin = clock_.Now();
  call->traceparent = TraceParent(call->span.context);
  return call;
}

void Tracer::EndCall(const TracedCallPtr& call, std::string_view error) {
  if (call == nullptr) return;
  call->span.end = clock_.Now();
  call->span.error = CutUtf8(error, kErrorBytesMax);
  std::vector<Span> spans;
  spans.push_back(std::move(call->span));
  exporter_->Add(std::move(spans));
}

}  // namespace berth::tracing
