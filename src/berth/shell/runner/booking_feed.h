// SPDX-License-Identifier: Apache-2.0
// BookingFeed: the interface of what asks the core for room and ends promises (provisioning/provisioning_feed.h). It is
// beside Feeds: promises that were made before have to reach the core after all objects, and before the first decision.
// On the event loop's thread, unless a function says otherwise.
#pragma once

#include <functional>
#include <memory>

#include "berth/base/time.h"
#include "berth/core/scheduler/io.h"
#include "berth/shell/client/rest_client.h"

namespace berth::runner {

class BookingFeed {
 public:
  virtual ~BookingFeed() = default;
  // Once; begins to read. Any thread.
  virtual void Start() = 0;
  // Once, after Start(): this process decides from now on. Pushes the promises that were made before, and then calls
  // `on_ready`. `reads_anew`: what was read before this call may be too old.
  virtual void Lead(bool reads_anew, std::function<void()> on_ready) = 0;
  // No push begins after it has returned. Not on the loop's thread, unless that has ended or is the only one.
  virtual void Stop() = 0;
  virtual void Take(scheduler::BookingReport&& report) = 0;
};

// Makes one that writes with `rest` and sends events with `events_rest`. `push` takes inputs of the core.
using MakeBookingFeed = std::function<std::unique_ptr<BookingFeed>(
    client::RestClient& rest, client::RestClient& events_rest, std::function<void(scheduler::Input)> push)>;

}  // namespace berth::runner
