// SPDX-License-Identifier: Apache-2.0
// HttpExtenders: the HTTP side of kube-scheduler's extender protocol. It sends the core's questions to extenders and
// returns the answers as inputs. For extenders that want whole objects it keeps the JSON of pods and nodes. All on the
// event loop's thread; workers parse large answers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/core/config/extenders.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/metrics.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/net/http_client.h"

namespace simdjson::dom {
class element;
}
namespace berth::tracing {
class Tracer;
}

namespace berth::outside {

class HttpExtenders {
 public:
  // Called once for each AskExtender, on any thread.
  using Done = std::function<void(scheduler::ExtenderDone)>;
  using MakeClient = std::function<Expected<std::unique_ptr<net::Transport>>(net::HttpClientOptions)>;
  using RunWork = std::function<void(std::function<void()>)>;

  // Enough for an answer with all nodes of a large cluster. A longer one fails.
  static constexpr std::size_t kAnswerBytesMax = std::size_t{256} << 20;
  // One failure of an extender is logged in this time, with the number of those that were not logged.
  static constexpr Duration kLogPeriod = std::chrono::seconds(10);

  // `extenders` in the order in which they are asked, as the core has them. `loop`, `metrics` and what the functions
  // rest on must outlive it, and `done` be callable until Stop(). `tracer` null: no question is traced. Fails, naming
  // the extender, on a URL, certificate or key that cannot be used.
  static Expected<std::unique_ptr<HttpExtenders>> Make(std::vector<config::Extender> extenders, client::EventLoop& loop,
                                                       const MakeClient& make_client, RunWork run_work,
                                                       framework::Metrics& metrics, Done done,
                                                       tracing::Tracer* tracer = nullptr);
  ~HttpExtenders();

  // Whether some extender is asked about pods at all, and whether one has no cache of nodes of its own.
  bool wants_pods() const { return wants_pods_; }
  bool wants_nodes() const { return wants_nodes_; }

  // Objects from the API server. It keeps pods without a node that some extender is interested in, and pods on nodes if
  // an extender wants victims as whole objects.
  void SetPod(const api::Pod& pod, const simdjson::dom::element& object);
  void RemovePod(std::string_view uid);
  void SetNode(const api::Node& node, const simdjson::dom::element& object);
  // Harmless when a node of that name and another uid has come meanwhile.
  void RemoveNode(std::string_view name, std::string_view uid);
  std::size_t pod_count() const { return pods_.size(); }

  void Ask(scheduler::AskExtender&& question);

  // `done` is not called again. Any thread but that of `done`.
  void Stop();

 private:
  class One;
  struct Shared;
  HttpExtenders() = default;

  std::vector<std::shared_ptr<One>> extenders_;
  std::shared_ptr<Shared> shared_;
  bool wants_pods_ = false;
  bool wants_nodes_ = false;
  bool wants_victims_ = false;  // some extender with a preemptVerb has no cache of its own
  struct KeptNode {
    std::string uid;
    std::shared_ptr<const std::string> json;
  };
  StringHashMap<std::shared_ptr<const std::string>> pods_;  // by uid
  StringHashMap<KeptNode> nodes_;                           // by name
};

}  // namespace berth::outside
