// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/informer.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/codec/json_reader.h"
#include "berth/shell/client/client_fakes.h"

namespace berth::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Thing {
  std::string name;
  std::string value;
};

Expected<std::shared_ptr<const Thing>> DecodeThing(const simdjson::dom::element& element) {
  const auto metadata = codec::FindMember(element, "metadata");
  const auto value = codec::FindString(element, "value");
  if (!value) return InvalidError("value should be a string");
  return std::make_shared<const Thing>(
      Thing{std::string(codec::StringOrEmpty(*metadata, "name")), std::string(*value)});
}

// {"metadata":{"namespace":"d","name":"a","resourceVersion":"5","uid":"a-1"},"value":"x"}
std::string Object(const std::string& name, const std::string& version, const std::string& value = "x",
                   const std::string& uid = "") {
  return R"({"metadata":{"namespace":"d","name":")" + name + R"(","resourceVersion":")" + version + R"(","uid":")" +
         (uid.empty() ? name + "-1" : uid) + R"("},"value":)" + (value == "broken" ? "5" : '"' + value + '"') + '}';
}
std::string List(const std::string& version, const std::vector<std::string>& objects, const std::string& next = "") {
  std::string text = R"({"kind":"ThingList","metadata":{"resourceVersion":")" + version + '"';
  if (!next.empty()) text += R"(,"continue":")" + next + '"';
  text += R"(},"items":[)";
  for (std::size_t i = 0; i < objects.size(); ++i) text += (i > 0 ? "," : "") + objects[i];
  return text + "]}";
}
std::string Line(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
std::string Bookmark(const std::string& version) {
  return Line("BOOKMARK", R"({"kind":"Thing","metadata":{"resourceVersion":")" + version + "\"}}");
}
constexpr const char* kGone = R"({"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"})";

class InformerTest : public ::testing::Test {
 public:  // for the functions in the tables below
  void SetUp() override { MakeInformer({}); }

  void MakeInformer(ReflectorOptions base) {
    Informer<Thing>::Options options;
    static_cast<ReflectorOptions&>(options) = base;
    options.name = "things";
    options.path = "/api/v1/things";
    options.decode = DecodeThing;
    Informer<Thing>::Handler handler;
    handler.on_add = [this](auto o) { Saw("add " + o->name + ' ' + o->value); };
    handler.on_update = [this](auto before, auto o) {
      Saw("update " + o->name + ' ' + before->value + '>' + o->value);
    };
    handler.on_delete = [this](auto o) { Saw("delete " + o->name + ' ' + o->value); };
    handler.on_synced = [this] { Saw("synced"); };
    handler.on_failure = [this](const Error& e) { failures.push_back(e.message); };
    informer = std::make_unique<Informer<Thing>>(rest, std::move(options), std::move(handler));
  }
  void Saw(std::string what) {
    seen.push_back(std::move(what));
    if (on_seen) on_seen();
  }

  void Start() {
    informer->Start();
    loop.Run();
  }
  void AnswerList(const std::string& body, int status = 200) {
    transport.Next()->Answer(status, body);
    loop.Run();
  }
  // The list is done and the watch open.
  void StartWith(const std::vector<std::string>& objects, const std::string& version = "10") {
    Start();
    AnswerList(List(version, objects));
    Stream().Open();
    seen.clear();
  }
  FakeTransport::FakeStream& Stream() { return *transport.LastStream(); }
  std::string LastTarget() { return transport.all_targets.back(); }
  void Bytes(std::string_view bytes) {
    Stream().Bytes(bytes);
    loop.Run();
  }
  std::vector<std::string> Take() { return std::exchange(seen, {}); }

  FakeLoop loop;
  FakeTransport transport;
  RestClient rest{loop, transport, nullptr, 1};
  std::vector<std::string> seen;
  std::vector<std::string> failures;
  std::function<void()> on_seen;
  std::unique_ptr<Informer<Thing>> informer;
};

