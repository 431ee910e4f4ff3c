// SPDX-License-Identifier: Apache-2.0
// ProvisioningFeed: the Controller's outside: informers of ProvisioningRequests, PodTemplates and what pods are made
// from, writes of status, events, and a timer. Where the cluster does not serve ProvisioningRequests, it says so once
// and waits for them.
#pragma once

#include <memory>

#include "berth/provisioning/controller.h"
#include "berth/shell/client/event_recorder.h"
#include "berth/shell/runner/booking_feed.h"

namespace berth::provisioning {

struct FeedOptions {
  ControllerOptions controller;
  std::uint64_t seed = 0;
  std::string scheduler_name;  // events name it
  std::string hostname;
};

runner::MakeBookingFeed FeedMaker(FeedOptions options);

}  // namespace berth::provisioning
