// SPDX-License-Identifier: Apache-2.0
// WorkReport: what a running berth says of itself at the default verbosity: one line when it knows the cluster, and one
// for each minute in which it did something. On the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "berth/base/time.h"
#include "berth/core/scheduler/counts.h"
#include "berth/shell/client/event_loop.h"

namespace berth::app {

class WorkReport : public std::enable_shared_from_this<WorkReport> {
 public:
  static constexpr Duration kInterval = std::chrono::minutes(1);

  struct Sizes {
    std::uint64_t nodes = 0;
    std::uint64_t pods = 0;     // on nodes
    std::uint64_t pending = 0;  // ours, in whichever queue
    bool operator==(const Sizes&) const = default;
  };
  struct Synced {
    Sizes sizes;
    std::string api_server;  // "v1.36.3"; empty when it does not say
  };
  struct Minute {
    std::uint64_t scheduled = 0;
    std::uint64_t unschedulable = 0;  // attempts that ended with a refusal
    std::uint64_t errors = 0;
    Sizes sizes;
  };
  struct Sources {
    std::function<bool()> has_synced;
    std::function<scheduler::Counts()> counts;
    std::function<Sizes()> sizes;
    // Reads /version; calls `done` with its body, or with "".
    std::function<void(std::function<void(std::string body)> done)> ask_version;
  };
  struct Sinks {
    std::function<void(const Synced&)> synced;
    std::function<void(const Minute&)> minute;
  };

  // Always in a shared_ptr. `loop` and what the sources use must outlive it.
  WorkReport(client::EventLoop& loop, Sources sources, Sinks sinks);

  // Any thread.
  void Start();

 private:
  void WaitUntilSynced();
  void ReportSynced();
  void After(Duration delay, void (WorkReport::*step)());
  void ReportMinute();

  client::EventLoop& loop_;
  const Sources sources_;
  const Sinks sinks_;
  scheduler::Counts reported_;
};

// Sinks that write into the log; `schedulers` are the profiles' names.
WorkReport::Sinks LogReports(std::string schedulers);

}  // namespace berth::app