TEST_F(InformerTest, ListsInPagesThenWatchesFromTheListsVersion) {
  Start();
  EXPECT_EQ(LastTarget(), "GET /api/v1/things?limit=500");
  AnswerList(List("10", {Object("a", "1"), Object("b", "2")}, "token/1"));
  EXPECT_EQ(LastTarget(), "GET /api/v1/things?limit=500&continue=token%2F1");
  EXPECT_THAT(Take(), ElementsAre("add a x", "add b x"));
  EXPECT_FALSE(informer->HasSynced());
  AnswerList(List("10", {Object("c", "3")}));
  EXPECT_THAT(Take(), ElementsAre("add c x", "synced"));
  EXPECT_TRUE(informer->HasSynced());
  EXPECT_THAT(
      LastTarget(),
      ::testing::MatchesRegex(
          "WATCH /api/v1/things\\?watch=true&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=[0-9]+"));
  EXPECT_EQ(informer->Find("d/b")->value, "x");
  EXPECT_EQ(informer->Find("d/nobody"), nullptr);
  EXPECT_EQ(informer->Stats().objects, 3U);
}

TEST_F(InformerTest, SendsItsSelectors) {
  MakeInformer({.label_selector = "app=web", .field_selector = "status.phase!=Failed", .page_size = 2});
  Start();
  EXPECT_EQ(LastTarget(), "GET /api/v1/things?labelSelector=app%3Dweb&fieldSelector=status.phase%21%3DFailed&limit=2");
  AnswerList(List("1", {}));
  EXPECT_THAT(LastTarget(), HasSubstr("&labelSelector=app%3Dweb&fieldSelector=status.phase%21%3DFailed"));
}

TEST_F(InformerTest, TakesAListWithoutItems) {
  Start();
  AnswerList(R"({"metadata":{"resourceVersion":"4"},"items":null})");
  EXPECT_THAT(Take(), ElementsAre("synced"));
}

TEST_F(InformerTest, AsksForWatchesOfDifferentLengths) {
  std::set<std::string> targets;
  Start();
  AnswerList(List("10", {}));
  for (int i = 0; i < 20; ++i) {
    targets.insert(LastTarget());
    const auto at = LastTarget().find("timeoutSeconds=");
    const int length = std::stoi(LastTarget().substr(at + 15));
    EXPECT_GE(length, 300);
    EXPECT_LT(length, 600);
    Stream().Open();
    loop.Advance(minutes(5));
    Stream().End();
    loop.Run();
  }
  EXPECT_GT(targets.size(), 10U);
  EXPECT_THAT(failures, IsEmpty());
}

TEST_F(InformerTest, FollowsTheWatch) {
  StartWith({Object("a", "5")});
  Bytes(Line("ADDED", Object("b", "11", "1")) + Line("MODIFIED", Object("b", "12", "2")) +
        Line("DELETED", Object("b", "13", "2")) + Line("MODIFIED", Object("a", "14", "y")));
  EXPECT_THAT(Take(), ElementsAre("add b 1", "update b 1>2", "delete b 2", "update a x>y"));
  EXPECT_EQ(informer->Find("d/a")->value, "y");
  EXPECT_EQ(informer->Find("d/b"), nullptr);
}

TEST_F(InformerTest, PutsTogetherWhatTheNetworkCut) {
  const std::string text =
      Line("ADDED", Object("b", "11", "1")) + "\r\n\n" + Line("MODIFIED", Object("b", "12", "2")) + Bookmark("20");
  for (std::size_t chunk = 1; chunk <= text.size(); chunk += chunk < 8 ? 1 : 13) {
    SCOPED_TRACE(chunk);
    MakeInformer({});
    StartWith({});
    for (std::size_t at = 0; at < text.size(); at += chunk) Bytes(text.substr(at, chunk));
    EXPECT_THAT(Take(), ElementsAre("add b 1", "update b 1>2"));
    EXPECT_EQ(informer->Stats().bookmarks, 1U);
  }
}

TEST_F(InformerTest, ReportsNothingTwice) {
  StartWith({Object("a", "5")});
  Bytes(Line("ADDED", Object("a", "5")));  // known from the list
  Bytes(Line("MODIFIED", Object("a", "12", "y")));
  Bytes(Line("MODIFIED", Object("a", "12", "y")));    // repeated
  Bytes(Line("MODIFIED", Object("a", "11", "old")));  // late
  Bytes(Line("DELETED", Object("a", "9", "old")));    // of an earlier object of that name
  Bytes(Line("DELETED", Object("nobody", "15")));
  EXPECT_THAT(Take(), ElementsAre("update a x>y"));
  Bytes(Line("MODIFIED", Object("b", "16")));  // never seen: an addition
  Bytes(Line("ADDED", Object("b", "17", "z")));
  EXPECT_THAT(Take(), ElementsAre("add b x", "update b x>z"));
}

