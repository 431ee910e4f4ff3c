// SPDX-License-Identifier: Apache-2.0
#include "berth/app/page/recorded_cluster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "berth/app/questions/question_cluster.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/replay/replayer.h"
#include "berth/shell/recording/block_file.h"
#include "berth/whatif/cluster_state.h"

namespace berth::app {

RecordedCluster::RecordedCluster(std::string path, config::KnownPlugins plugins, page::DecisionFeed& feed)
    : path_(std::move(path)), plugins_(plugins), feed_(feed) {}

RecordedCluster::~RecordedCluster() = default;

Expected<std::unique_ptr<RecordedCluster>> RecordedCluster::Open(const std::string& recording,
                                                                 config::KnownPlugins plugins,
                                                                 page::DecisionFeed& feed) {
  BERTH_ASSIGN_OR_RETURN(std::string path, recording::NewestRecording(recording));
  std::unique_ptr<RecordedCluster> cluster(new RecordedCluster(std::move(path), plugins, feed));
  BERTH_RETURN_IF_ERROR(cluster->Begin());
  cluster->from_ = cluster->replayer_->header().started_at;
  cluster->header_ = std::make_shared<const recording::RecordingHeader>(cluster->replayer_->header());
  BERTH_ASSIGN_OR_RETURN(cluster->configuration_, cluster->replayer_->Configuration());
  BERTH_RETURN_IF_ERROR(cluster->AdvanceTo(Time::max()));
  cluster->to_ = cluster->replayer_->reached();
  cluster->at_ = cluster->to_;
  if (const auto& difference = cluster->replayer_->difference())
    cluster->problem_ = "decision " + std::to_string(difference->decision) +
                        " is not as it was recorded: " + difference->what + "; the page ends there";
  if (!cluster->replayer_->damage().empty()) cluster->problem_ = cluster->replayer_->damage();
  return cluster;
}

Expected<void> RecordedCluster::SeekTo(Time at, page::Fleet& fleet) {
  const std::lock_guard lock(mutex_);
  const Time wanted = std::clamp(at, from_, to_);
  is_broken_ = true;
  if (wanted < at_.load() || replayer_ == nullptr) BERTH_RETURN_IF_ERROR(Begin());
  BERTH_RETURN_IF_ERROR(AdvanceTo(wanted));
  is_broken_ = false;
  at_ = wanted;
  Show(fleet);
  return {};
}

page::CoreSources RecordedCluster::Core() {
  page::CoreSources core;
  core.ask = [this](const page::CoreSources::Question& question) {
    const std::lock_guard lock(mutex_);
    // A reading that failed has left the core of some earlier moment, or none.
    if (replayer_ != nullptr) question(replayer_->for_questions(), replayer_->now(), replayer_->wall_ahead());
  };
  core.why_not = [this]() -> std::optional<std::string> {
    if (is_broken_) return "the recording is being read, or could not be";
    return std::nullopt;
  };
  for (const config::Profile& profile : configuration_.profiles) core.scheduler_names.push_back(profile.scheduler_name);
  return core;
}

page::ClusterSource RecordedCluster::Source() {
  page::ClusterSource source;
  source.read = [this](const std::function<bool()>&) -> Expected<whatif::ClusterState> { return StateOfNow(); };
  source.now = [this] { return State().at; };
  source.core_for = CoreForQuestions(configuration_, plugins_, [header = header_](const std::string& path) {
    return recording::FilesOf(*header)(path);
  });
  return source;
}

Expected<void> RecordedCluster::Begin() {
  objects_ = {};
  feed_.Clear();
  replayer_.reset();
  replay::Replayer::Watcher watcher;
  watcher.on_input = [this](const scheduler::Input& input) { objects_.Take(input); };
  watcher.on_decision = [this](std::uint64_t, const scheduler::Decision& decision) {
    feed_.Note(decision, replayer_->wall_now());
  };
  BERTH_ASSIGN_OR_RETURN(replayer_, replay::Replayer::Open(path_, plugins_, std::move(watcher)));
  return {};
}

Expected<void> RecordedCluster::AdvanceTo(Time until) {
  for (;;) {
    BERTH_ASSIGN_OR_RETURN(const bool has_more, replayer_->Turn(until));
    if (!has_more) return {};
  }
}

void RecordedCluster::Show(page::Fleet& fleet) {
  const page::FleetCopy shown = fleet.Copy();
  std::set<std::shared_ptr<const api::Node>> same_nodes(shown.nodes.begin(), shown.nodes.end());
  std::set<std::shared_ptr<const api::Pod>> same_pods(shown.pods.begin(), shown.pods.end());
  for (const auto& pod : shown.pods) {
    const api::ObjectMeta& meta = pod->metadata;
    if (!objects_.pods().contains(meta.uid)) fleet.RemovePod(meta.namespace_name, meta.name, meta.uid);
  }
  for (const auto& node : shown.nodes) {
    if (!objects_.nodes().contains(node->metadata.name)) fleet.RemoveNode(node->metadata.name);
  }
  for (const auto& [name, node] : objects_.nodes()) {
    if (!same_nodes.contains(node)) fleet.SetNode(node);
  }
  for (const auto& [uid, pod] : objects_.pods()) {
    if (!same_pods.contains(pod)) fleet.SetPod(pod, std::nullopt);
  }
  ShowDevices(fleet);
}

void RecordedCluster::ShowDevices(page::Fleet& fleet) {
  if (!devices_) devices_.emplace(fleet);
  for (const auto& [key, object] : std::exchange(devices_shown_, objects_.others())) {
    if (!devices_shown_.contains(key)) devices_->Remove(key.first, key.second);
  }
  for (const auto& [key, object] : devices_shown_) devices_->Set(object);
}

whatif::ClusterState RecordedCluster::StateOfNow() const {
  const std::lock_guard lock(mutex_);
  whatif::ClusterState state = objects_.State();
  state.source = path_;
  state.kubernetes_version = header_->kubernetes;
  state.read_at = at_;
  return state;
}

}  // namespace berth::app
