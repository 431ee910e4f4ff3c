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
  out.add_enum(6, span.kind == SpanKind::kClient ? 3 : 1);
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

std::string TraceParent(const instruments::TraceContext& context) {
  return "00-" + HexOf(context.trace_high) + HexOf(context.trace_low) + "-" + HexOf(context.span) + "-01";
}

}  // namespace berth::tracing
