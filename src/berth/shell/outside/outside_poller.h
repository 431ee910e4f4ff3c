// SPDX-License-Identifier: Apache-2.0
// OutsidePoller: asks the sources of data from outside (framework/outside_data.h), each at its interval, in the
// background. A server that fails is asked ever more seldom, but at least every five minutes; a file is always checked
// at its interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/scheduler/outside_request.h"
#include "berth/framework/metrics.h"
#include "berth/framework/outside_data.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/http_client.h"

namespace berth::outside {

class OutsidePoller {
 public:
  using Data = Expected<std::shared_ptr<const framework::OutsideData>>;
  // Gets the answer of requests[i], on any thread.
  using Done = std::function<void(std::size_t i, Data data)>;
  using MakeClient = std::function<Expected<std::unique_ptr<net::Transport>>(net::HttpClientOptions)>;
  using RunWork = std::function<void(std::function<void()>)>;

  static constexpr Duration kIntervalMax = std::chrono::minutes(5);

  // `rest` asks the API server, `make_client` makes a client for any other server, `run_work` runs a parser beside the
  // loop. All must outlive it, and `done` be callable until Stop(). Fails on a URL or a file that cannot be used.
  static Expected<std::unique_ptr<OutsidePoller>> Make(const std::vector<scheduler::OutsideRequest>& requests,
                                                       client::RestClient& rest, const MakeClient& make_client,
                                                       RunWork run_work, framework::Metrics& metrics,
                                                       std::uint64_t seed, Done done);
  ~OutsidePoller();

  // On the loop's thread.
  void Start();
  // No request begins after it, and `done` is not called again. Any thread but that of `done`.
  void Stop();

 private:
  class Source;
  OutsidePoller() = default;
  std::vector<std::shared_ptr<Source>> sources_;
};

}  // namespace berth::outside
