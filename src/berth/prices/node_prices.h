// SPDX-License-Identifier: Apache-2.0
// Reading and writing the prices of nodes through an API server. Callbacks come on the client's loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/prices/price_plan.h"
#include "berth/shell/client/rest_client.h"

namespace berth::prices {

struct NodeListOptions {
  std::string label_selector;
  std::vector<std::string> annotations;  // the keys that are wanted
  int page_size = 500;
  // How often a list whose continue token has expired is started again.
  int restarts_max = 3;
  // Pages of one list: a server that hands out continue tokens for ever is broken.
  int pages_max = 100'000;
};

using NodesDone = std::function<void(Expected<std::vector<PricedNode>>)>;

// Reads all nodes, page by page. `count` (may be null) follows the number of nodes read so far. `rest` must outlive the
// call.
void ListNodes(client::RestClient& rest, NodeListOptions options, std::shared_ptr<std::atomic<std::size_t>> count,
               NodesDone done);

// Reads one node. kNotFound: there is no such node.
void GetNode(client::RestClient& rest, const std::string& name, std::vector<std::string> annotations, NodesDone done);

// Carries out changes, several at a time.
class NodePatcher {
 public:
  static constexpr std::size_t kInFlightMax = 16;
  // After this many failures no further change is begun, since what is wrong will stay wrong.
  static constexpr std::size_t kFailuresMax = 10;
  // The patch says the same however often it is sent, so it is tried again also when it may have taken effect.
  static constexpr int kTries = 3;

  enum class State : std::uint8_t { kNotTried, kDone, kGone, kFailed };  // kGone: there is no such node any more
  struct Outcome {
    std::vector<State> states;  // by change
    std::size_t failures = 0;
    Error first_error;  // of these
  };

  // `rest` must outlive it.
  NodePatcher(client::RestClient& rest, std::string key, std::vector<PriceChange> changes);
  // After destruction no further change is begun, and `done` is not called.
  ~NodePatcher();
  NodePatcher(const NodePatcher&) = delete;
  NodePatcher& operator=(const NodePatcher&) = delete;

  // Is called once. Any thread.
  void Start(std::function<void(Outcome)> done);
  // Changes that have ended, one way or another. Any thread.
  std::size_t ended_count() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::prices