TEST_F(InformerTest, OrdersVersionsThatAreNoNumbersByEquality) {
  StartWith({Object("a", "v-9")}, "v-1");
  Bytes(Line("MODIFIED", Object("a", "v-1", "y")) + Line("MODIFIED", Object("a", "v-1", "again")));
  EXPECT_THAT(Take(), ElementsAre("update a x>y"));
}

TEST_F(InformerTest, ReportsAReplacedObjectAsDeleteAndAdd) {
  StartWith({Object("a", "5", "x", "uid-1")});
  Bytes(Line("MODIFIED", Object("a", "12", "y", "uid-2")));
  EXPECT_THAT(Take(), ElementsAre("delete a x", "add a y"));
}

TEST_F(InformerTest, GoesOnFromTheLastVersionWhenTheWatchEnds) {
  StartWith({});
  Bytes(Line("ADDED", Object("a", "11")));
  loop.Advance(minutes(6));
  Stream().End();
  loop.Run();
  EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=11&"));
  Stream().Open();
  Bytes(Bookmark("500"));
  loop.Advance(minutes(6));
  Stream().End();
  loop.Run();
  EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=500&"));
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_EQ(informer->Stats().lists, 1U);
}

// Each of these ends a watch without losing history: the informer waits, and then goes on from its last version.
TEST_F(InformerTest, WatchesAgainAfterAFailure) {
  struct Case {
    const char* name;
    std::function<void(InformerTest&)> fail;
    const char* message;
  };
  const auto end = [](ErrorCode code) {
    return [code](InformerTest& t) { t.Stream().End(Error{code, "what went wrong"}); };
  };
  const Case cases[] = {
      {"connection lost", end(ErrorCode::kUnavailable), "what went wrong"},
      {"no answer in time", end(ErrorCode::kTimeout), "what went wrong"},
      {"forbidden for now", end(ErrorCode::kForbidden), "what went wrong"},
      {"garbage", [](InformerTest& t) { t.Bytes("<html>\n"); }, "brought no event: \"<html>\""},
      {"an unknown event", [](InformerTest& t) { t.Bytes(Line("EATEN", Object("b", "12"))); }, "unknown type"},
      {"an event without a version", [](InformerTest& t) { t.Bytes(Line("ADDED", R"({"metadata":{}})")); },
       "without a resourceVersion"},
      {"an event cut short",
       [](InformerTest& t) {
         t.Bytes(R"({"type":"AD)");
         t.Stream().End();
       },
       "within an event"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    failures.clear();
    MakeInformer({});
    StartWith({});
    Bytes(Line("ADDED", Object("a", "11")));
    Take();
    c.fail(*this);
    loop.Run();
    EXPECT_THAT(failures, ElementsAre(HasSubstr(c.message)));
    EXPECT_EQ(transport.LiveStreams(), 0U);
    EXPECT_GE(loop.UntilTimer(), milliseconds(800));
    EXPECT_LE(loop.UntilTimer(), milliseconds(1600));
    loop.Advance(milliseconds(1600));
    EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=11&"));
    Stream().Open();
    Bytes(Line("ADDED", Object("b", "12")));
    EXPECT_THAT(Take(), ElementsAre("add b x"));
    EXPECT_EQ(informer->Stats().lists, 1U);
    EXPECT_EQ(transport.LiveStreams(), 1U);
    informer->Stop();
  }
}

TEST_F(InformerTest, AsksAgainAtOnceAfterSilence) {
  StartWith({});
  loop.Advance(seconds(90));
  Stream().End(Error{ErrorCode::kTimeout, "nothing came for 90 s"});
  EXPECT_EQ(transport.LiveStreams(), 1U);
  EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=10&"));
  EXPECT_THAT(failures, IsEmpty());
}

TEST_F(InformerTest, KeepsWhatCameBeforeGarbage) {
  StartWith({});
  Bytes(Line("ADDED", Object("a", "11")) + "garbage\n" + Line("ADDED", Object("b", "12")));
  EXPECT_THAT(Take(), ElementsAre("add a x"));
  loop.Advance(seconds(2));
  EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=11&"));
}

TEST_F(InformerTest, ListsAgainWhenTheWatchBringsNothingButGarbage) {
  StartWith({});
  for (int i = 0; i < 2; ++i) {
    Bytes("garbage\n");
    loop.Advance(seconds(30));
    Stream().Open();
  }
  Bytes("garbage\n");
  loop.Advance(seconds(30));
  EXPECT_THAT(LastTarget(), HasSubstr("GET "));
}

TEST_F(InformerTest, BacksOffUpToItsBoundAndRecovers) {
  StartWith({});
  Duration before{};
  for (int i = 0; i < 10; ++i) {
    Stream().End(Error{ErrorCode::kUnavailable, "connection refused"});
    loop.Run();
    const Duration wait = loop.UntilTimer();
    EXPECT_LE(wait, seconds(30));
    if (i < 4) {
      EXPECT_GE(wait, before);
    }
    if (i > 6) {
      EXPECT_EQ(wait, seconds(30));
    }
    before = wait;
    loop.Advance(wait);
  }
  Stream().Open();
  Bytes(Bookmark("30"));
  Stream().End(Error{ErrorCode::kUnavailable, "connection lost"});
  EXPECT_LE(loop.UntilTimer(), milliseconds(1600));
}

TEST_F(InformerTest, DoesNotSpinOnWatchesThatEndAtOnce) {
  StartWith({});
  Stream().End();
  loop.Run();
  EXPECT_EQ(transport.LiveStreams(), 0U);
  EXPECT_GE(loop.UntilTimer(), milliseconds(800));
}

TEST_F(InformerTest, ListsAgainWhenHistoryIsLost) {
  struct Case {
    const char* name;
    std::function<void(InformerTest&)> lose;
  };
  const Case cases[] = {
      {"410 as the watch opens",
       [](InformerTest& t) {
         t.Stream().Head(410, kGone);
         t.Stream().End();
       }},
      {"410 as an event", [](InformerTest& t) { t.Bytes(Line("ERROR", kGone)); }},
      {"another error event",
       [](InformerTest& t) { t.Bytes(Line("ERROR", R"({"kind":"Status","code":500,"message":"boom"})")); }},
      {"an event longer than the bound",
       [](InformerTest& t) { t.Bytes(Line("ADDED", Object("z", "99", std::string(5000, 'z')))); }},
      {"a long event in parts",
       [](InformerTest& t) {
         for (int i = 0; i < 50 && t.transport.LiveStreams() > 0; ++i) t.Bytes(std::string(100, 'z'));
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    MakeInformer({.line_bytes_max = 4096});
    StartWith({Object("a", "1"), Object("b", "2"), Object("c", "3"), Object("e", "4", "x", "e-old")});
    // While we were blind: a stayed, b changed, c went, d came, e was replaced.
    c.lose(*this);
    loop.Advance(milliseconds(1600));
    EXPECT_EQ(LastTarget(), "GET /api/v1/things?limit=500");
    AnswerList(
        List("50", {Object("a", "1"), Object("b", "40", "y"), Object("d", "41"), Object("e", "42", "z", "e-new")}));
    EXPECT_THAT(Take(), ElementsAre("update b x>y", "add d x", "delete e x", "add e z", "delete c x"));
    EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=50&"));
    EXPECT_EQ(informer->Stats().objects, 4U);
    informer->Stop();
  }
}

// A replica of the API server, or of what it stores, that has fallen behind the others.
TEST_F(InformerTest, DoesNotGoBackInTime) {
  StartWith({Object("a", "10")});
  Bytes(Line("MODIFIED", Object("a", "150", "bound")));
  Take();
  Bytes(Line("ERROR", kGone));
  loop.Advance(seconds(1));
  AnswerList(List("120", {Object("a", "10"), Object("gone", "11")}));
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_THAT(failures.back(), HasSubstr("the list is of resourceVersion 120, but 150 has been seen"));
  loop.Advance(seconds(30));
  AnswerList(List("160", {Object("a", "150", "bound")}));
  EXPECT_THAT(Take(), IsEmpty()) << "nothing has changed";
  EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=160&"));
}

TEST_F(InformerTest, BelievesThatTheClusterWasSetBackAfterAWhile) {
  StartWith({Object("a", "10")}, "1000");
  Bytes(Line("ERROR", kGone));
  int lists = 0;
  for (; lists < 20 && transport.LiveStreams() == 0; ++lists) {
    loop.Advance(seconds(30));
    AnswerList(List("120", {Object("b", "100")}));
  }
  EXPECT_EQ(lists, 6);
  EXPECT_THAT(Take(), ElementsAre("add b x", "delete a x"));
}

TEST_F(InformerTest, OpensAWatchThatHasWorkedAgainAtOnce) {
  StartWith({Object("a", "5")});
  loop.Advance(seconds(10));
  Bytes(Line("MODIFIED", Object("a", "11")));
  Stream().End(Error{ErrorCode::kUnavailable, "lost"});
  EXPECT_EQ(transport.LiveStreams(), 0U);
  loop.Advance(milliseconds(100));
  EXPECT_EQ(transport.LiveStreams(), 1U);
  EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=11&"));
  Stream().Open();
  Bytes(Line("MODIFIED", Object("a", "12")));
  Stream().End(Error{ErrorCode::kUnavailable, "lost"});
  loop.Advance(milliseconds(700));
  EXPECT_EQ(transport.LiveStreams(), 0U) << "it did not last";
}

TEST_F(InformerTest, DoesNotBelieveAWatchOfBlankLines) {
  StartWith({Object("a", "5")});
  for (int i = 0; i < 9; ++i) {
    loop.Advance(seconds(1));
    Bytes("\n");
  }
  EXPECT_THAT(failures, IsEmpty());
  loop.Advance(seconds(1));
  Bytes("\n");
  EXPECT_THAT(failures, ElementsAre(HasSubstr("blank lines")));
  loop.Advance(seconds(2));
  EXPECT_THAT(LastTarget(), HasSubstr("WATCH")) << "again from where it was";
}

TEST_F(InformerTest, DoesNotListInCircles) {
  StartWith({});
  Stream().Head(410, kGone);
  Stream().End();
  loop.Run();
  EXPECT_EQ(transport.Waiting(), 1U) << "the first time the list follows at once";
  for (int i = 0; i < 5; ++i) {
    AnswerList(List("20", {}));
    Stream().Head(410, kGone);
    Stream().End();
    loop.Run();
    EXPECT_EQ(transport.Waiting(), 0U);
    EXPECT_GE(loop.UntilTimer(), milliseconds(800));
    loop.Advance(seconds(30));
  }
}

TEST_F(InformerTest, ListsInOnePieceWhenPagesExpire) {
  Start();
  AnswerList(List("10", {Object("a", "1"), Object("b", "2")}, "next"));
  AnswerList(kGone, 410);
  EXPECT_EQ(LastTarget(), "GET /api/v1/things");
  // b went and a changed between the two lists; c is new.
  AnswerList(List("20", {Object("a", "15", "y"), Object("c", "16")}));
  EXPECT_THAT(Take(), ElementsAre("add a x", "add b x", "update a x>y", "add c x", "delete b x", "synced"));
  EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=20&"));
  EXPECT_THAT(failures, IsEmpty());
}

TEST_F(InformerTest, TriesTheListAgain) {
  struct Case {
    const char* name;
    int status;
    std::string body;
    const char* message;
  };
  const Case cases[] = {
      {"forbidden", 403, R"({"kind":"Status","message":"things is forbidden"})",
       "while listing things: things is forbidden"},
      {"half an answer", 200, R"({"metadata":{"resourceVersion":"1"},"items":[{"meta)", "no JSON"},
      {"html", 200, "<html>", "no JSON"},
      {"another object", 200, R"({"kind":"APIVersions"})", "is no list"},
      {"no version", 200, R"({"metadata":{},"items":[]})", "is no list"},
      {"items are no array", 200, R"({"metadata":{"resourceVersion":"1"},"items":{}})", "is no list"},
      {"an array", 200, "[]", "is no list"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    failures.clear();
    MakeInformer({});
    Start();
    AnswerList(c.body, c.status);
    EXPECT_THAT(failures, ElementsAre(HasSubstr(c.message)));
    EXPECT_FALSE(informer->HasSynced());
    loop.Advance(milliseconds(1600));
    AnswerList(List("1", {Object("a", "1")}));
    EXPECT_THAT(Take(), ElementsAre("add a x", "synced"));
    informer->Stop();
  }
}

// How often a text is in another.
std::size_t Count(const std::string& in, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = in.find(text); at != std::string::npos; at = in.find(text, at + 1)) ++count;
  return count;
}

TEST_F(InformerTest, AMissingRightIsSaidOnceAndItsEndToo) {
  const std::string forbidden = R"({"kind":"Status","message":"things is forbidden: User \"x\" cannot list them"})";
  constexpr const char* kWarning = "The API server does not let us list and watch this kind";
  ::testing::internal::CaptureStderr();
  Start();
  for (int i = 0; i < 10; ++i) {
    AnswerList(forbidden, 403);
    EXPECT_FALSE(informer->HasSynced());
    ASSERT_TRUE(informer->Stats().failure);
    EXPECT_EQ(informer->Stats().failure->code, ErrorCode::kForbidden);
    loop.Advance(seconds(30));
  }
  std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(log, "things"), 4U) << "one line: name, path and the server's words\n" << log;
  EXPECT_EQ(Count(log, kWarning), 1U) << log;
  EXPECT_THAT(log, HasSubstr(R"(resource="things" path="/api/v1/things")"));
  EXPECT_THAT(log, HasSubstr("cannot list them"));
  EXPECT_EQ(failures.size(), 10U) << "the handler hears of all";

  // It is logged again after a while.
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 11; ++i) {
    AnswerList(forbidden, 403);
    loop.Advance(seconds(30));
  }
  EXPECT_EQ(Count(::testing::internal::GetCapturedStderr(), kWarning), 1U);

  ::testing::internal::CaptureStderr();
  AnswerList(List("10", {Object("a", "1")}));
  EXPECT_TRUE(informer->HasSynced());
  EXPECT_FALSE(informer->Stats().failure);
  log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr(R"(The API server lets us read this kind now" resource="things")"));

  // Lists are allowed, and watches are not.
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) {
    Stream().End(Error{ErrorCode::kForbidden, "things is forbidden: no watch"});
    loop.Advance(seconds(30));
  }
  Stream().Open();
  log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(log, kWarning), 1U) << log;
  EXPECT_THAT(log, HasSubstr("lets us read this kind now"));
  EXPECT_FALSE(informer->Stats().failure);
}

