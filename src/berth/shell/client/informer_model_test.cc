// SPDX-License-Identifier: Apache-2.0
// An informer against a model of a server with all its troubles.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/shell/client/client_fakes.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/test_wire.h"

namespace berth::client {
namespace {

using namespace test_wire;
using std::chrono::milliseconds;
using std::chrono::seconds;

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
      if (!in_peace && random_.Below(20) == 0) stream.Bytes(form_.Garbage());
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
    const bool is_continued = call->request.target.find("continue=") != std::string::npos;
    if (is_continued && !in_peace && random_.Below(5) == 0) return call->Answer(410, kGoneJson);
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

// Safety and liveness under random trouble: the handler's calls add up to the server's objects, and each object's calls
// come in order, in every wire format.
TEST(InformerModelTest, AddsUpToTheServersState) {
  FakeLoop loop;
  FakeTransport transport;
  for (std::uint64_t seed = 1; seed <= 160; ++seed) {
    const Form form{.is_protobuf = seed % 2 == 0, .streams_list = seed % 4 < 2};
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ModelServer server(transport, random, form);
    std::map<std::string, std::string> seen;
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
    handler.on_add = [&](auto o) { errors += seen.emplace(o->name, o->value).second ? 0 : 1; };
    handler.on_update = [&](auto before, auto o) {
      errors += seen.contains(o->name) && seen[o->name] == before->value ? 0 : 1;
      seen[o->name] = o->value;
    };
    handler.on_delete = [&](auto o) {
      errors += seen.contains(o->name) && seen[o->name] == o->value ? 0 : 1;
      seen.erase(o->name);
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
    EXPECT_EQ(seen, want);
    EXPECT_EQ(errors, 0U);
    subject.Stop();
    while (transport.Waiting() > 0) transport.Next()->Fail(ErrorCode::kCancelled, false);
  }
}

}  // namespace
}  // namespace berth::client
