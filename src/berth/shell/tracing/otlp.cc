// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/tracing/otlp.h"

#include <algorithm>
#include <chrono>
#include <variant>

#include <protozero/pbf_writer.hpp>

#include "berth/codec/protobuf_reader.h"

namespace berth::tracing {
namespace {

using instruments::Span;
using instruments::SpanKind;
using protozero::pbf_writer;

constexpr std::uint32_t kSampledFlag = 1;  // of W3C Trace Context
constexpr std::int32_t kStatusError = 2;

std::string BigEndian(std::uint64_t number) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (56 - 8 * i));
  return bytes;
}

std::string HexOf(std::uint64_t number) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = kDigits[(number >> (60 - 4 * i)) & 15];
  return text;
}

// Of lower-case digits alone.
std::optional<std::uint64_t> HexIn(std::string_view text) {
  std::uint64_t number = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    number = number << 4 | static_cast<std::uint64_t>(digit);
  }
  return number;
}

std::uint64_t UnixNanoseconds(Time time) {
  const auto since = std::chrono::nanoseconds(time.time_since_epoch()).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(since, 0));
}

template <typename Fill>
void AddAttribute(pbf_writer& to, protozero::pbf_tag_type number, std::string_view key, Fill fill) {
  pbf_writer pair(to, number);
  pair.add_string(1, key.data(), key.size());
  pbf_writer any(pair, 2);
  fill(any);
}

void AddTextAttribute(pbf_writer& to, protozero::pbf_tag_type number, std::string_view key, std::string_view value) {
  AddAttribute(to, number, key, [&](pbf_writer& any) { any.add_string(1, value.data(), value.size()); });
}

void AddSpan(pbf_writer& scope_spans, const Span& span, Duration wall_ahead) {
  pbf_writer out(scope_spans, 2);
  out.add_bytes(1, BigEndian(span.context.trace_high) + BigEndian(span.context.trace_low));
  out.add_bytes(2, BigEndian(span.context.span));
  if (span.parent != 0) out.add_bytes(4, BigEndian(span.parent));
  out.add_string(5, span.name);
  out.add_enum(6, 1 + static_cast<std::int32_t>(span.kind));
  out.add_fixed64(7, UnixNanoseconds(span.begin + wall_ahead));
  out.add_fixed64(8, UnixNanoseconds(std::max(span.end, span.begin) + wall_ahead));
  for (const instruments::SpanAttribute& attribute : span.attributes) {
    if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      AddTextAttribute(out, 9, attribute.key, *text);
    } else {
      AddAttribute(out, 9, attribute.key,
                   [&](pbf_writer& any) { any.add_int64(3, std::get<std::int64_t>(attribute.value)); });
    }
  }
  if (!span.error.empty()) {
    pbf_writer status(out, 15);
    status.add_string(2, span.error);
    status.add_enum(3, kStatusError);
  }
  out.add_fixed32(16, kSampledFlag);
}

}  // namespace

std::string EncodeTraces(const Resource& resource, std::string_view version, std::span<const Span> spans,
                         Duration wall_ahead) {
  std::string bytes;
  pbf_writer request(bytes);
  pbf_writer resource_spans(request, 1);
  {
    pbf_writer out(resource_spans, 1);
    for (const auto& [key, value] : resource) AddTextAttribute(out, 1, key, value);
  }
  pbf_writer scope_spans(resource_spans, 2);
  {
    pbf_writer scope(scope_spans, 1);
    scope.add_string(1, "berth");
    scope.add_string(2, version.data(), version.size());
  }
  for (const Span& span : spans) AddSpan(scope_spans, span, wall_ahead);
  scope_spans.commit();
  resource_spans.commit();
  return bytes;
}

std::optional<PartialSuccess> DecodeTracesResponse(std::string_view bytes) {
  PartialSuccess result;
  codec::ProtobufReader response(bytes);
  while (response.Next()) {
    if (response.number() != 1 || !response.is_bytes()) continue;
    codec::ProtobufReader partial(response.bytes());
    while (partial.Next()) {
      if (partial.number() == 1 && partial.is_number()) result.rejected = partial.value();
      if (partial.number() == 2 && partial.is_bytes()) result.message = partial.bytes();
    }
    if (partial.is_malformed()) return std::nullopt;
  }
  if (response.is_malformed()) return std::nullopt;
  return result;
}

std::optional<CallersTrace> ParseTraceParent(std::string_view header) {
  // VERSION-TRACE-PARENT-FLAGS; later versions may have more behind a further dash.
  constexpr std::size_t kLength = 55;
  if (header.size() < kLength || (header.size() > kLength && header[kLength] != '-')) return std::nullopt;
  if (header[2] != '-' || header[35] != '-' || header[52] != '-') return std::nullopt;
  const auto version = HexIn(header.substr(0, 2));
  const auto high = HexIn(header.substr(3, 16));
  const auto low = HexIn(header.substr(19, 16));
  const auto parent = HexIn(header.substr(36, 16));
  const auto flags = HexIn(header.substr(53, 2));
  if (!version || *version == 0xff || (*version == 0 && header.size() > kLength)) return std::nullopt;
  if (!high || !low || !parent || !flags || (*high | *low) == 0 || *parent == 0) return std::nullopt;
  return CallersTrace{{*high, *low, *parent}, (*flags & 1) != 0};
}

std::string TraceParent(const instruments::TraceContext& context) {
  return "00-" + HexOf(context.trace_high) + HexOf(context.trace_low) + "-" + HexOf(context.span) + "-01";
}

}  // namespace berth::tracing
