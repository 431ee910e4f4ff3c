// SPDX-License-Identifier: Apache-2.0
// Lists and watches in each form that they may have on the wire: JSON or protobuf, a list or the beginning of a watch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/test_wire.h"

namespace berth::client {
namespace {

using namespace test_wire;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class InformerWireTest : public ::testing::Test {
 protected:
  void Make(Form form, ReflectorOptions base = {}) {
    RestClientOptions rest_options;
    if (form.is_protobuf) SetContentTypes(rest_options, kProtobuf, "");
    rest = std::make_unique<RestClient>(loop, transport, nullptr, 1, rest_options);
    Informer<Thing>::Options options;
    static_cast<ReflectorOptions&>(options) = base;
    options.name = "things";
    options.path = "/api/v1/things";
    options.streams_list = form.streams_list;
    options.decode = DecodeJson;
    options.decode_protobuf = DecodeProtobuf;
    Informer<Thing>::Handler handler;
    handler.on_add = [this](auto o) { Saw("add " + o->name + ' ' + o->value); };
    handler.on_update = [this](auto before, auto o) {
      Saw("update " + o->name + ' ' + (before ? before->value : "?") + '>' + o->value);
    };
    handler.on_delete = [this](auto o) { Saw("delete " + o->name + ' ' + o->value); };
    if (!base.keeps_objects) {
      handler.on_gone = [this](const Reflector::Identity& gone) {
        Saw("gone " + std::string(gone.namespace_name) + '/' + std::string(gone.name) + ' ' + std::string(gone.uid));
      };
    }
    handler.on_synced = [this] { Saw("synced"); };
    handler.on_failure = [this](const Error& e) { failures.push_back(e.message); };
    informer = std::make_unique<Informer<Thing>>(*rest, std::move(options), std::move(handler));
    informer->Start();
    loop.Run();
  }
  void Saw(std::string what) {
    seen.push_back(std::move(what));
    if (on_seen) on_seen();
  }
  FakeTransport::FakeStream& Stream() { return *transport.LastStream(); }
  void Bytes(std::string_view bytes) {
    Stream().Bytes(bytes);
    loop.Run();
  }
  std::string LastTarget() { return transport.all_targets.back(); }
  std::string_view Accept() { return FindHeader(Stream().request, "Accept"); }
  std::vector<std::string> Take() { return std::exchange(seen, {}); }

  FakeLoop loop;
  FakeTransport transport;
  std::unique_ptr<RestClient> rest;
  std::vector<std::string> seen;
  std::vector<std::string> failures;
  std::function<void()> on_seen;
  std::unique_ptr<Informer<Thing>> informer;
};

TEST_F(InformerWireTest, DecodesAProtobufListWhileItArrives) {
  Make({.is_protobuf = true}, {.streamed_page_size = 2});
  EXPECT_EQ(LastTarget(), "WATCH /api/v1/things?limit=2");
  EXPECT_EQ(Accept(), "application/vnd.kubernetes.protobuf, application/json");
  Stream().Open(kProtobuf);
  const std::string page = ListProtobuf("10", {{"a", "1"}, {"b", "2"}}, "token/1");
  Bytes(page.substr(0, page.size() - 20));
  EXPECT_THAT(Take(), ElementsAre("add a x")) << "while the rest is on its way";
  Bytes(page.substr(page.size() - 20));
  Stream().End();
  EXPECT_EQ(LastTarget(), "WATCH /api/v1/things?limit=2&continue=token%2F1");
  Stream().Open(kProtobuf);
  Bytes(ListProtobuf("10", {{"c", "3"}}));
  Stream().End();
  EXPECT_THAT(Take(), ElementsAre("add b x", "add c x", "synced"));
  EXPECT_THAT(LastTarget(), HasSubstr("watch=true&allowWatchBookmarks=true&resourceVersion=10&"));
  EXPECT_EQ(Accept(), "application/vnd.kubernetes.protobuf;stream=watch, application/json");
  EXPECT_EQ(informer->Stats().pages, 2U);

  Stream().Open(kProtobufWatch);
  const Form form{.is_protobuf = true};
  Bytes(form.Event("MODIFIED", {"a", "11", "y"}) + form.Event("DELETED", {"b", "12"}) + form.Bookmark("13", false));
  EXPECT_THAT(Take(), ElementsAre("update a x>y", "delete b x"));
  Bytes(form.Gone());
  EXPECT_EQ(LastTarget(), "WATCH /api/v1/things?limit=2");
}

TEST_F(InformerWireTest, StreamsItsListAsAWatch) {
  for (const bool is_protobuf : {false, true}) {
    const Form form{.is_protobuf = is_protobuf, .streams_list = true};
    Make(form);
    EXPECT_THAT(LastTarget(), ::testing::MatchesRegex("WATCH /api/v1/things\\?watch=true&allowWatchBookmarks=true&"
                                                      "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                                                      "timeoutSeconds=[0-9]+"));
    Stream().Open(form.WatchType());
    Bytes(form.Event("ADDED", {"b", "7"}) + form.Event("ADDED", {"a", "5"}) + form.Bookmark("8", false));
    EXPECT_THAT(Take(), ElementsAre("add b x", "add a x"));
    EXPECT_FALSE(informer->HasSynced());
    Bytes(form.Bookmark("9", true));
    EXPECT_THAT(Take(), ElementsAre("synced"));
    Bytes(form.Event("MODIFIED", {"a", "10", "y"}));
    EXPECT_THAT(Take(), ElementsAre("update a x>y")) << "the same watch goes on";
    EXPECT_EQ(informer->Stats().streamed_lists, 1U);
    EXPECT_EQ(informer->Stats().lists, 1U);
    Stream().End(Error{ErrorCode::kUnavailable, "lost"});
    loop.Advance(seconds(2));
    EXPECT_THAT(LastTarget(), HasSubstr("&resourceVersion=10&")) << "no list for a lost connection";
    EXPECT_THAT(failures, ElementsAre("while watching things: lost"));
    failures.clear();
    informer->Stop();
  }
}

TEST_F(InformerWireTest, ReportsTheDifferencesWhenAStreamedListBreaksOff) {
  for (const bool is_protobuf : {false, true}) {
    const Form form{.is_protobuf = is_protobuf, .streams_list = true};
    Make(form);
    Stream().Open(form.WatchType());
    Bytes(form.Event("ADDED", {"a", "5"}) + form.Event("ADDED", {"b", "6"}) + form.Event("ADDED", {"c", "7"}) +
          form.Bookmark("9", true));
    EXPECT_THAT(Take(), ElementsAre("add a x", "add b x", "add c x", "synced"));
    Bytes(form.Gone());
    EXPECT_THAT(LastTarget(), HasSubstr("sendInitialEvents=true"));
    Stream().Open(form.WatchType());
    Bytes(form.Event("ADDED", {"a", "5"}) + form.Event("ADDED", {"b", "16", "y"}));
    EXPECT_THAT(Take(), ElementsAre("update b x>y"));
    Stream().End(Error{ErrorCode::kUnavailable, "lost"});
    EXPECT_THAT(Take(), IsEmpty()) << "c may still be there";
    loop.Advance(seconds(2));
    EXPECT_THAT(LastTarget(), HasSubstr("sendInitialEvents=true"));
    Stream().Open(form.WatchType());
    // Changes may be reported before the list is whole.
    Bytes(form.Event("ADDED", {"b", "16", "y"}) + form.Event("ADDED", {"d", "17"}) +
          form.Event("DELETED", {"b", "18", "y"}) + form.Bookmark("19", true));
    EXPECT_THAT(Take(), ElementsAre("add d x", "delete b y", "delete a x", "delete c x"));
    informer->Stop();
  }
}

// A replica that lags behind, or a cache before the API server, tells an older state.
TEST_F(InformerWireTest, AStreamedListDoesNotGoBackInTime) {
  for (const bool is_protobuf : {false, true}) {
    const Form form{.is_protobuf = is_protobuf, .streams_list = true};
    Make(form);
    Stream().Open(form.WatchType());
    Bytes(form.Event("ADDED", {"a", "5"}) + form.Event("ADDED", {"b", "6"}) + form.Bookmark("9", true));
    Bytes(form.Event("MODIFIED", {"a", "10", "bound"}) + form.Event("ADDED", {"c", "11"}));
    EXPECT_THAT(Take(), ElementsAre("add a x", "add b x", "synced", "update a x>bound", "add c x"));
    Bytes(form.Gone());
    EXPECT_THAT(LastTarget(), HasSubstr("&resourceVersionMatch=NotOlderThan&resourceVersion=11&"));
    Stream().Open(form.WatchType());
    Bytes(form.Event("ADDED", {"a", "5"}) + form.Event("ADDED", {"b", "6"}) + form.Bookmark("9", true));
    EXPECT_THAT(Take(), IsEmpty()) << "a is bound, and c is there";
    EXPECT_THAT(failures.back(), HasSubstr("the list is of resourceVersion 9, but 11 has been seen"));
    loop.Advance(seconds(30));
    // The answer of a kube-apiserver that is asked for a newer state than it has.
    Stream().Head(504, R"({"kind":"Status","message":"Too large resource version: 11, current: 9","code":504})");
    Stream().End();
    EXPECT_THAT(failures.back(), HasSubstr("Too large resource version"));
    loop.Advance(seconds(30));
    EXPECT_THAT(LastTarget(), HasSubstr("&resourceVersion=11&"));
    Stream().Open(form.WatchType());
    Bytes(form.Event("ADDED", {"a", "10", "bound"}) + form.Event("ADDED", {"c", "11"}) + form.Bookmark("12", true));
    EXPECT_THAT(Take(), ElementsAre("delete b x"));
    failures.clear();
    informer->Stop();
  }
}

// A new leader must not ask for its own version, which is old: a replica that lags could answer with it.
TEST_F(InformerWireTest, ARefreshAsksForTheLatestStateUntilItHasIt) {
  Make({.streams_list = true});
  const Form form{.streams_list = true};
  Stream().Open(form.WatchType());
  Bytes(form.Event("ADDED", {"a", "5"}) + form.Bookmark("9", true));
  bool is_fresh = false;
  informer->Refresh([&] { is_fresh = true; });
  loop.Run();
  EXPECT_THAT(LastTarget(), AllOf(HasSubstr("sendInitialEvents=true"), Not(HasSubstr("resourceVersion="))));
  Stream().Head(503, "");
  Stream().End();
  loop.Advance(seconds(30));
  EXPECT_THAT(LastTarget(), AllOf(HasSubstr("sendInitialEvents=true"), Not(HasSubstr("resourceVersion="))));
  Stream().Open(form.WatchType());
  Bytes(form.Event("ADDED", {"a", "10", "bound"}) + form.Bookmark("12", true));
  EXPECT_TRUE(is_fresh);
  Bytes(form.Gone());
  EXPECT_THAT(LastTarget(), HasSubstr("&resourceVersion=12&"));
}

TEST_F(InformerWireTest, AStreamedListBelievesThatTheClusterWasSetBackAfterAWhile) {
  const Form form{.streams_list = true};
  Make(form);
  Stream().Open(form.WatchType());
  Bytes(form.Event("ADDED", {"a", "500", "bound"}) + form.Bookmark("1000", true));
  Bytes(form.Gone());
  int lists = 0;
  for (; lists < 20 && LastTarget().find("&resourceVersion=1000&") != std::string::npos; ++lists) {
    Stream().Head(504, "");
    Stream().End();
    loop.Advance(seconds(30));
  }
  EXPECT_EQ(lists, 5);
  Take();
  Stream().Open(form.WatchType());
  Bytes(form.Event("ADDED", {"a", "5"}) + form.Bookmark("9", true));
  EXPECT_THAT(Take(), ElementsAre("update a bound>x"));
  Bytes(form.Gone());
  EXPECT_THAT(LastTarget(), HasSubstr("&resourceVersion=9&")) << "what has been seen is of now";
}

TEST_F(InformerWireTest, ListsInPagesWhereTheServerDoesNotStream) {
  struct Case {
    const char* name;
    std::function<void(FakeTransport::FakeStream&)> answer;
    bool is_remembered;
  };
  const auto refuse = [](int status) {
    return [status](FakeTransport::FakeStream& stream) {
      stream.Head(status, R"({"kind":"Status","message":"sendInitialEvents is forbidden"})");
      stream.End();
    };
  };
  const Form form{.is_protobuf = false, .streams_list = true};
  const Case cases[] = {
      {"400", refuse(400), true},
      {"403", refuse(403), false},
      {"405", refuse(405), true},
      {"415", refuse(415), true},
      {"422", refuse(422), true},
      {"an early end",
       [&](FakeTransport::FakeStream& stream) {
         stream.Open();
         stream.Bytes(form.Event("ADDED", {"a", "5"}));
         stream.End();
       },
       true},
      {"silence",
       [&](FakeTransport::FakeStream& stream) {
         stream.Open();
         stream.Bytes(form.Event("ADDED", {"a", "5"}));
         loop.Advance(seconds(61));
       },
       true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Make(form);
    c.answer(Stream());
    loop.Run();
    EXPECT_EQ(LastTarget(), "GET /api/v1/things?limit=500");
    transport.Next()->Answer(200, ListJson("10", {{"a", "5"}}));
    loop.Run();
    EXPECT_THAT(Take(), ElementsAre("add a x", "synced")) << "once, whatever was told before";
    EXPECT_THAT(failures, IsEmpty());
    Stream().Open();
    Bytes(form.Gone());
    EXPECT_EQ(LastTarget().find("sendInitialEvents") == std::string::npos, c.is_remembered) << LastTarget();
    failures.clear();
    informer->Stop();
    while (transport.Waiting() > 0) transport.Next()->Fail(ErrorCode::kCancelled, false);
  }
}

TEST_F(InformerWireTest, TriesAStreamedListAgainWhenTheServerIsAway) {
  Make({.streams_list = true});
  Stream().End(Error{ErrorCode::kUnavailable, "refused"});
  EXPECT_THAT(failures, ElementsAre("while listing things: refused"));
  loop.Advance(seconds(2));
  EXPECT_THAT(LastTarget(), HasSubstr("sendInitialEvents=true"));
  Stream().Head(500, "");
  Stream().End();
  EXPECT_EQ(failures.size(), 2U);
  loop.Advance(seconds(4));
  EXPECT_THAT(LastTarget(), HasSubstr("sendInitialEvents=true"));
}

TEST_F(InformerWireTest, AMissingKindIsSyncedWithStreamedListsToo) {
  Make({.streams_list = true}, {.may_be_missing = true});
  Stream().Head(404, R"({"kind":"Status","reason":"NotFound","code":404})");
  Stream().End();
  loop.Run();
  EXPECT_THAT(Take(), ElementsAre("synced"));
  loop.Advance(minutes(3));
  EXPECT_THAT(LastTarget(), HasSubstr("sendInitialEvents=true"));
}

TEST_F(InformerWireTest, TakesJsonWhereTheServerHasNoProtobuf) {
  Make({.is_protobuf = true});
  EXPECT_THAT(std::string(Accept()), HasSubstr("protobuf"));
  auto& stream = Stream();
  stream.Open("application/json");
  EXPECT_FALSE(stream.IsLive()) << "it would be collected beside the bound that all lists share";
  for (const char* const token : {"", "&continue=t"}) {
    EXPECT_EQ(LastTarget(), std::string("GET /api/v1/things?limit=500") + token) << "from now on as JSON";
    const auto call = transport.Next();
    EXPECT_EQ(FindHeader(call->request, "Accept"), "application/json");
    call->Answer(200, *token == 0 ? ListJson("10", {{"a", "1"}}, "t") : ListJson("10", {{"b", "2"}}));
    loop.Run();
  }
  EXPECT_THAT(Take(), ElementsAre("add a x", "add b x", "synced"));
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_EQ(Accept(), "application/json");

  // A watch, too, whose next event may come in either form.
  Make({.is_protobuf = true, .streams_list = true});
  Stream().Open("application/json");
  const Form json;
  Bytes(json.Event("ADDED", {"a", "1"}) + json.Bookmark("2", true));
  EXPECT_THAT(Take(), ElementsAre("add a x", "synced"));
}

TEST_F(InformerWireTest, APageOfJsonIsBoundedByTheTransport) {
  Make({});
  EXPECT_EQ(transport.Next()->options.body_bytes_max, std::size_t{64} << 20);
  Make({}, {.list_bytes_max = 5000});
  const auto call = transport.Next();
  EXPECT_EQ(call->options.body_bytes_max, 5000U);
  call->Fail(ErrorCode::kTooLarge, false);
  loop.Run();
  EXPECT_EQ(failures.size(), 1U);
}

TEST_F(InformerWireTest, AsksForJsonWhereProtobufIsRefused) {
  for (const int status : {406, 415}) {
    for (const bool streams_list : {false, true}) {
      Make({.is_protobuf = true, .streams_list = streams_list});
      EXPECT_THAT(std::string(Accept()), HasSubstr("protobuf"));
      const std::size_t before = transport.all_targets.size();
      Stream().Head(status, "");
      Stream().End();
      loop.Run();
      ASSERT_EQ(transport.all_targets.size(), before + 1);
      EXPECT_THAT(failures, IsEmpty());
      if (streams_list) {
        EXPECT_THAT(LastTarget(), HasSubstr("sendInitialEvents=true"));
        EXPECT_EQ(Accept(), "application/json");
      } else {
        EXPECT_EQ(LastTarget(), "GET /api/v1/things?limit=500");
        transport.Next()->Fail(ErrorCode::kCancelled, false);
      }
      informer->Stop();
      failures.clear();
    }
  }
}

TEST_F(InformerWireTest, KeepsThePagesBeforeOneThatIsLost) {
  Make({.is_protobuf = true});
  Stream().Open(kProtobuf);
  Bytes(ListProtobuf("10", {{"a", "1"}}, "t"));
  Stream().End();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(LastTarget(), HasSubstr("continue=t"));
    Stream().Open(kProtobuf);
    const std::string page = ListProtobuf("10", {{"b", "2"}, {"c", "3"}});
    Bytes(page.substr(0, page.size() - 10));
    Stream().End(Error{ErrorCode::kUnavailable, "lost"});
    loop.Advance(seconds(4));
  }
  EXPECT_THAT(Take(), ElementsAre("add a x", "add b x"));
  Stream().Open(kProtobuf);
  Bytes(ListProtobuf("10", {{"b", "2"}, {"c", "3"}}));
  Stream().End();
  EXPECT_THAT(Take(), ElementsAre("add c x", "synced"));
}

TEST_F(InformerWireTest, GarbageIsAFailedList) {
  struct Case {
    const char* name;
    std::string body;
  };
  const std::string whole = ListProtobuf("10", {{"a", "1"}});
  const Case cases[] = {
      {"no protobuf", "<html>"},
      {"nothing", ""},
      {"cut short", whole.substr(0, whole.size() - 12)},
      {"without a version", Envelope("ThingList", Field(2, Object{"a", "1"}.Protobuf()))},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Make({.is_protobuf = true});
    Stream().Open(kProtobuf);
    Bytes(c.body);
    if (Stream().IsLive()) Stream().End();
    loop.Run();
    EXPECT_EQ(failures.size(), 1U);
    EXPECT_FALSE(informer->HasSynced());
    loop.Advance(seconds(2));
    EXPECT_EQ(LastTarget(), "WATCH /api/v1/things?limit=5000");
    failures.clear();
    informer->Stop();
    Take();
  }
}

TEST_F(InformerWireTest, GarbageInAStreamedListIsAFailedList) {
  const Form form{.is_protobuf = true, .streams_list = true};
  const std::string events[] = {
      Frame("garbage"),
      Frame(Field(1, "ADDED") + Field(2, Field(1, "no envelope"))),
      EventProtobuf("DANCED", Object{"a", "1"}.Protobuf()),
      EventProtobuf("ADDED", Object{"a", ""}.Protobuf()),
      EventProtobuf("ADDED", "\x0f"),
      std::string("\x7f\xff\xff\xff", 4),
  };
  for (const std::string& event : events) {
    Make(form);
    Stream().Open(form.WatchType());
    Bytes(form.Event("ADDED", {"b", "2"}));
    Bytes(event);
    EXPECT_EQ(failures.size(), 1U);
    EXPECT_EQ(transport.LiveStreams(), 0U);
    loop.Advance(seconds(2));
    EXPECT_THAT(LastTarget(), HasSubstr("sendInitialEvents=true"));
    failures.clear();
    informer->Stop();
    Take();
  }
}

TEST_F(InformerWireTest, SetsAsideWhatDoesNotDecode) {
  const Form form{.is_protobuf = true, .streams_list = true};
  Make(form);
  Stream().Open(form.WatchType());
  Bytes(form.Event("ADDED", {"a", "1"}) + form.Event("ADDED", {"b", "2", "broken"}) + form.Bookmark("3", true));
  EXPECT_THAT(Take(), ElementsAre("add a x", "synced"));
  EXPECT_EQ(informer->Stats().set_aside, 1U);
  Bytes(form.Event("MODIFIED", {"b", "4", "y"}));
  EXPECT_THAT(Take(), ElementsAre("add b y"));
}

TEST_F(InformerWireTest, ForgetsTheObjectsWhereNobodyAsksForThem) {
  const Form form{.is_protobuf = true, .streams_list = true};
  Make(form, {.keeps_objects = false});
  Stream().Open(form.WatchType());
  Bytes(form.Event("ADDED", {"a", "1"}) + form.Event("ADDED", {"b", "2", "x", "u1"}) + form.Bookmark("3", true));
  EXPECT_THAT(Take(), ElementsAre("add a x", "add b x", "synced"));
  EXPECT_EQ(informer->Find("d/a"), nullptr);
  EXPECT_EQ(informer->Stats().objects, 2U);
  Bytes(form.Event("MODIFIED", {"a", "4", "y"}) + form.Event("MODIFIED", {"a", "4", "y"}));
  EXPECT_THAT(Take(), ElementsAre("update a ?>y"));
  Bytes(form.Event("ADDED", {"b", "5", "z", "u2"}));
  EXPECT_THAT(Take(), ElementsAre("gone d/b u1", "add b z"));
  Bytes(form.Event("DELETED", {"a", "6", "y"}));
  EXPECT_THAT(Take(), ElementsAre("gone d/a a-1"));
}

TEST_F(InformerWireTest, MayBeStoppedByItsHandlerAnywhere) {
  for (const Form form : {Form{true, false}, Form{false, true}, Form{true, true}}) {
    for (const char* at : {"add a x", "synced", "delete b x"}) {
      Make(form);
      on_seen = [this, at] {
        if (seen.back() == at) informer->Stop();
      };
      if (form.streams_list) {
        Stream().Open(form.WatchType());
        Bytes(form.Event("ADDED", {"a", "1"}) + form.Event("ADDED", {"b", "2"}) + form.Bookmark("3", true) +
              form.Event("DELETED", {"b", "4"}) + form.Event("ADDED", {"c", "5"}));
      } else {
        Stream().Open(kProtobuf);
        Bytes(ListProtobuf("3", {{"a", "1"}, {"b", "2"}}));
        if (Stream().IsLive()) Stream().End();
        if (Stream().IsLive()) Stream().Open(kProtobufWatch);
        Bytes(form.Event("DELETED", {"b", "4"}) + form.Event("ADDED", {"c", "5"}));
      }
      loop.Advance(minutes(20));
      EXPECT_EQ(Take().back(), at);
      EXPECT_EQ(transport.LiveStreams(), 0U);
      EXPECT_EQ(loop.TimerCount(), 0U);
      on_seen = nullptr;
    }
  }
}

}  // namespace
}  // namespace berth::client
