// SPDX-License-Identifier: Apache-2.0
#include "berth/page/event_streams.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>
#include <boost/beast/zlib/inflate_stream.hpp>

#include "berth/base/base64.h"
#include "berth/page/page_testing.h"
#include "berth/shell/serving/gzip.h"
#include "berth/testing/builders.h"

namespace berth::page {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakePod;
using ::testing::Not;

constexpr Time kNow = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};

constexpr Duration kPumpPeriod = milliseconds(200);  // not too soon for five readers

constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;

struct Event {
  std::string name, id, data;
};

// By the rules of Server-Sent Events; comments are left out.
std::vector<Event> EventsIn(const std::string& text) {
  std::vector<Event> events;
  Event event;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) {
      if (!event.name.empty()) events.push_back(std::exchange(event, {}));
    } else if (line.starts_with("event: ")) {
      event.name = line.substr(7);
    } else if (line.starts_with("id: ")) {
      event.id = line.substr(4);
    } else if (line.starts_with("data: ")) {
      event.data = line.substr(6);
    }
  }
  return events;
}

codec::json::object Parsed(const std::string& data) { return codec::ParseJson(data)->as_object(); }

class EventStreamsTest : public ::testing::Test {
 protected:
  EventStreamsTest() {
    fleet_.SetNode(MakeNode("a").Build());
    SetPod("web-1", "");
    (void)fleet_.Frame();
  }

  void SetPod(const std::string& name, const std::string& node) {
    fleet_.SetPod(std::make_shared<const api::Pod>(MakePod(name).Node(node).Build()), kNow);
  }

  std::shared_ptr<FakeReader> Join(const std::string& last,
                                   serving::ContentCoding coding = serving::ContentCoding::kIdentity) {
    auto reader = std::make_shared<FakeReader>();
    EXPECT_TRUE(streams_.Add(reader, last, coding, now_, now_));
    return reader;
  }

  std::string TextPumpedTo(FakeReader& reader) {
    now_ += kPumpPeriod;
    streams_.Pump(now_);
    return reader.Take();
  }
  std::vector<Event> PumpedTo(FakeReader& reader) { return EventsIn(TextPumpedTo(reader)); }

  std::string IdAt(std::uint32_t revision) const { return "7-" + std::to_string(revision) + "-0"; }

  Fleet fleet_{7};
  DecisionFeed feed_;
  EventStreams streams_{fleet_, &feed_};
  Time now_ = kNow;
};

TEST_F(EventStreamsTest, AReaderThatKnowsNothingIsToldToLoad) {
  const auto reader = Join("");
  EXPECT_EQ(reader->sent.Get("Content-Type"), "text/event-stream");
  const auto hello = EventsIn(reader->Take());
  ASSERT_EQ(hello.size(), 1U);
  EXPECT_EQ(hello[0].name, "hello");
  EXPECT_EQ(Parsed(hello[0].data).at("epoch").to_number<int>(), 7);
  const auto first = PumpedTo(*reader);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(Parsed(first[0].data).at("reload").as_bool());
  EXPECT_THAT(PumpedTo(*reader), IsEmpty()) << "nothing has changed";
}

TEST_F(EventStreamsTest, DeltasFollowTheFrameThatAReaderHas) {
  const Fleet::Framed frame = fleet_.Frame();
  FrameModel model;
  model.Apply(FrameReader(frame.bytes));
  const auto reader = Join(IdAt(frame.revision));
  reader->Take();
  SetPod("web-1", "a");
  SetPod("web-2", "");
  const auto events = PumpedTo(*reader);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "fleet");
  EXPECT_EQ(events[0].id, IdAt(fleet_.counts().revision));
  const auto data = Parsed(events[0].data);
  EXPECT_EQ(data.at("base").to_number<std::uint32_t>(), frame.revision);
  model.Apply(FrameReader(*DecodeBase64(std::string(data.at("frame").as_string()))));
  FrameModel whole;
  whole.Apply(FrameReader(fleet_.Frame().bytes));
  EXPECT_EQ(model.pods, whole.pods);
  EXPECT_EQ(model.nodes, whole.nodes);
}

