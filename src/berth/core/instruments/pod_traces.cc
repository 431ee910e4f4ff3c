// SPDX-License-Identifier: Apache-2.0
#include "berth/core/instruments/pod_traces.h"

#include <bit>
#include <iterator>
#include <optional>
#include <tuple>

#include "berth/base/text_hash.h"
#include "berth/base/utf8.h"
#include "berth/core/instruments/scheduler_metrics.h"

namespace berth::instruments {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

std::optional<unsigned> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

// FNV-1a, which is the same in every process, unlike HashText().
std::uint64_t StableHash(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// A quick hash for sampling, which every pod pays for. It is the same in every process, too.
std::uint64_t SamplingHash(std::string_view text) {
  using text_hash::Fold;
  std::uint64_t hash = text.size();
  for (; text.size() >= 8; text.remove_prefix(8))
    hash = Fold(hash ^ text_hash::kSecond, text_hash::Load<std::uint64_t>(text.data()) ^ text_hash::kThird);
  std::uint64_t rest = 0;
  for (const char c : text) rest = rest << 8 | static_cast<unsigned char>(c);
  return Fold(hash ^ text_hash::kSecond, rest ^ text_hash::kFirst);
}

// The 16 bytes of a UUID; nullopt if the text is none.
std::optional<std::pair<std::uint64_t, std::uint64_t>> ParseUuid(std::string_view text) {
  std::uint64_t halves[2] = {0, 0};
  if (text.size() != 36) return std::nullopt;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const auto digit = HexDigit(text[i]);
    if (!digit) return std::nullopt;
    std::uint64_t& half = halves[digits++ / 16];
    half = half << 4 | *digit;
  }
  return std::pair(halves[0], halves[1]);
}

std::string Cut(std::string_view message) { return std::string(CutUtf8(message, PodTraces::kMessageBytesMax)); }

void AddText(Span& span, std::string_view key, std::string_view value) {
  if (!value.empty()) span.attributes.push_back({key, Cut(value)});
}

}  // namespace

std::size_t Span::Bytes() const {
  std::size_t bytes = sizeof(Span) + name.size() + error.size();
  for (const SpanAttribute& attribute : attributes) {
    bytes += sizeof(SpanAttribute);
    if (const auto* text = std::get_if<std::string>(&attribute.value)) bytes += text->size();
  }
  return bytes;
}

TraceContext RootOf(std::string_view uid) {
  TraceContext root;
  if (const auto uuid = ParseUuid(uid); uuid && (uuid->first | uuid->second) != 0) {
    std::tie(root.trace_high, root.trace_low) = *uuid;
  } else {
    root.trace_high = StableHash(uid, 0xcbf29ce484222325ULL);
    root.trace_low = StableHash(uid, root.trace_high) | 1;
  }
  root.span = Random(root.trace_high ^ std::rotl(root.trace_low, 32)).Next() | 1;
  return root;
}

PodTraces::PodTraces(std::uint32_t per_million, std::uint64_t seed) : per_million_(per_million), ids_(seed) {}

PodTraces::Trace* PodTraces::Find(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : &*found->second;
}

bool PodTraces::Begin(const framework::PodInfo& pod) {
  if (Random(SamplingHash(pod.uid)).Below(kMillion) >= per_million_) return false;
  if (by_uid_.contains(pod.uid)) return true;
  if (traces_.size() == kPodsMax) End(std::string(traces_.front().uid), "given up");
  Trace& trace = traces_.emplace_back();
  trace.uid = pod.uid;
  trace.root = RootOf(pod.uid);
  trace.began = stopwatch_->latest();
  trace.namespace_name = pod.namespace_name();
  trace.name = pod.name;
  by_uid_.emplace(trace.uid, std::prev(traces_.end()));
  return true;
}

void PodTraces::Enter(std::string_view uid, std::string_view place, std::string cause, std::string plugins) {
  Trace* const trace = Find(uid);
  if (trace == nullptr) return;
  EndWait(*trace, cause);
  trace->place = place;
  trace->waits_since = stopwatch_->latest();
  trace->cause = std::move(cause);
  trace->plugins = std::move(plugins);
}

void PodTraces::Pop(std::string_view uid) {
  Trace* const trace = Find(uid);
  if (trace == nullptr) return;
  trace->was_tried = true;
  for (Span& span : trace->held) Add(std::move(span));
  trace->held = {};
  EndWait(*trace, {});
  trace->attempt = NewSpan();
  trace->point = 0;
}

