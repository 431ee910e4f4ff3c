// SPDX-License-Identifier: Apache-2.0
#include "berth/page/event_streams.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/base64.h"
#include "berth/page/page_testing.h"
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

  std::shared_ptr<FakeReader> Join(const std::string& last) {
    auto reader = std::make_shared<FakeReader>();
    EXPECT_TRUE(streams_.Add(reader, last, now_, now_));
    return reader;
  }

  std::vector<Event> PumpedTo(FakeReader& reader) {
    now_ += milliseconds(100);
    streams_.Pump(now_);
    return EventsIn(reader.Take());
  }

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
  EXPECT_EQ(pieces, 4) << "in two seconds, and 50 readers";
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
  std::vector<std::shared_ptr<FakeReader>> others;
  while (others.size() + 1 < EventStreams::kReadersMax) others.push_back(Join(""));
  const auto one_more = std::make_shared<FakeReader>();
  EXPECT_FALSE(streams_.Add(one_more, "", now_, now_));
  EXPECT_EQ(one_more->sent.status, 0);
  others.front()->on_closed();
  EXPECT_TRUE(streams_.Add(one_more, "", now_, now_)) << "one has gone";
  streams_.EndAll();
  EXPECT_TRUE(reader->has_ended);
  EXPECT_FALSE(streams_.HasReaders());
}

}  // namespace
}  // namespace berth::page
