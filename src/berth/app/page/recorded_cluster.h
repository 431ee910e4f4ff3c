// SPDX-License-Identifier: Apache-2.0
// RecordedCluster: a recording as the page sees it: a cluster and a scheduler at one moment of it, and any other moment
// on request. Going forward replays what lies between, going back begins anew. Thread-safe; calls wait for one another.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/page/core_look.h"
#include "berth/page/decision_feed.h"
#include "berth/page/fleet.h"
#include "berth/page/fleet_devices.h"
#include "berth/page/page_service.h"
#include "berth/page/questions.h"
#include "berth/replay/recorded_objects.h"
#include "berth/shell/recording/header.h"

namespace berth::replay {
class Replayer;
}

namespace berth::app {

class RecordedCluster {
 public:
  // `recording` is a directory, whose newest recording is meant, or a file. It is read to its end once, which tells
  // when that is. `feed` must outlive it and gets the decisions.
  static Expected<std::unique_ptr<RecordedCluster>> Open(const std::string& recording, config::KnownPlugins plugins,
                                                         page::DecisionFeed& feed);
  ~RecordedCluster();

  const std::string& path() const { return path_; }
  std::string kubernetes() const { return header_->kubernetes; }
  // Does not wait.
  page::TimelineState State() const { return {from_, to_, at_, problem_}; }
  // Changes `fleet` to what the cluster was then.
  Expected<void> SeekTo(Time at, page::Fleet& fleet);

  page::CoreSources Core();
  page::ClusterSource Source();

 private:
  RecordedCluster(std::string path, config::KnownPlugins plugins, page::DecisionFeed& feed);

  Expected<void> Begin();
  Expected<void> AdvanceTo(Time until);
  void Show(page::Fleet& fleet);
  void ShowDevices(page::Fleet& fleet);
  whatif::ClusterState StateOfNow() const;

  const std::string path_;
  const config::KnownPlugins plugins_;
  page::DecisionFeed& feed_;
  // Since Open():
  std::shared_ptr<const recording::RecordingHeader> header_;
  config::KubeSchedulerConfiguration configuration_;
  Time from_{}, to_{};
  std::string problem_;  // why the recording cannot be followed to its end; empty: it can
  std::atomic<Time> at_{Time{}};
  std::atomic<bool> is_broken_{false};  // it could not be read again
  mutable std::mutex mutex_;            // guards all below
  std::unique_ptr<replay::Replayer> replayer_;
  replay::RecordedObjects objects_;
  std::optional<page::FleetDevices> devices_;                                   // of the fleet that is shown
  std::map<replay::RecordedObjects::Key, framework::AnyObject> devices_shown_;  // what it has been told
};

}  // namespace berth::app
