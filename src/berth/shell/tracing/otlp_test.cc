// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/tracing/otlp.h"

#include <string>

#include <gtest/gtest.h>

#include "berth/codec/protobuf_reader.h"

namespace berth::tracing {
namespace {

using instruments::Span;

Span Example() {
  Span span{{0x0af7651916cd43ddULL, 0x8448eb211c80319cULL, 0xb7ad6b7169203331ULL}, 0x00f067aa0ba902b7ULL};
  span.kind = instruments::SpanKind::kClient;
  span.name = "POST pods/binding";
  span.begin = Time(std::chrono::microseconds(1'000'000'000'000'001));
  span.end = span.begin + std::chrono::milliseconds(2);
  span.attributes = {{"k8s.pod.name", std::string("web-1")}, {"berth.attempt", std::int64_t{3}}};
  span.error = "no";
  return span;
}

// The bytes of the one span in a request.
std::string OnlySpan(const std::string& request) {
  codec::ProtobufReader root(request);
  EXPECT_TRUE(root.Next());
  codec::ProtobufReader resource_spans(root.bytes());
  while (resource_spans.Next() && resource_spans.number() != 2) continue;
  codec::ProtobufReader scope_spans(resource_spans.bytes());
  while (scope_spans.Next() && scope_spans.number() != 2) continue;
  return std::string(scope_spans.bytes());
}

TEST(OtlpTest, HasEachField) {
  const std::vector<Span> spans = {Example()};
  const std::string span = OnlySpan(EncodeTraces({{"service.name", "berth"}}, "1.2.3", spans, std::chrono::seconds(1)));
  std::string seen;
  codec::ProtobufReader reader(span);
  while (reader.Next()) {
    seen += std::to_string(reader.number()) + " ";
    if (reader.number() == 1) {
      EXPECT_EQ(reader.bytes(), "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c");
    } else if (reader.number() == 2) {
      EXPECT_EQ(reader.bytes(), "\xb7\xad\x6b\x71\x69\x20\x33\x31");
    } else if (reader.number() == 4) {
      EXPECT_EQ(reader.bytes(), std::string("\x00\xf0\x67\xaa\x0b\xa9\x02\xb7", 8));
    } else if (reader.number() == 5) {
      EXPECT_EQ(reader.bytes(), "POST pods/binding");
    } else if (reader.number() == 6) {
      EXPECT_EQ(reader.value(), 3U);
    }
  }
  EXPECT_FALSE(reader.is_malformed());
  EXPECT_EQ(seen, "1 2 4 5 6 7 8 9 9 15 16 ");
  // Begin and end, as nanoseconds of the time of day.
  const auto fixed64 = [](std::uint64_t number) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i));
    return bytes;
  };
  EXPECT_NE(span.find("\x39" + fixed64(1'000'000'001'000'001'000ULL)), std::string::npos);
  EXPECT_NE(span.find("\x41" + fixed64(1'000'000'001'002'001'000ULL)), std::string::npos);
}

TEST(OtlpTest, LeavesOutWhatIsNotThere) {
  Span span = Example();
  span.parent = 0;
  span.error.clear();
  span.attributes.clear();
  span.kind = instruments::SpanKind::kInternal;
  const std::vector<Span> spans = {span};
  const std::string bytes = OnlySpan(EncodeTraces({}, "", spans, Duration{0}));
  std::string seen;
  for (codec::ProtobufReader reader(bytes); reader.Next();) seen += std::to_string(reader.number()) + " ";
  EXPECT_EQ(seen, "1 2 5 6 7 8 16 ");
}

TEST(OtlpTest, ReadsTheAnswer) {
  EXPECT_EQ(DecodeTracesResponse("")->rejected, 0U);
  const auto partial = DecodeTracesResponse(std::string("\x0a\x08\x08\x05\x12\x04", 6) + "full");
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->rejected, 5U);
  EXPECT_EQ(partial->message, "full");
  EXPECT_FALSE(DecodeTracesResponse("\x0a\x7f"));
  EXPECT_FALSE(DecodeTracesResponse("<html>"));
}

TEST(OtlpTest, TraceParentHeader) {
  EXPECT_EQ(TraceParent(Example().context), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
}

TEST(OtlpTest, CallersTrace) {
  const auto said = ParseTraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->parent, Example().context);
  EXPECT_TRUE(said->is_sampled);
  EXPECT_FALSE(ParseTraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")->is_sampled);
  EXPECT_TRUE(ParseTraceParent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes-later"));
  for (const char* const wrong : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                                  "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                  "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                                  "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                                  "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                                  "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
    EXPECT_FALSE(ParseTraceParent(wrong)) << wrong;
}

}  // namespace
}  // namespace berth::tracing