TEST_F(EventStreamsTest, WhoComesBackGetsWhatIsMissingOnce) {
  feed_.Note({}, kNow);
  const auto first = Join(IdAt(fleet_.counts().revision));
  feed_.Note({}, kNow);
  first->Take();
  const auto events = PumpedTo(*first);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "decisions");
  EXPECT_EQ(Parsed(events[0].data).at("decisions").as_array().size(), 2U) << "0 is before the first one";
  feed_.Note({}, kNow);
  SetPod("web-9", "");
  const auto again = Join(events[0].id);
  again->Take();
  const auto missed = PumpedTo(*again);
  ASSERT_EQ(missed.size(), 2U);
  EXPECT_EQ(missed[0].name, "fleet");
  EXPECT_EQ(Parsed(missed[1].data).at("decisions").as_array().size(), 1U);
  const auto other_epoch = Join("8-1-0");
  other_epoch->Take();
  EXPECT_THAT(PumpedTo(*other_epoch).at(0).data, HasSubstr("reload"));
}

TEST_F(EventStreamsTest, ASlowReaderIsPassedOverAndCaughtUp) {
  const auto slow = Join(IdAt(fleet_.counts().revision));
  const auto quick = Join(IdAt(fleet_.counts().revision));
  slow->Take();
  quick->Take();
  slow->buffered = EventStreams::kUnreadBytesMax + 1;
  for (int i = 0; i < 5; ++i) {
    SetPod("p" + std::to_string(i), "a");
    EXPECT_EQ(PumpedTo(*quick).size(), 1U);
    EXPECT_THAT(slow->Take(), IsEmpty());
  }
  slow->buffered = 0;
  const auto events = PumpedTo(*slow);
  ASSERT_EQ(events.size(), 1U) << "all of it in one piece";
  EXPECT_EQ(FrameReader(*DecodeBase64(std::string(Parsed(events[0].data).at("frame").as_string())))
                .Column<std::uint32_t>("pod.id")
                .size(),
            5U);
  slow->buffered = EventStreams::kUnreadBytesMax + 1;
  SetPod("p9", "a");
  (void)PumpedTo(*slow);
  now_ += EventStreams::kBehindMax;
  (void)PumpedTo(*slow);
  EXPECT_TRUE(slow->is_aborted);
  EXPECT_FALSE(quick->is_aborted);
}

// A few large pieces to many readers that have stopped to read would be gigabytes.
TEST_F(EventStreamsTest, WhatAllReadersHaveNotReadIsBounded) {
  std::vector<std::shared_ptr<FakeReader>> slow;
  while (slow.size() + 1 < EventStreams::kReadersMax) slow.push_back(Join(IdAt(fleet_.counts().revision)));
  const auto late = Join(IdAt(fleet_.counts().revision));
  late->Take();
  now_ += seconds(10);
  SetPod("web-2", "a");
  // Each of the others has been written what is more than its share, before it was noticed.
  for (const auto& each : slow) each->buffered = EventStreams::kUnreadBytesOfAllMax / slow.size();
  slow.front()->buffered += EventStreams::kUnreadBytesOfAllMax % slow.size();
  EXPECT_THAT(PumpedTo(*late), IsEmpty());
  slow.front()->buffered = 0;
  now_ += seconds(10);
  EXPECT_THAT(PumpedTo(*late), ::testing::SizeIs(1)) << "it is caught up as soon as there is room";
}

TEST_F(EventStreamsTest, ReloadsHaveAPause) {
  const auto reader = Join(IdAt(fleet_.counts().revision));
  reader->Take();
  fleet_.SetNode(MakeNode("b").Label("one", "1").Build());
  EXPECT_THAT(PumpedTo(*reader).at(0).data, HasSubstr("reload"));
  fleet_.SetNode(MakeNode("c").Label("two", "1").Build());
  EXPECT_THAT(PumpedTo(*reader), IsEmpty());
  now_ += EventStreams::kReloadPause;
  EXPECT_THAT(PumpedTo(*reader).at(0).data, HasSubstr("reload"));
}

