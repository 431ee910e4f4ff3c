// Lists and watches in each form that they may have on the wire: JSON or protobuf, a list or the beginning of a watch.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/base/random.h"
#include "berth/client/client_fakes.h"
#include "berth/client/informer.h"
#include "berth/codec/json_reader.h"
#include "berth/codec/protobuf_reader.h"

namespace berth::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";
constexpr const char* kProtobufWatch = "application/vnd.kubernetes.protobuf;stream=watch";

struct Thing {
  std::string name;
  std::string value;
};
using ThingPtr = std::shared_ptr<const Thing>;

Expected<ThingPtr> DecodeJson(const simdjson::dom::element& element) {
  const auto value = codec::FindString(element, "value");
  if (!value) return InvalidError("value should be a string");
  const auto metadata = codec::FindMember(element, "metadata");
  return std::make_shared<const Thing>(
      Thing{std::string(codec::StringOrEmpty(*metadata, "name")), std::string(*value)});
}

Expected<ThingPtr> DecodeProtobuf(std::string_view message) {
  BERTH_ASSIGN_OR_RETURN(const auto meta, api::ReadProtobufMeta(message));
  Thing thing{std::string(meta.name), "none"};
  codec::ProtobufReader reader(message);
  while (reader.Next()) {
    if (reader.number() == 2) thing.value = std::string(reader.bytes());
  }
  if (thing.value == "broken") return InvalidError("it is broken");
  return std::make_shared<const Thing>(std::move(thing));
}

// ---- messages

std::string Field(int number, const std::string& bytes) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  std::size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) text += static_cast<char>((size & 0x7F) | 0x80);
  text += static_cast<char>(size);
  return text + bytes;
}
std::string Envelope(const std::string& kind, const std::string& raw) {
  return std::string("k8s\0", 4) + Field(1, Field(1, "v1") + Field(2, kind)) + Field(2, raw) + Field(3, "") +
         Field(4, "");
}

struct Object {
  std::string name;
  std::string version;
  std::string value = "x";
  std::string uid = "";
  bool ends_initial_events = false;

  std::string Uid() const { return uid.empty() ? name + "-1" : uid; }
  std::string Json() const {
    return R"({"metadata":{"namespace":"d","name":")" + name + R"(","resourceVersion":")" + version + R"(","uid":")" +
           Uid() + '"' +
           (ends_initial_events ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : std::string()) +
           R"(},"value":)" + (value == "broken" ? "5" : '"' + value + '"') + '}';
  }
  std::string Protobuf() const {
    std::string meta = Field(1, name) + Field(3, "d") + Field(5, Uid()) + Field(6, version);
    if (ends_initial_events) meta += Field(12, Field(1, "k8s.io/initial-events-end") + Field(2, "true"));
    return Field(1, meta) + Field(2, value);
  }
};

std::string ListProtobuf(const std::string& version, const std::vector<Object>& objects, const std::string& next = "") {
  std::string raw = Field(1, Field(2, version) + Field(3, next));
  for (const Object& object : objects) raw += Field(2, object.Protobuf());
  return Envelope("ThingList", raw);
}
std::string ListJson(const std::string& version, const std::vector<Object>& objects, const std::string& next = "") {
  std::string text = R"({"kind":"ThingList","metadata":{"resourceVersion":")" + version + '"';
  if (!next.empty()) text += R"(,"continue":")" + next + '"';
  text += R"(},"items":[)";
  for (std::size_t i = 0; i < objects.size(); ++i) text += (i > 0 ? "," : "") + objects[i].Json();
  return text + "]}";
}
std::string Frame(const std::string& event) {
  std::string head;
  for (int shift = 24; shift >= 0; shift -= 8) head += static_cast<char>((event.size() >> shift) & 0xFF);
  return head + event;
}
std::string EventProtobuf(const std::string& type, const std::string& raw, const std::string& kind = "Thing") {
  return Frame(Field(1, type) + Field(2, Field(1, Envelope(kind, raw))));
}
std::string EventJson(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
const std::string kGoneJson = R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})";
const std::string kGoneProtobuf = Field(3, "too old") + Field(4, "Expired") + "\x30\x9a\x03";  // code 410

// One of the four ways.
struct Form {
  bool is_protobuf = false;
  bool streams_list = false;

  std::string Event(const std::string& type, const Object& object) const {
    return is_protobuf ? EventProtobuf(type, object.Protobuf()) : EventJson(type, object.Json());
  }
  std::string Bookmark(const std::string& version, bool ends_initial_events) const {
    return Event("BOOKMARK", {.name = "", .version = version, .ends_initial_events = ends_initial_events});
  }
  std::string Gone() const {
    return is_protobuf ? EventProtobuf("ERROR", kGoneProtobuf, "Status") : EventJson("ERROR", kGoneJson);
  }
  std::string WatchType() const { return is_protobuf ? kProtobufWatch : "application/json"; }
};

