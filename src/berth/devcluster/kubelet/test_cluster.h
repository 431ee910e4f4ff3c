// SPDX-License-Identifier: Apache-2.0
// For tests of kubelets and controllers: the embedded API server and its clients in one thread and in invented time, a
// scheduler of a few lines, and faults on demand. The same calls give the same run, every time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/codec/json.h"
#include "berth/devcluster/apiserver/server.h"
#include "berth/shell/client/client_fakes.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/one_answer.h"

namespace berth::testing {

namespace json = codec::json;

// What goes wrong with one request.
struct Fault {
  int status = 500;           // of the answer; 0: the connection is lost
  bool takes_effect = false;  // the server does it all the same
  std::string reason = "InternalError";
};

// Calls the server's handler at once; what it answers arrives as work of the loop.
class LoopTransport final : public net::Transport {
 public:
  LoopTransport(client::FakeLoop& loop, net::Handler handler) : loop_(loop), handler_(std::move(handler)) {}

  std::function<std::optional<Fault>(const net::Request& request)> fault;
  std::function<void(const net::Request& request)> on_request;  // writes and reads, not streams
  bool holds_streams = false;                                   // what watches bring waits until ReleaseStreams()

  void Send(net::Request request, net::SendOptions, Done done) override {
    if (on_request) on_request(request);
    const auto injected = fault ? fault(request) : std::nullopt;
    if (!injected) return handler_(std::move(request), std::make_shared<AnswerWriter>(loop_, std::move(done)));
    if (injected->takes_effect) handler_(std::move(request), std::make_shared<AnswerWriter>(loop_, [](const auto&) {}));
    loop_.Post([injected, done = std::move(done)] {
      if (injected->status == 0) return done(Error{ErrorCode::kUnavailable, "connection lost", true, 0});
      const json::object status{{"kind", "Status"},         {"apiVersion", "v1"},         {"status", "Failure"},
                                {"code", injected->status}, {"reason", injected->reason}, {"message", "injected"}};
      done(net::Response{injected->status, {}, codec::WriteJson(status)});
    });
  }

  std::unique_ptr<net::StreamHandle> Stream(net::Request request, net::StreamOptions,
                                            net::StreamCallbacks callbacks) override {
    auto writer = std::make_shared<StreamWriter>(*this, std::move(callbacks));
    streams_.push_back(writer);
    handler_(std::move(request), writer);
    return std::make_unique<Handle>(writer);
  }

  void ReleaseStreams() {
    holds_streams = false;
    for (auto& work : std::exchange(held_, {})) loop_.Post(std::move(work));
  }
  // All watches end as if the connection had gone.
  void BreakStreams() {
    for (const auto& weak : std::exchange(streams_, {})) {
      if (const auto stream = weak.lock()) stream->Break();
    }
  }

 private:
  class AnswerWriter final : public net::ResponseWriter {
   public:
    AnswerWriter(client::FakeLoop& loop, Done done) : loop_(loop), done_(std::move(done)) {}
    void Send(net::Response response) override {
      loop_.Post([done = done_, response = std::move(response)] { done(response); });
    }
    void StartStream(net::Response) override { BERTH_CHECK(false, "a stream was not asked for"); }
    bool Write(std::string_view) override { return false; }
    void End() override {}
    void OnClosed(std::function<void()>) override {}

   private:
    client::FakeLoop& loop_;
    Done done_;
  };

  class StreamWriter final : public net::ResponseWriter, public std::enable_shared_from_this<StreamWriter> {
   public:
    StreamWriter(LoopTransport& transport, net::StreamCallbacks callbacks)
        : transport_(transport), callbacks_(std::move(callbacks)) {}
    void Send(net::Response response) override {
      Later([response](net::StreamCallbacks& callbacks) { callbacks.on_head(response); });
      End();
    }
    void StartStream(net::Response response) override {
      Later([response](net::StreamCallbacks& callbacks) { callbacks.on_head(response); });
    }
    bool Write(std::string_view bytes) override {
      Later([copy = std::string(bytes)](net::StreamCallbacks& callbacks) { callbacks.on_bytes(copy); });
      return !is_over_;
    }
    void End() override {
      Later([this](net::StreamCallbacks& callbacks) {
        is_over_ = true;
        callbacks.on_end({});
      });
    }
    void OnClosed(std::function<void()> closed) override { closed_ = std::move(closed); }
    void Break() {
      Later([this](net::StreamCallbacks& callbacks) {
        is_over_ = true;
        if (closed_) std::exchange(closed_, nullptr)();
        callbacks.on_end(Error{ErrorCode::kUnavailable, "connection lost", true, 0});
      });
    }
    void Cancel() {
      if (is_over_) return;
      is_over_ = true;
      if (closed_) std::exchange(closed_, nullptr)();
    }

   private:
    void Later(std::function<void(net::StreamCallbacks&)> work) {
      auto step = [self = shared_from_this(), work = std::move(work)] {
        if (!self->is_over_) work(self->callbacks_);
      };
      if (transport_.holds_streams) {
        transport_.held_.push_back(std::move(step));
      } else {
        transport_.loop_.Post(std::move(step));
      }
    }

    LoopTransport& transport_;
    net::StreamCallbacks callbacks_;
    std::function<void()> closed_;
    bool is_over_ = false;
  };