TEST_F(EventStreamsTest, EachReaderGetsTheDecisionsThatItLacks) {
  const auto note = [&](const std::string& name) {
    scheduler::Decision decision;
    decision.pod_name = name;
    feed_.Note(decision, kNow);
  };
  const auto names = [](const std::vector<Event>& events) {
    std::vector<std::string> found;
    for (const Event& event : events) {
      if (event.name != "decisions") continue;
      const codec::json::object list = Parsed(event.data);
      for (const auto& decision : list.at("decisions").as_array()) found.emplace_back(decision.at("name").as_string());
    }
    return found;
  };
  const std::string revision = "7-" + std::to_string(fleet_.counts().revision) + "-";
  note("first");
  const auto all = Join(revision + "0");
  const auto same = Join(revision + "0");
  const auto late = Join(revision + "1");
  for (FakeReader* const reader : {all.get(), same.get(), late.get()}) reader->Take();
  note("second");
  EXPECT_THAT(names(PumpedTo(*all)), ::testing::ElementsAre("first", "second"));
  EXPECT_THAT(names(EventsIn(same->Take())), ::testing::ElementsAre("first", "second"));
  EXPECT_THAT(names(EventsIn(late->Take())), ::testing::ElementsAre("second"));
  EXPECT_THAT(names(PumpedTo(*all)), IsEmpty());
}

TEST_F(EventStreamsTest, ManyReadersGetLargerPiecesLessOften) {
  std::vector<std::shared_ptr<FakeReader>> readers;
  for (int i = 0; i < 50; ++i) readers.push_back(Join(IdAt(fleet_.counts().revision)));
  (void)PumpedTo(*readers[7]);
  int pieces = 0;
  for (int i = 0; i < 20; ++i) {
    SetPod("web-" + std::to_string(i), "a");
    pieces += PumpedTo(*readers[7]).empty() ? 0 : 1;
  }
  EXPECT_EQ(pieces, 2) << "in four seconds, and 50 readers";
}

// What a reader makes of the beginning of a stream.
std::string UnpackGzipStream(const std::string& bytes) {
  namespace zlib = boost::beast::zlib;
  EXPECT_TRUE(bytes.starts_with(serving::GzipStreamHead()));
  std::string text(kTextBytesMax, '\0');
  zlib::inflate_stream stream;
  zlib::z_params params;
  params.next_in = bytes.data() + serving::GzipStreamHead().size();
  params.avail_in = bytes.size() - serving::GzipStreamHead().size();
  params.next_out = text.data();
  params.avail_out = text.size();
  boost::beast::error_code ec;
  stream.write(params, zlib::Flush::sync, ec);
  EXPECT_FALSE(ec.failed()) << ec.message();
  text.resize(params.total_out);
  return text;
}

std::string UnpackZstd(const std::string& bytes) {
  std::string text(kTextBytesMax, '\0');
  const std::size_t size = ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  EXPECT_EQ(ZSTD_isError(size), 0U);
  text.resize(size);
  return text;
}

std::string Unpacked(serving::ContentCoding coding, const std::string& bytes) {
  return coding == serving::ContentCoding::kZstd ? UnpackZstd(bytes) : UnpackGzipStream(bytes);
}

