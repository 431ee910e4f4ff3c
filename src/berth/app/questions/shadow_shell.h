// SPDX-License-Identifier: Apache-2.0
// ShadowShell: what `berth shadow` has around its Shadow. The same feeds and the same turns as `berth run`; in the
// place of the part that carries outputs out there is none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/base/worker_pool.h"
#include "berth/framework/metrics.h"
#include "berth/framework/release.h"
#include "berth/shadow/shadow.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/outside/outside_poller.h"
#include "berth/shell/runner/feeds.h"
#include "berth/shell/runner/turn_runner.h"

namespace berth::outside {
class HttpExtenders;
}

namespace berth::app {

class ShadowShell {
 public:
  struct Options {
    std::uint64_t seed = 0;
    std::uint64_t decisions_max = 0;        // after which no further one is compared; 0: no end
    std::function<void()> on_looking = {};  // once, when all has been listed; on a thread of turns
    std::function<void()> on_done = {};     // once, after decisions_max; on a thread of turns
    outside::OutsidePoller::MakeClient make_client;
    framework::Metrics* metrics = &framework::Metrics::None();
    int release_minor = framework::kDefaultRelease;  // of the API server
  };

  // `rest`, `clock` and what the options rest on must outlive it. Before it is destroyed, Stop() must have returned and
  // the event loop must have ended.
  static Expected<std::unique_ptr<ShadowShell>> Make(std::unique_ptr<shadow::Shadow> shadow, client::RestClient& rest,
                                                     const Clock& clock, Options options);
  ~ShadowShell();

  void Start();
  // Compares what has been seen, for so long at most, and ends the threads. Not on a thread of turns.
  void Stop(Duration grace);

  // Any thread but those of turns.
  shadow::ShadowReport Report();
  bool HasSynced() const { return feeds_->HasSynced(); }
  std::vector<runner::FeedSource> Sources() const { return feeds_->Sources(); }
  // As of the latest turn. Any thread.
  std::uint64_t decision_count() const;

 private:
  class Turns;

  ShadowShell(std::unique_ptr<shadow::Shadow> shadow, client::RestClient& rest, const Clock& clock, Options options);
  Expected<void> MakeParts();

  client::RestClient& rest_;
  const Clock& clock_;
  const Options options_;
  bool is_stopped_ = false;
  runner::TurnRunner runner_;
  std::unique_ptr<Turns> turns_;
  std::unique_ptr<outside::HttpExtenders> extenders_;  // none; feeds tell them of objects
  std::unique_ptr<runner::Feeds> feeds_;
  WorkerPool workers_{2};  // large answers of other servers
};

}  // namespace berth::app