void PodTraces::EndWait(Trace& trace, std::string_view ended_by) {
  if (trace.place.empty()) return;
  Span span{{trace.root.trace_high, trace.root.trace_low, NewSpan()}, trace.root.span};
  span.name = trace.place;
  span.begin = trace.waits_since;
  span.end = stopwatch_->latest();
  AddText(span, "berth.queue.cause", trace.cause);
  AddText(span, "berth.queue.plugins", trace.plugins);
  AddText(span, "berth.queue.ended_by", ended_by);
  trace.place = {};
  if (trace.was_tried) {
    Add(std::move(span));
  } else if (trace.held.size() < kHeldMax) {
    trace.held.push_back(std::move(span));
  }
}

bool PodTraces::BeginFocus(std::string_view uid) {
  if (focus_ != nullptr) return false;
  focus_ = Find(uid);
  return focus_ != nullptr;
}

void PodTraces::NotePoint(Point point, framework::Code code, Duration took) {
  if (focus_ == nullptr || took <= Duration::zero()) return;
  const bool has_operations = point == Point::kPreBind || point == Point::kBind;
  const std::uint64_t chosen = has_operations ? std::exchange(focus_->point, 0) : 0;
  NoteChild(*focus_, chosen != 0 ? chosen : NewSpan(), ToString(point), code, took);
}

void PodTraces::NotePermitWait(framework::Code code, Duration took) {
  if (focus_ != nullptr) NoteChild(*focus_, NewSpan(), "WaitOnPermit", code, took);
}

void PodTraces::NoteChild(Trace& trace, std::uint64_t id, std::string_view name, framework::Code code, Duration took) {
  Span span{{trace.root.trace_high, trace.root.trace_low, id}, trace.attempt != 0 ? trace.attempt : trace.root.span};
  span.name = name;
  span.end = stopwatch_->latest();
  span.begin = span.end - took;
  span.attributes.push_back({"berth.status", std::string(framework::ToString(code))});
  if (code == framework::Code::kError) span.error = "a plugin failed";
  Add(std::move(span));
}

void PodTraces::AddOperation(std::string_view uid, std::uint64_t operation, bool is_in_point) {
  Trace* const trace = Find(uid);
  if (trace == nullptr) return;
  if (operations_.size() == kSpansMax) return;
  if (is_in_point && trace->point == 0) trace->point = NewSpan();
  TraceContext parent = trace->root;
  if (trace->attempt != 0) parent.span = trace->attempt;
  if (is_in_point) parent.span = trace->point;
  operations_.push_back({operation, parent});
}

void PodTraces::EndAttempt(std::string_view uid, const AttemptEnd& end) {
  Trace* const trace = Find(uid);
  if (trace == nullptr || trace->attempt == 0) return;
  Span span{{trace->root.trace_high, trace->root.trace_low, std::exchange(trace->attempt, 0)}, trace->root.span};
  trace->point = 0;
  span.name = "attempt";
  span.begin = end.began;
  span.end = stopwatch_->latest();
  span.attributes.push_back({"berth.attempt", std::int64_t{end.number}});
  AddText(span, "berth.result", end.result);
  AddText(span, "berth.profile", end.profile);
  AddText(span, "berth.message", end.message);
  AddText(span, "k8s.node.name", end.node_name);
  if (end.result == "error") span.error = Cut(end.message);
  Add(std::move(span));
}

void PodTraces::End(std::string_view uid, std::string_view result, std::string_view node_name) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return;
  const Traces::iterator at = found->second;
  EndWait(*at, result);
  Span span{at->root};
  span.name = "schedule pod";
  span.begin = at->began;
  span.end = stopwatch_->latest();
  AddText(span, "k8s.namespace.name", at->namespace_name);
  AddText(span, "k8s.pod.name", at->name);
  AddText(span, "k8s.pod.uid", at->uid);
  AddText(span, "k8s.node.name", node_name);
  AddText(span, "berth.result", result);
  if (at->was_tried) Add(std::move(span));
  if (focus_ == &*at) focus_ = nullptr;
  by_uid_.erase(found);
  traces_.erase(at);
}

void PodTraces::Add(Span&& span) {
  if (spans_.size() == kSpansMax) {
    ++dropped_;
    return;
  }
  spans_.push_back(std::move(span));
}

std::uint64_t PodTraces::TakeInto(std::vector<Span>& spans, std::vector<TracedOperation>& operations) {
  for (Span& span : spans_) spans.push_back(std::move(span));
  spans_.clear();
  operations.insert(operations.end(), operations_.begin(), operations_.end());
  operations_.clear();
  return std::exchange(dropped_, 0);
}

}  // namespace berth::instruments
