// SPDX-License-Identifier: Apache-2.0
#include "berth/page/cluster_watch.h"

#include <optional>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/decode_protobuf_frame.h"

namespace berth::page {

ClusterWatch::ClusterWatch(client::RestClient& rest, Fleet& fleet, const Clock& clock, std::uint64_t seed)
    : fleet_(fleet), clock_(clock) {
  MakeNodeInformer(rest, seed);
  MakePodInformer(rest, seed + 1);
}

void ClusterWatch::Start() {
  has_started_ = true;
  nodes_->Start();
  pods_->Start();
}

void ClusterWatch::Stop() {
  if (!has_started_) return;
  pods_->Stop();
  nodes_->Stop();
}

std::string ClusterWatch::Problem() const {
  for (const client::ReflectorStats& stats : {nodes_->Stats(), pods_->Stats()}) {
    if (stats.failure) return stats.failure->message;
  }
  return HasSynced() ? "" : "the cluster's nodes and pods have not all been listed yet";
}

void ClusterWatch::MakeNodeInformer(client::RestClient& rest, std::uint64_t seed) {
  client::Informer<api::Node>::Options options;
  options.name = "nodes";
  options.path = "/api/v1/nodes";
  options.streams_list = true;
  options.keeps_objects = false;  // the fleet has them
  options.seed = seed;
  options.decode = [](const simdjson::dom::element& object) { return api::DecodeNode(object); };
  options.decode_protobuf = [](std::string_view message) { return api::DecodeNodeProtobuf(message); };
  client::Informer<api::Node>::Handler handler;
  handler.on_add = [this](std::shared_ptr<const api::Node> node) { fleet_.SetNode(std::move(node)); };
  handler.on_update = [this](const std::shared_ptr<const api::Node>&, std::shared_ptr<const api::Node> node) {
    fleet_.SetNode(std::move(node));
  };
  handler.on_gone = [this](const client::Reflector::Identity& node) { fleet_.RemoveNode(node.name); };
  nodes_ = std::make_unique<client::Informer<api::Node>>(rest, std::move(options), std::move(handler));
}

void ClusterWatch::MakePodInformer(client::RestClient& rest, std::uint64_t seed) {
  client::Informer<api::Pod>::Options options;
  options.name = "pods";
  options.path = "/api/v1/pods";
  // A pod that has ended looks like one that was deleted, as it does to the scheduler.
  options.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
  options.streams_list = true;
  options.keeps_objects = false;
  options.seed = seed;
  options.decode = [](const simdjson::dom::element& object) { return api::DecodePod(object); };
  options.decode_protobuf = [](std::string_view message) { return api::DecodePodProtobuf(message); };
  const auto set = [this](std::shared_ptr<const api::Pod> pod) {
    fleet_.SetPod(std::move(pod), has_pods_ ? std::optional(clock_.Now()) : std::nullopt);
  };
  client::Informer<api::Pod>::Handler handler;
  handler.on_add = set;
  handler.on_update = [set](const std::shared_ptr<const api::Pod>&, std::shared_ptr<const api::Pod> pod) {
    set(std::move(pod));
  };
  handler.on_gone = [this](const client::Reflector::Identity& pod) {
    fleet_.RemovePod(pod.namespace_name, pod.name, pod.uid);
  };
  handler.on_synced = [this] { has_pods_ = true; };
  pods_ = std::make_unique<client::Informer<api::Pod>>(rest, std::move(options), std::move(handler));
}

}  // namespace berth::page