TEST_F(InformerTest, ARefusedCredentialIsSaidOnceForAllKinds) {
  const std::string refused = R"({"kind":"Status","message":"Unauthorized","reason":"Unauthorized"})";
  ::testing::internal::CaptureStderr();
  Start();
  for (int i = 0; i < 20; ++i) {
    AnswerList(refused, 401);
    EXPECT_TRUE(rest.RecordRefusedCredential() == std::nullopt) << "as another kind's reflector does";
    loop.Advance(i < 10 ? milliseconds(100) : seconds(30));
    while (transport.Waiting() == 0) loop.Advance(seconds(1));
  }
  std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_LE(Count(log, "The API server does not know us"), 5U) << "ever later\n" << log;
  EXPECT_GE(Count(log, "The API server does not know us"), 2U) << log;
  EXPECT_EQ(Count(log, "\n"), Count(log, "The API server does not know us")) << log;
  EXPECT_THAT(log, HasSubstr(R"(err="while listing things: Unauthorized" times=1 )"));
  EXPECT_EQ(failures.size(), 20U) << "the handler hears of all";

  ::testing::internal::CaptureStderr();
  AnswerList(List("10", {Object("a", "1")}));
  log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("accepts our credential again"));
}

TEST_F(InformerTest, AKindThatIsNotServedIsEmptyUntilItIs) {
  const std::string not_served = R"({"kind":"Status","reason":"NotFound","message":"the server could not find it"})";
  MakeInformer({.may_be_missing = true, .missing_retry = seconds(60)});
  Start();
  AnswerList(not_served, 404);
  EXPECT_THAT(Take(), ElementsAre("synced"));
  EXPECT_TRUE(informer->HasSynced());
  for (int i = 0; i < 3; ++i) {
    loop.Advance(seconds(59));
    EXPECT_EQ(transport.Waiting(), 0U) << "it is not asked for often";
    loop.Advance(seconds(61));
    AnswerList(not_served, 404);
  }
  EXPECT_THAT(failures, ElementsAre(HasSubstr("could not find it"))) << "and said once";
  EXPECT_THAT(Take(), IsEmpty());
  loop.Advance(seconds(120));
  AnswerList(List("5", {Object("a", "1")}));
  EXPECT_THAT(Take(), ElementsAre("add a x"));
  // The resource vanishes: its objects stay, and that it is missing is logged again.
  Stream().Open();
  Bytes(Line("ERROR", kGone));
  AnswerList(not_served, 404);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(failures.size(), 3U);
  EXPECT_NE(informer->Find("d/a"), nullptr);
  loop.Advance(seconds(120));
  AnswerList(List("9", {}));
  EXPECT_THAT(Take(), ElementsAre("delete a x"));
}

