// SPDX-License-Identifier: Apache-2.0
// For the tests of this folder: a few small resource types, a clock that stands still, and ways to talk to a server.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/devcluster/apiserver/server.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/transport.h"

namespace berth::apiserver {

namespace json = codec::json;

// pods, nodes, namespaces, configmaps, leases, deployments, poddisruptionbudgets, both kinds of events. They have no
// defaults; validation refuses spec.refused.
const std::vector<objects::ResourceType>& TestTypes();

class ManualClock final : public Clock {
 public:
  Time Now() const override { return Time(Duration(now_.load())); }
  void Advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<std::int64_t> now_{std::int64_t{1'700'000'000} * 1'000'000};
};

// Parses what must be JSON.
json::value Json(std::string_view text);
// The value at a dotted path ("metadata.labels.a", "items.0.kind"), or null.
json::value At(const json::value& root, std::string_view path);

struct Answer {
  int status = 0;
  json::value body;
  net::Response response;

  std::string Text(std::string_view path) const;  // a string at the path, or what is there as JSON
};

// A request without a transport; the answer is whatever the handler sends before it returns.
Answer Call(const net::Handler& handler, std::string method, std::string target, std::string body = "",
            std::vector<net::Header> headers = {});

// The same over a transport.
Answer Call(net::Transport& transport, std::string method, std::string target, std::string body = "",
            std::vector<net::Header> headers = {});

// A watch without a transport: collects lines as they are written.
class RecordedWatch final : public net::ResponseWriter {
 public:
  static std::shared_ptr<RecordedWatch> Open(const net::Handler& handler, std::string target,
                                             std::vector<net::Header> headers = {});

  void Send(net::Response response) override;
  void StartStream(net::Response response) override;
  bool Write(std::string_view bytes) override;
  void End() override { has_ended = true; }
  void Abort() override { is_cut_off = true; }
  void OnClosed(std::function<void()> closed) override { on_closed = std::move(closed); }
  std::size_t BufferedBytes() const override { return buffered; }

  // The events so far, each as "ADDED name@version", and forgets them.
  std::vector<std::string> Take();
  std::vector<json::value> TakeDocuments();

  net::Response head;
  bool has_ended = false;
  bool is_cut_off = false;
  bool is_broken = false;    // writes fail
  bool reads = true;         // false: what is written stays buffered
  std::size_t buffered = 0;  // what the peer leaves unread
  std::function<void()> on_closed;

 private:
  std::string bytes_;
};

// A watch over a transport.
class StreamedWatch {
 public:
  StreamedWatch(net::Transport& transport, std::string target);
  // The next event as "ADDED name@version"; empty when none comes within ten seconds, "END" at the end.
  std::string Next();
  void Cancel() { handle_->Cancel(); }
  int status() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string bytes_;
  bool has_ended_ = false;
  int status_ = 0;
  std::unique_ptr<net::StreamHandle> handle_;
};

// Documents for the types above.
std::string PodJson(std::string_view name, std::string_view more = "");
std::string BindingJson(std::string_view pod, std::string_view node, std::string_view uid = "");

}  // namespace berth::apiserver
