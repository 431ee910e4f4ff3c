// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/work_report.h"

#include <utility>

#include "berth/app/kubernetes_release.h"
#include "berth/base/log.h"

namespace berth::app {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(200);
// What has been listed is counted when the core has taken it in.
constexpr Duration kSettle = std::chrono::seconds(1);

}  // namespace

WorkReport::WorkReport(client::EventLoop& loop, Sources sources, Sinks sinks)
    : loop_(loop), sources_(std::move(sources)), sinks_(std::move(sinks)) {}

void WorkReport::Start() {
  loop_.Post([self = shared_from_this()] { self->WaitUntilSynced(); });
}

void WorkReport::After(Duration delay, void (WorkReport::*step)()) {
  // The handle only cancels; the loop ends before what the sources use.
  (void)loop_.PostAfter(delay, [weak = weak_from_this(), step] {
    if (const auto self = weak.lock()) (self.get()->*step)();
  });
}

void WorkReport::WaitUntilSynced() {
  const bool has_synced = sources_.has_synced();
  After(has_synced ? kSettle : kLook, has_synced ? &WorkReport::ReportSynced : &WorkReport::WaitUntilSynced);
}

void WorkReport::ReportSynced() {
  sources_.ask_version([weak = weak_from_this()](const std::string& body) {
    const auto self = weak.lock();
    if (!self) return;
    self->sinks_.synced({self->sources_.sizes(), VersionIn(body)});
    self->After(kInterval, &WorkReport::ReportMinute);
  });
}

void WorkReport::ReportMinute() {
  const scheduler::Counts now = sources_.counts();
  const Minute minute{now.scheduled - reported_.scheduled, now.unschedulable - reported_.unschedulable,
                      now.errors - reported_.errors, sources_.sizes()};
  reported_ = now;
  if (minute.scheduled + minute.unschedulable + minute.errors > 0) sinks_.minute(minute);
  After(kInterval, &WorkReport::ReportMinute);
}

WorkReport::Sinks LogReports(std::string schedulers) {
  return {[schedulers = std::move(schedulers)](const WorkReport::Synced& synced) {
            log::Info("app", "Synced with the cluster",
                      {{"nodes", synced.sizes.nodes},
                       {"pods", synced.sizes.pods},
                       {"pending", synced.sizes.pending},
                       {"schedulers", schedulers},
                       {"apiServer", synced.api_server.empty() ? "unknown" : synced.api_server}});
          },
          [](const WorkReport::Minute& minute) {
            log::Info("app", "In the last minute",
                      {{"scheduled", minute.scheduled},
                       {"unschedulable", minute.unschedulable},
                       {"errors", minute.errors},
                       {"pending", minute.sizes.pending},
                       {"nodes", minute.sizes.nodes},
                       {"pods", minute.sizes.pods}});
          }};
}

}  // namespace berth::app