TEST_F(InformerTest, AKindThatMustBeThereIsWaitedFor) {
  Start();
  AnswerList("404 page not found", 404);
  EXPECT_FALSE(informer->HasSynced());
  loop.Advance(milliseconds(1600));
  AnswerList(List("1", {}));
  EXPECT_TRUE(informer->HasSynced());
}

// Otherwise a proxy that does not know the API server for a moment would make the kind count as synced and empty.
TEST_F(InformerTest, AKindIsMissingOnlyWhereTheApiServerSaysSo) {
  MakeInformer({.may_be_missing = true});
  Start();
  AnswerList("<html>default backend - 404</html>", 404);
  EXPECT_FALSE(informer->HasSynced());
  loop.Advance(milliseconds(1600));
  AnswerList(List("1", {Object("a", "1")}));
  EXPECT_THAT(Take(), ElementsAre("add a x", "synced"));
}

TEST_F(InformerTest, MayBeStoppedWhenItsKindIsMissing) {
  MakeInformer({.may_be_missing = true});
  on_seen = [this] { informer->Stop(); };
  Start();
  AnswerList(R"({"kind":"Status","reason":"NotFound"})", 404);
  loop.Advance(minutes(10));
  EXPECT_EQ(transport.Waiting(), 0U);
}

TEST_F(InformerTest, SyncsOnceOnly) {
  StartWith({Object("a", "1")});
  Bytes(Line("ERROR", kGone));
  AnswerList(List("20", {Object("a", "1")}));
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(InformerTest, ReportsDeletionsDuringAnOutageOfThePagesToo) {
  StartWith({Object("a", "1"), Object("b", "2"), Object("c", "3")});
  Bytes(Line("ERROR", kGone));
  AnswerList(List("20", {Object("a", "1")}, "next"));
  EXPECT_THAT(Take(), IsEmpty()) << "nothing has gone before the list is whole";
  // The server goes away within the list; its own tries and then ours begin again.
  transport.Next()->Fail(ErrorCode::kUnavailable, false);
  loop.Advance(seconds(10));
  AnswerList(List("20", {Object("c", "3")}));
  EXPECT_THAT(Take(), ElementsAre("delete b x"));
}

TEST_F(InformerTest, SetsAsideWhatDoesNotDecode) {
  StartWith({Object("a", "1"), Object("bad", "2", "broken"), Object("c", "3")});
  EXPECT_EQ(informer->Stats().objects, 2U);
  EXPECT_EQ(informer->Stats().set_aside, 1U);
  Bytes(Line("MODIFIED", Object("c", "11", "broken")) + Line("ADDED", Object("d", "12")));
  EXPECT_THAT(Take(), ElementsAre("add d x"));
  EXPECT_EQ(informer->Find("d/c")->value, "x") << "its last good version stays";
  EXPECT_EQ(informer->Stats().set_aside, 2U);
  // A list that shows the bad version does not take the good one for gone.
  Bytes(Line("ERROR", kGone));
  AnswerList(List("20", {Object("a", "1"), Object("c", "11", "broken"), Object("d", "12")}));
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(informer->Stats().set_aside, 1U) << "bad is gone";
  Stream().Open();
  Bytes(Line("MODIFIED", Object("c", "21", "good")));
  EXPECT_THAT(Take(), ElementsAre("update c x>good"));
  EXPECT_EQ(informer->Stats().set_aside, 0U);
  // The object is deleted while it is set aside: the handler gets the last good version.
  Bytes(Line("MODIFIED", Object("c", "22", "broken")) + Line("DELETED", Object("c", "23", "broken")));
  EXPECT_THAT(Take(), ElementsAre("delete c good"));
  EXPECT_EQ(informer->Stats().set_aside, 0U);
  // Another object of the same name: the one that we know has gone, even if the new one cannot be read.
  Bytes(Line("MODIFIED", Object("a", "24", "broken", "a-2")));
  EXPECT_THAT(Take(), ElementsAre("delete a x"));
  EXPECT_THAT(failures, ElementsAre(HasSubstr("too old")));
}

// An object whose `where` ("spec", or "managedFields" of its metadata) is nested too deep for the reader.
std::string DeepObject(const std::string& name, const std::string& version, const std::string& where) {
  const std::string deep = '"' + where + R"(":)" + std::string(500, '[') + std::string(500, ']');
  const bool is_metadata = where == "managedFields";
  return R"({"metadata":{)" + (is_metadata ? deep + ',' : "") + R"("namespace":"d","name":")" + name +
         R"(","resourceVersion":")" + version + R"(","uid":")" + name + R"(-1"},)" + (is_metadata ? "" : deep + ',') +
         R"("value":"x"})";
}