// Readers that lack the same get the same bytes, compressed once, and each can read what it has got so far, whichever
// pieces it has had.
TEST_F(EventStreamsTest, PiecesAreCompressedAsTheReaderAcceptsIt) {
  for (const auto coding : {serving::ContentCoding::kZstd, serving::ContentCoding::kGzip}) {
    const auto plain = Join(IdAt(fleet_.counts().revision));
    const auto first = Join(IdAt(fleet_.counts().revision), coding);
    EXPECT_EQ(first->sent.Get("Content-Encoding"), serving::NameOf(coding));
    EXPECT_EQ(first->sent.Get("Vary"), "Accept-Encoding");
    std::string packed = first->Take();
    EXPECT_EQ(Unpacked(coding, packed), plain->Take());
    SetPod("web-1", "a");
    std::string text = TextPumpedTo(*plain);
    std::string piece = first->Take();
    EXPECT_LT(piece.size(), text.size());
    packed += piece;
    const auto late = Join(IdAt(fleet_.counts().revision), coding);
    std::string late_packed = late->Take();
    SetPod("web-1", "");
    text = TextPumpedTo(*plain);
    piece = first->Take();
    EXPECT_EQ(late->Take(), piece) << "it lacks the same";
    EXPECT_TRUE(Unpacked(coding, packed + piece).ends_with(text));
    EXPECT_TRUE(Unpacked(coding, late_packed + piece).ends_with(text));
    streams_.EndAll();
  }
}

// Who was passed over does not stay apart from the others, which would cost a delta of its own for ever.
TEST_F(EventStreamsTest, ReadersComeTogether) {
  const auto quick = Join(IdAt(fleet_.counts().revision));
  const auto slow = Join(IdAt(fleet_.counts().revision));
  slow->buffered = EventStreams::kUnreadBytesMax + 1;
  SetPod("web-1", "a");
  (void)PumpedTo(*quick);
  slow->buffered = 0;
  SetPod("web-2", "a");
  const auto of_quick = PumpedTo(*quick);
  const auto of_slow = EventsIn(slow->Take());
  EXPECT_EQ(of_slow.back().id, of_quick.back().id);
  EXPECT_NE(of_slow.back().data, of_quick.back().data);
  SetPod("web-3", "a");
  const std::string text = TextPumpedTo(*quick);
  EXPECT_EQ(slow->Take(), text);
}

TEST_F(EventStreamsTest, AReloadNamesTheRevisionThatAFrameMustHave) {
  const auto reader = Join("");
  SetPod("web-2", "");
  EXPECT_TRUE(Parsed(PumpedTo(*reader).back().data).at("reload").as_bool());
  EXPECT_EQ(streams_.reload_revision(), fleet_.counts().revision);
}

TEST_F(EventStreamsTest, AnnouncementsReachEveryReaderOnce) {
  streams_.Announce({"numbers", "1"});
  streams_.Announce({"numbers", "2"});
  const auto reader = Join(IdAt(fleet_.counts().revision));
  reader->Take();
  const auto events = PumpedTo(*reader);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].data, "2");
  EXPECT_THAT(PumpedTo(*reader), IsEmpty());
}

TEST_F(EventStreamsTest, SilenceIsBrokenAndReadersAreBounded) {
  const auto reader = Join(IdAt(fleet_.counts().revision));
  reader->Take();
  now_ += EventStreams::kSilenceMax;
  streams_.Pump(now_);
  EXPECT_EQ(reader->Take(), ": alive\n\n");
  const auto joined = Join(IdAt(fleet_.counts().revision));
  joined->Take();
  now_ += milliseconds(200);
  streams_.Pump(now_);
  EXPECT_EQ(joined->Take(), "") << "it has just heard something";
  joined->on_closed();
  std::vector<std::shared_ptr<FakeReader>> others;
  while (others.size() + 1 < EventStreams::kReadersMax) others.push_back(Join(""));
  const auto one_more = std::make_shared<FakeReader>();
  EXPECT_FALSE(streams_.Add(one_more, "", serving::ContentCoding::kIdentity, now_, now_));
  EXPECT_EQ(one_more->sent.status, 0);
  others.front()->on_closed();
  EXPECT_TRUE(streams_.Add(one_more, "", serving::ContentCoding::kIdentity, now_, now_)) << "one has gone";
  streams_.EndAll();
  EXPECT_TRUE(reader->has_ended);
  EXPECT_FALSE(streams_.HasReaders());
}

}  // namespace
}  // namespace berth::page
