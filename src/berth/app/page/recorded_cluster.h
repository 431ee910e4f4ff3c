// SPDX-License-Identifier: Apache-2.0
// RecordedCluster: a recording as the page sees it: a cluster and a scheduler at one moment of it, and any other moment
// on request. Going forward replays what lies between, going back begins anew. Thread-safe; calls wait for one another.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/config/types.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/objects.h"
#include "berth/page/core_look.h"
#include "berth/page/decision_feed.h"
#include "berth/page/fleet.h"
#include "berth/page/page_service.h"
#include "berth/page/questions.h"

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
  std::string kubernetes() const { return kubernetes_; }
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
  void Take(const scheduler::Input& input);
  void Show(page::Fleet& fleet) const;
  whatif::ClusterState StateOfNow() const;

  const std::string path_;
  const config::KnownPlugins plugins_;
  page::DecisionFeed& feed_;
  // Since Open():
  std::string kubernetes_;
  config::KubeSchedulerConfiguration configuration_;
  Time from_{}, to_{};
  std::string problem_;  // why the recording cannot be followed to its end; empty: it can
  std::atomic<Time> at_{Time{}};
  std::atomic<bool> is_broken_{false};  // it could not be read again
  mutable std::mutex mutex_;            // guards all below
  std::unique_ptr<replay::Replayer> replayer_;
  std::map<std::string, std::shared_ptr<const api::Node>> nodes_;  // by name
  std::map<std::string, std::shared_ptr<const api::Pod>> pods_;    // by uid
  std::map<std::pair<framework::ObjectKind, std::string>, framework::AnyObject> objects_;
};

}  // namespace berth::app
