// SPDX-License-Identifier: Apache-2.0
// What the tests of questions that are asked again and again share: changes of a cluster, and cores by the defaults.
// Tests only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "berth/ask/asked_cluster.h"
#include "berth/ask/followed_state.h"
#include "berth/whatif/state_builder.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::ask {

inline Expected<CoreToMake> DefaultCore(const whatif::ClusterState&, const Pods&, OtherSchedulers, std::string_view) {
  return CoreToMake{whatif::OptionsOf(), {}};
}

inline StateChange PodChange(std::shared_ptr<const api::Pod> pod) {
  StateChange change;
  change.kind = whatif::kPods;
  change.namespace_name = pod->metadata.namespace_name;
  change.name = pod->metadata.name;
  whatif::ClusterState one;
  const bool is_finished =
      pod->status.phase == api::PodPhase::kSucceeded || pod->status.phase == api::PodPhase::kFailed;
  (is_finished ? one.finished_pods : one.pods).push_back(std::move(pod));
  (is_finished ? one.finished_pod_details : one.pod_details).push_back(std::make_shared<const api::PodDetails>());
  change.object = std::make_shared<const whatif::ClusterState>(std::move(one));
  return change;
}

inline StateChange PodGone(const std::string& namespace_name, const std::string& name, const std::string& uid = "") {
  StateChange change;
  change.kind = whatif::kPods;
  change.namespace_name = namespace_name;
  change.name = name;
  change.uid = uid;
  return change;
}

inline StateChange NodeChange(std::shared_ptr<const api::Node> node) {
  StateChange change;
  change.kind = whatif::kNodes;
  change.name = node->metadata.name;
  whatif::ClusterState one;
  one.nodes.push_back(std::move(node));
  change.object = std::make_shared<const whatif::ClusterState>(std::move(one));
  return change;
}

inline StateChange NodeGone(const std::string& name) {
  StateChange change;
  change.kind = whatif::kNodes;
  change.name = name;
  return change;
}

inline StateChange ObjectChange(framework::AnyObject object) {
  StateChange change;
  change.kind = 2 + static_cast<std::size_t>(framework::KindOf(object));
  std::visit(
      [&](const auto& each) {
        change.namespace_name = each->metadata.namespace_name;
        change.name = each->metadata.name;
      },
      object);
  whatif::ClusterState one;
  one.objects.push_back(std::move(object));
  change.object = std::make_shared<const whatif::ClusterState>(std::move(one));
  return change;
}

}  // namespace berth::ask