  class Handle final : public net::StreamHandle {
   public:
    explicit Handle(std::shared_ptr<StreamWriter> writer) : writer_(std::move(writer)) {}
    ~Handle() override { writer_->Cancel(); }
    void Cancel() override { writer_->Cancel(); }

   private:
    std::shared_ptr<StreamWriter> writer_;
  };

  client::FakeLoop& loop_;
  net::Handler handler_;
  std::deque<std::function<void()>> held_;
  std::vector<std::weak_ptr<StreamWriter>> streams_;
};

struct TestAnswer {
  int status = 0;
  json::value body;
};

// The value at a dotted path ("status.conditions.0.type"), or null.
inline json::value At(const json::value& root, std::string_view path) {
  const json::value* here = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    if (const json::object* object = here->if_object()) {
      here = object->if_contains({part.data(), part.size()});
    } else if (const json::array* array = here->if_array()) {
      here = array->if_contains(static_cast<std::size_t>(std::stoul(std::string(part))));
    } else {
      here = nullptr;
    }
    if (here == nullptr) return nullptr;
  }
  return *here;
}

inline std::string Text(const json::value& root, std::string_view path) {
  const json::value value = At(root, path);
  if (const json::string* text = value.if_string()) return std::string(*text);
  return value.is_null() ? std::string() : codec::WriteJson(value);
}

inline std::int64_t Number(const json::value& root, std::string_view path) {
  const json::value value = At(root, path);
  return value.is_int64() ? value.get_int64() : 0;
}

// "True/Reason" of the condition, or empty.
inline std::string ConditionOf(const json::value& object, std::string_view type) {
  const json::value conditions = At(object, "status.conditions");
  if (!conditions.is_array()) return {};
  for (const json::value& each : conditions.get_array()) {
    if (Text(each, "type") == type) return Text(each, "status") + '/' + Text(each, "reason");
  }
  return {};
}

class TestCluster {
 public:
  explicit TestCluster(apiserver::ApiServerOptions options = {})
      : server_(objects::ResourceTypes(), loop, std::move(options)),
        transport(loop, server_.handler()),
        rest(loop, transport, nullptr, 1),
        events(loop, transport, nullptr, 2) {}

  // Straight to the server, past the faults.
  TestAnswer Call(std::string method, std::string target, std::string body = {},
                  std::string content_type = "application/json") {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    if (!request.body.empty()) request.headers.push_back({"Content-Type", std::move(content_type)});
    const auto writer = std::make_shared<net::OneAnswer>();
    server_.handler()(std::move(request), writer);
    auto body_read = codec::ParseJson(writer->answer.body, {.bytes_max = std::size_t{64} << 20});
    return {writer->answer.status, body_read.ok() ? std::move(*body_read) : json::value()};
  }
  json::value Get(std::string target) { return Call("GET", std::move(target)).body; }
  std::vector<json::value> List(std::string target) {
    const json::value items = At(Get(std::move(target)), "items");
    return items.is_array() ? std::vector<json::value>(items.get_array().begin(), items.get_array().end())
                            : std::vector<json::value>();
  }
  TestAnswer MergePatch(std::string target, std::string body) {
    return Call("PATCH", std::move(target), std::move(body), "application/merge-patch+json");
  }

  // Gives each pod without a node the node with the fewest pods.
  void Schedule() {
    std::map<std::string, int> counts;
    for (const json::value& node : List("/api/v1/nodes")) counts[Text(node, "metadata.name")] = 0;
    if (counts.empty()) return;
    std::vector<json::value> waiting;
    for (const json::value& pod : List("/api/v1/pods")) {
      const std::string node = Text(pod, "spec.nodeName");
      if (node.empty()) {
        waiting.push_back(pod);
      } else {
        ++counts[node];
      }
    }
    for (const json::value& pod : waiting) {
      const auto least = std::min_element(counts.begin(), counts.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
      ++least->second;
      const std::string name = Text(pod, "metadata.name");
      Call("POST", "/api/v1/namespaces/" + Text(pod, "metadata.namespace") + "/pods/" + name + "/binding",
           R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")" + name +
               R"("},"target":{"kind":"Node","name":")" + least->first + R"("}})");
    }
  }

  // Lets time pass until `holds`, at most `max`. `on_step` sees the state after each step that changed it.
  bool Until(const std::function<bool()>& holds, Duration max = std::chrono::seconds(60)) {
    constexpr Duration kStep = std::chrono::milliseconds(10);
    for (Duration passed{}; passed <= max; passed += kStep) {
      loop.Run();
      if (server_.resource_version() != version_seen_) {
        version_seen_ = server_.resource_version();
        if (schedules) Schedule();
        if (on_step) on_step();
      }
      if (holds()) return true;
      loop.Advance(kStep);
    }
    return false;
  }
  void Pass(Duration time) {
    (void)Until([] { return false; }, time);
  }

  client::FakeLoop loop;

 private:
  apiserver::ApiServer server_;
  std::int64_t version_seen_ = -1;

 public:
  LoopTransport transport;
  client::RestClient rest;
  client::RestClient events;
  bool schedules = true;
  std::function<void()> on_step;
};

}  // namespace berth::testing