TEST_F(InformerTest, SetsAsideWhatIsNestedTooDeep) {
  for (const char* where : {"spec", "managedFields"}) {
    MakeInformer({});
    ::testing::internal::CaptureStderr();
    Start();
    AnswerList(List("4", {Object("a", "1"), DeepObject("deep", "2", where), Object("c", "3")}));
    EXPECT_THAT(Take(), ElementsAre("add a x", "add c x", "synced")) << where;
    EXPECT_EQ(informer->Stats().set_aside, 1U);
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("An object is set aside: it cannot be read\" resource=\"things\" object=\"d/deep\""));
    EXPECT_THAT(log, HasSubstr("nested deeper than 256 levels"));

    Stream().Open();
    ::testing::internal::CaptureStderr();
    Bytes(Line("ADDED", DeepObject("deep2", "11", where)) + Line("ADDED", Object("e", "12")) +
          Line("MODIFIED", DeepObject("a", "13", where)));
    EXPECT_THAT(Take(), ElementsAre("add e x")) << where;
    EXPECT_EQ(informer->Stats().set_aside, 3U);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("object=\"d/deep2\""));
    Bytes(Line("DELETED", DeepObject("a", "14", where)) + Line("MODIFIED", Object("deep", "15", "flat")));
    EXPECT_THAT(Take(), ElementsAre("delete a x", "add deep flat")) << where;
    EXPECT_EQ(informer->Stats().set_aside, 1U);
    EXPECT_THAT(failures, IsEmpty());
    // The watch goes on from where it was.
    Bytes(Line("MODIFIED", DeepObject("c", "16", where)));
    Stream().End({});
    loop.Run();
    EXPECT_THAT(LastTarget(), HasSubstr("resourceVersion=16&")) << where;
  }
}

