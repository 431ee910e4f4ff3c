// SPDX-License-Identifier: Apache-2.0
// StatusWriter: sends patches of pods' status in the background. The newest patch of a pod replaces an older one that
// has not been sent. A patch that fails for a passing reason is sent again until it succeeds or the pod is deleted.
// Only the event loop's thread may use it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "berth/base/hash_map.h"
#include "berth/framework/operation.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/request_lanes.h"

namespace berth::runner {

class StatusWriter {
 public:
  static constexpr std::size_t kInFlightMax = 16;

  // `writer` and `loop` must outlive it. `pace`: see RequestLanesOptions.
  StatusWriter(client::ApiWriter& writer, client::EventLoop& loop, std::shared_ptr<client::ServerPace> pace = nullptr)
      : writer_(writer),
        loop_(loop),
        lanes_(std::make_shared<client::RequestLanes>(
            loop,
            client::RequestLanesOptions{.in_flight_max = static_cast<int>(kInFlightMax), .pace = std::move(pace)})) {}
  ~StatusWriter();

  void Write(framework::PodStatusWrite write);
  // To be called before a pod is bound. Drops a patch that has not been sent, and calls `then` once none is in flight,
  // so that a late "Unschedulable" does not follow the binding.
  void Settle(const std::string& uid, std::function<void()> then);

  // The number of patches that wait, are in flight or back off: at most one for each pod.
  std::size_t pending() const { return entries_.size(); }

 private:
  struct Entry {
    std::optional<framework::PodStatusWrite> next;     // to be sent
    std::optional<framework::PodStatusWrite> sending;  // in flight
    std::function<void()> settled;                     // called once the patch in flight has ended
    int failures = 0;
    bool is_queued = false;  // in its lane
  };

  using Entries = StringHashMap<Entry>;

  // A map that is empty after a flood of patches gives its slots back.
  static constexpr std::size_t kSlotsKeptMax = 1'024;

  void Erase(Entries::iterator entry);
  void Enqueue(const std::string& uid, Entry& entry);
  bool Send(const std::string& uid, client::RequestLanes::Ended ended);
  void Sent(const std::string& uid, const Expected<void>& result);

  client::ApiWriter& writer_;
  client::EventLoop& loop_;
  Entries entries_;                                    // by uid
  const std::shared_ptr<client::RequestLanes> lanes_;  // by namespace
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The body of the strategic merge patch. `now` becomes lastTransitionTime where the condition's status changed.
std::string StatusPatch(const framework::PodStatusWrite& write, Time now);

}  // namespace berth::runner
