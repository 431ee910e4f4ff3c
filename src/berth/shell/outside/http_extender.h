// SPDX-License-Identifier: Apache-2.0
// HttpExtenders: the HTTP side of kube-scheduler's extender protocol. It keeps pods and nodes as the API server has
// them where extenders want to see them whole, asks what the core wants asked, and gives the answers back as its input.
// All on the event loop's thread; large answers are parsed beside it.
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

namespace berth::outside {

class HttpExtenders {
 public:
  // On any thread, once for each AskExtender.
  using Done = std::function<void(scheduler::ExtenderDone)>;
  using MakeClient = std::function<Expected<std::unique_ptr<net::Transport>>(net::HttpClientOptions)>;
  using RunWork = std::function<void(std::function<void()>)>;

  // An answer with all nodes of a large cluster in it; a longer one fails.
  static constexpr std::size_t kAnswerBytesMax = std::size_t{256} << 20;
  // Of one extender's failures one a while is logged, with the number of those that were not.
  static constexpr Duration kLogPeriod = std::chrono::seconds(10);

  // `extenders` in the order in which they are asked, as the core has them. `loop`, `metrics` and what the functions
  // rest on must outlive it, and `done` be callable until Stop(). Fails, naming the extender, on a URL, certificate or
  // key that cannot be used.
  static Expected<std::unique_ptr<HttpExtenders>> Make(std::vector<config::Extender> extenders, client::EventLoop& loop,
                                                       const MakeClient& make_client, RunWork run_work,
                                                       framework::Metrics& metrics, Done done);
  ~HttpExtenders();

  // Whether some extender is asked about pods at all, and whether one has no cache of nodes of its own.
  bool wants_pods() const { return wants_pods_; }
  bool wants_nodes() const { return wants_nodes_; }

  // Objects as they come from the API server. Of pods those are kept that have no node and that some extender is
  // interested in; those on nodes where an extender wants to see victims whole.
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