TEST_F(InformerTest, SetsAsideWhatIsNoJson) {
  Start();
  AnswerList(List("4", {Object("a", "1"), R"({"metadata":{"name":"b","resourceVersion":"2"},"value":nonsense})",
                        Object("c", "3")}));
  EXPECT_THAT(Take(), ElementsAre("add a x", "add c x", "synced"));
  EXPECT_EQ(informer->Stats().set_aside, 1U);
}

TEST_F(InformerTest, SetsAsideWhatHasNoName) {
  Start();
  AnswerList(R"({"metadata":{"resourceVersion":"4"},"items":[{"value":"x"},7,null,)" + Object("a", "1") + "]}");
  EXPECT_THAT(Take(), ElementsAre("add a x", "synced"));
  EXPECT_EQ(informer->Stats().decode_failures, 3U);
}

TEST_F(InformerTest, MayBeStoppedFromAHandler) {
  struct Case {
    const char* name;
    const char* at;
    std::vector<std::string> want;
  };
  const Case cases[] = {
      {"within a page", "add a x", {"add a x"}},
      {"when synced", "synced", {"add a x", "add b x", "synced"}},
      {"within the watch", "add c x", {"add a x", "add b x", "synced", "add c x"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    MakeInformer({});
    on_seen = [&] {
      if (seen.back() == c.at) informer->Stop();
    };
    Start();
    AnswerList(List("10", {Object("a", "1"), Object("b", "2")}));
    if (transport.LiveStreams() > 0) {
      Stream().Open();
      Bytes(Line("ADDED", Object("c", "11")) + Line("ADDED", Object("e", "12")));
    }
    loop.Advance(minutes(20));
    EXPECT_EQ(Take(), c.want);
    EXPECT_EQ(transport.LiveStreams(), 0U);
    EXPECT_EQ(loop.TimerCount(), 0U);
  }
}

TEST_F(InformerTest, StopsAndDiesAnywhere) {
  Start();
  informer.reset();  // with a list in flight
  transport.Next()->Answer(200, List("10", {Object("a", "1")}));
  loop.Run();
  EXPECT_THAT(Take(), IsEmpty());
  MakeInformer({});
  StartWith({});
  Stream().End(Error{ErrorCode::kUnavailable, "lost"});
  informer.reset();  // while it waits
  EXPECT_EQ(loop.TimerCount(), 0U);
  MakeInformer({});
  StartWith({});
  informer.reset();  // while it watches
  EXPECT_EQ(transport.LiveStreams(), 0U);
}

}  // namespace
}  // namespace berth::client
