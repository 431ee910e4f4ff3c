// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_traces.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/utf8.h"
#include "berth/core/instruments/pod_traces.h"
#include "berth/shell/tracing/otlp.h"

namespace berth::app {
namespace {

using instruments::Span;
using instruments::SpanKind;
using instruments::TraceContext;

constexpr std::size_t kTextBytesMax = 300;  // of a client's name and of an error

}  // namespace

QuestionTraces::QuestionTraces(tracing::Tracer& tracer, std::uint32_t per_million, std::uint64_t seed)
    : tracer_(tracer), per_million_(per_million), ids_(seed) {}

void QuestionTraces::Note(const ask::AnsweredQuestion& question) {
  const auto callers = tracing::ParseTraceParent(question.traceparent);
  TraceContext whole;
  std::uint64_t wait = 0;
  std::uint64_t answer = 0;
  {
    const std::lock_guard lock(mutex_);
    const bool is_sampled = callers ? callers->is_sampled : ids_.Below(1'000'000) < per_million_;
    if (!is_sampled) return;
    whole = callers ? callers->parent : TraceContext{ids_.Next() | 1, ids_.Next(), 0};
    whole.span = ids_.Next() | 1;
    wait = ids_.Next() | 1;
    answer = ids_.Next() | 1;
  }
  const auto part = [&](std::uint64_t id, const char* name, Time begin, Time end) {
    return Span{{whole.trace_high, whole.trace_low, id}, whole.span, SpanKind::kInternal, name, begin, end};
  };
  std::vector<Span> spans;
  spans.push_back(part(wait, "wait", question.asked_at, question.begun_at));
  spans.push_back(part(answer, "answer", question.begun_at, question.ended_at));
  Span& all = spans.emplace_back();
  all.context = whole;
  all.parent = callers ? callers->parent.span : 0;
  all.kind = SpanKind::kServer;
  all.name = "question " + std::string(question.question);
  all.begin = question.asked_at;
  all.end = question.ended_at;
  all.attributes = {{"berth.question", std::string(question.question)},
                    {"berth.outcome", std::string(question.outcome)},
                    {"enduser.id", std::string(CutUtf8(question.client, kTextBytesMax))}};
  all.error = CutUtf8(question.error, kTextBytesMax);
  tracer_.Add(std::move(spans));
}

}  // namespace berth::app