class InformerWireTest : public testing::Test {
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
    EXPECT_THAT(LastTarget(), testing::MatchesRegex("WATCH /api/v1/things\\?watch=true&allowWatchBookmarks=true&"
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

TEST_F(InformerWireTest, TellsTheDifferencesWhenAStreamedListBreaksOff) {
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
    // Changes may be told before the list is whole.
    Bytes(form.Event("ADDED", {"b", "16", "y"}) + form.Event("ADDED", {"d", "17"}) +
          form.Event("DELETED", {"b", "18", "y"}) + form.Bookmark("19", true));
    EXPECT_THAT(Take(), ElementsAre("add d x", "delete b y", "delete a x", "delete c x"));
    informer->Stop();
  }
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
  Stream().Head(404, R"({"kind":"Status","code":404})");
  Stream().End();
  loop.Run();
  EXPECT_THAT(Take(), ElementsAre("synced"));
  loop.Advance(minutes(3));
  EXPECT_THAT(LastTarget(), HasSubstr("sendInitialEvents=true"));
}

TEST_F(InformerWireTest, TakesJsonWhereTheServerHasNoProtobuf) {
  Make({.is_protobuf = true});
  Stream().Open("application/json");
  Bytes(ListJson("10", {{"a", "1"}}, "t").substr(0, 50));
  EXPECT_THAT(Take(), IsEmpty());
  Bytes(ListJson("10", {{"a", "1"}}, "t").substr(50));
  Stream().End();
  loop.Run();
  EXPECT_EQ(LastTarget(), "GET /api/v1/things?limit=500&continue=t") << "from now on as JSON";
  transport.Next()->Answer(200, ListJson("10", {{"b", "2"}}));
  loop.Run();
  EXPECT_THAT(Take(), ElementsAre("add a x", "add b x", "synced"));
  EXPECT_EQ(Accept(), "application/json");

  // The same for a watch, whose next event may be in either form.
  Make({.is_protobuf = true, .streams_list = true});
  Stream().Open("application/json");
  const Form json;
  Bytes(json.Event("ADDED", {"a", "1"}) + json.Bookmark("2", true));
  EXPECT_THAT(Take(), ElementsAre("add a x", "synced"));
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

// A server with all its troubles, in each form.
class ModelServer {
 public:
  ModelServer(FakeTransport& transport, Random& random, Form form)
      : transport_(transport), random_(random), form_(form) {}

  void Change() {
    const std::string name(1, static_cast<char>('a' + random_.Below(8)));
    const std::string next = std::to_string(++version_);
    const bool exists = objects.contains(name);
    const Object object{name, next, "v" + next, exists && random_.Below(6) > 0 ? objects[name].Uid() : "u" + next};
    if (exists && random_.Below(3) == 0) {
      objects.erase(name);
      history_.push_back({version_, "DELETED", object});
    } else {
      objects[name] = object;
      history_.push_back({version_, exists ? "MODIFIED" : "ADDED", object});
    }
  }
  void Compact() { compacted_ = version_; }

  void Serve(bool in_peace) {
    if (transport_.Waiting() > 0) AnswerPage(in_peace);
    if (transport_.LiveStreams() == 0) return;
    auto& stream = *transport_.LastStream();
    if (stream.request.target.find("watch=true") == std::string::npos) return StreamPage(stream, in_peace);
    if (open_ != &stream && !OpenWatch(stream, in_peace)) return;
    while (at_ < history_.size() && stream.IsLive()) {
      const std::string event = EventAt(at_);
      if (!in_peace && random_.Below(12) == 0) return BreakOff(stream, event);
      if (!in_peace && random_.Below(15) == 0 && at_ > 0) stream.Bytes(EventAt(at_ - 1));
      if (!in_peace && random_.Below(25) == 0) stream.Bytes(form_.Gone());
      if (stream.IsLive()) stream.Bytes(event);
      ++at_;
    }
  }

  std::map<std::string, Object> objects;

 private:
  struct Page {
    std::string version;
    std::vector<Object> objects;
    std::string next;
  };

  std::string EventAt(std::size_t at) const { return form_.Event(history_[at].type, history_[at].object); }

  void BreakOff(FakeTransport::FakeStream& stream, const std::string& event) {
    stream.Bytes(event.substr(0, random_.Below(event.size())));
    if (stream.IsLive()) stream.End(Error{ErrorCode::kUnavailable, "lost"});
  }

  // False when it did not come to events.
  bool OpenWatch(FakeTransport::FakeStream& stream, bool in_peace) {
    open_ = &stream;
    const std::string& target = stream.request.target;
    if (target.find("sendInitialEvents=true") != std::string::npos) return SendInitialEvents(stream, in_peace);
    const std::uint64_t from = std::stoull(target.substr(target.find("resourceVersion=") + 16));
    if (from < compacted_) {
      stream.Head(410, kGoneJson);
      stream.End();
      return false;
    }
    stream.Open(form_.WatchType());
    at_ = 0;
    while (at_ < history_.size() && history_[at_].version <= from) ++at_;
    return true;
  }

  bool SendInitialEvents(FakeTransport::FakeStream& stream, bool in_peace) {
    if (!in_peace && random_.Below(8) == 0) {
      stream.Head(random_.Below(2) == 0 ? 403 : 500, "");
      stream.End();
      return false;
    }
    stream.Open(form_.WatchType());
    for (const auto& [name, object] : objects) {
      const std::string event = form_.Event("ADDED", object);
      if (!in_peace && random_.Below(12) == 0) {
        BreakOff(stream, event);
        return false;
      }
      stream.Bytes(event);
    }
    at_ = history_.size();
    stream.Bytes(form_.Bookmark(std::to_string(version_), true));
    return stream.IsLive();
  }

  Page PageFor(const std::string& target) {
    Page page{std::to_string(version_), {}, ""};
    if (const auto at = target.find("continue="); at != std::string::npos) {
      page = continued_[target.substr(at + 9)];
      page.next.clear();
    } else {
      for (const auto& [name, object] : objects) page.objects.push_back(object);
    }
    if (target.find("limit=") != std::string::npos && page.objects.size() > 3) {
      page.next = "t" + std::to_string(tokens_++);
      continued_[page.next] = {page.version, {page.objects.begin() + 3, page.objects.end()}, ""};
      page.objects.resize(3);
    }
    return page;
  }

  void AnswerPage(bool in_peace) {
    const auto call = transport_.Next();
    if (!in_peace && random_.Below(6) == 0) return call->Fail(ErrorCode::kUnavailable, false);
    const Page page = PageFor(call->request.target);
    call->Answer(200, ListJson(page.version, page.objects, page.next));
  }

  void StreamPage(FakeTransport::FakeStream& stream, bool in_peace) {
    const bool is_continued = stream.request.target.find("continue=") != std::string::npos;
    if (is_continued && !in_peace && random_.Below(5) == 0) {
      stream.Head(410, kGoneJson);
      return stream.End();
    }
    const Page page = PageFor(stream.request.target);
    const std::string body = ListProtobuf(page.version, page.objects, page.next);
    stream.Open(kProtobuf);
    if (!in_peace && random_.Below(6) == 0) return BreakOff(stream, body);
    const std::size_t cut = random_.Below(body.size());
    stream.Bytes(body.substr(0, cut));
    stream.Bytes(body.substr(cut));
    stream.End();
  }

  struct Past {
    std::uint64_t version;
    std::string type;
    Object object;
  };

  FakeTransport& transport_;
  Random& random_;
  const Form form_;
  std::vector<Past> history_;
  std::uint64_t version_ = 100;
  std::uint64_t compacted_ = 0;
  std::map<std::string, Page> continued_;
  int tokens_ = 0;
  std::size_t at_ = 0;  // in history_
  FakeTransport::FakeStream* open_ = nullptr;
};

// Safety and liveness under random trouble: what the handler was told adds up to what the server has, with each
// object's life in order, in whatever form it came.
TEST_F(InformerWireTest, AddsUpToTheServersState) {
  for (std::uint64_t seed = 1; seed <= 90; ++seed) {
    const Form form{.is_protobuf = seed % 3 != 0, .streams_list = seed % 3 != 1};
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ModelServer server(transport, random, form);
    std::map<std::string, std::string> told;
    std::size_t errors = 0;
    RestClientOptions rest_options;
    if (form.is_protobuf) SetContentTypes(rest_options, kProtobuf, "");
    RestClient client(loop, transport, nullptr, seed, rest_options);
    Informer<Thing>::Options options;
    options.name = "things";
    options.path = "/api/v1/things";
    options.page_size = options.streamed_page_size = 3;
    options.streams_list = form.streams_list;
    options.decode = DecodeJson;
    options.decode_protobuf = DecodeProtobuf;
    options.seed = seed;
    Informer<Thing>::Handler handler;
    handler.on_add = [&](auto o) { errors += told.emplace(o->name, o->value).second ? 0 : 1; };
    handler.on_update = [&](auto before, auto o) {
      errors += told.contains(o->name) && told[o->name] == before->value ? 0 : 1;
      told[o->name] = o->value;
    };
    handler.on_delete = [&](auto o) {
      errors += told.contains(o->name) && told[o->name] == o->value ? 0 : 1;
      told.erase(o->name);
    };
    Informer<Thing> subject(client, std::move(options), std::move(handler));
    subject.Start();
    loop.Run();
    for (int step = 0; step < 150; ++step) {
      switch (random.Below(6)) {
        case 0:
        case 1: server.Change(); break;
        case 2:
        case 3: server.Serve(false); break;
        case 4: loop.Advance(milliseconds(random.Below(4000))); break;
        default:
          if (random.Below(5) == 0) server.Compact();
          break;
      }
      loop.Run();
    }
    for (int step = 0; step < 60; ++step) {
      server.Serve(true);
      loop.Advance(seconds(5));
    }
    std::map<std::string, std::string> want;
    for (const auto& [name, object] : server.objects) want[name] = object.value;
    EXPECT_EQ(told, want);
    EXPECT_EQ(errors, 0U);
    subject.Stop();
    while (transport.Waiting() > 0) transport.Next()->Fail(ErrorCode::kCancelled, false);
  }
}

}  // namespace
}  // namespace berth::client
