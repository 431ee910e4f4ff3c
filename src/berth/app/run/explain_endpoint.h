// SPDX-License-Identifier: Apache-2.0
// ExplainEndpoint: /explain of the secure port. The running core answers, between two turns, on a thread that waits for
// them so that the port's own never does. Questions cannot hold the scheduler up: one at a time, each ends after
// kTurnTimeMax, and they get at most a tenth of the core's time. What comes meanwhile is answered with 429.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/base/worker_pool.h"
#include "berth/shell/net/transport.h"
#include "berth/shell/net/url.h"
#include "berth/shell/runner/scheduler_shell.h"

namespace berth::app {

class ExplainEndpoint {
 public:
  using Done = std::function<void(net::Response)>;

  // After so much time in the core nothing more is tried, and the answer says what is missing.
  static constexpr Duration kTurnTimeMax = std::chrono::milliseconds(40);
  // After a question none is taken for so many times as long as it kept the core.
  static constexpr int kRestFactor = 9;
  static constexpr Duration kRestMin = std::chrono::milliseconds(20);
  // Pods in one list, and bytes of what is said of each.
  static constexpr std::size_t kListedMax = 500;
  static constexpr std::size_t kWhyBytesMax = 1024;

  struct Sources {
    // As SchedulerShell::Ask().
    std::function<void(const runner::SchedulerShell::Question&)> ask;
    // Why the core decides nothing now, and so cannot be asked; nullopt: it does.
    std::function<std::optional<std::string>()> why_not;
    std::vector<std::string> not_asked;  // see whatif::LiveRecord
  };

  // What the functions rest on, and `clock`, must outlive it.
  ExplainEndpoint(Sources sources, const Clock& clock);

  // An authorized GET of `path`, which is decoded and "/explain" or below it; of `target` only the query counts. `done`
  // is called once, at once or from another thread. On one thread.
  void Answer(const net::Request& request, const net::Target& target, const std::string& path, Done done);

 private:
  void List(const net::Request& request, const net::Target& target, Done done);
  void ExplainOne(const net::Request& request, const net::Target& target, const std::string& namespace_name,
                  const std::string& name, Done done);
  // `look` is called with the core, between turns, and `make` afterwards, when these go on.
  void AskCore(const net::Request& request, runner::SchedulerShell::Question look, std::function<net::Response()> make,
               Done done);

  const Sources sources_;
  const Clock& clock_;
  const net::Response page_;
  std::atomic<bool> is_busy_{false};  // a question is under way
  std::atomic<Time> rest_until_{Time{}};
  WorkerPool workers_{1};  // the last: its work uses the others
};

// The web page of /explain: HTML with one style and one script, and nothing that is loaded from elsewhere.
std::string_view ExplainPage();

}  // namespace berth::app
