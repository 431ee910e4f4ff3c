// SPDX-License-Identifier: Apache-2.0
#include "berth/page/cluster_watch.h"

#include <chrono>
#include <optional>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/decode_protobuf_frame.h"
#include "berth/api/decode_resource_claim.h"

namespace berth::page {

ClusterWatch::ClusterWatch(client::RestClient& rest, Fleet& fleet, const Clock& clock, std::uint64_t seed,
                           SchedulerWatch scheduler)
    : fleet_(fleet), clock_(clock), scheduler_(std::move(scheduler)), inbox_(fleet, clock), devices_(fleet) {
  MakeNodeInformer(rest, seed);
  MakePodInformer(rest, seed + 1);
  MakeDeviceInformers(rest, seed + 2);
}

void ClusterWatch::Start() {
  const std::lock_guard lock(mutex_);
  has_started_ = true;
  // Before the lists: what they do not have comes afterwards.
  if (scheduler_.set_inbox) scheduler_.set_inbox(&inbox_);
  nodes_->Start();
  pods_->Start();
  slices_->Start();
  claims_->Start();
}

void ClusterWatch::Stop() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(has_started_, false)) return;
  if (scheduler_.set_inbox) scheduler_.set_inbox(nullptr);
  EndOwn();
  slices_->Stop();
  claims_->Stop();
}

// The lists are of a moment after the inbox was set, so what is in it is as new as they are or newer, but that a change
// may be in both. The last change of an object is in the inbox in the end, or before the lists. For that the informers
// must have ended when the inbox is applied: an old change of theirs must not come after a new one from it.
void ClusterWatch::CatchUp() {
  if (!scheduler_.set_inbox) return;
  {
    const std::lock_guard lock(mutex_);
    if (!has_started_) return;
    if (!takes_from_scheduler_) {
      if (!HaveListed() || !scheduler_.has_synced()) return;
      EndOwn();
      takes_from_scheduler_ = true;
    }
  }
  inbox_.Apply();
}

bool ClusterWatch::HasSynced() const {
  const std::lock_guard lock(mutex_);
  return takes_from_scheduler_ || HaveListed();
}

bool ClusterWatch::TakesFromScheduler() const {
  const std::lock_guard lock(mutex_);
  return takes_from_scheduler_;
}

std::string ClusterWatch::Problem() const {
  const std::lock_guard lock(mutex_);
  if (takes_from_scheduler_) return scheduler_.problem();
  if (nodes_ != nullptr) {
    for (const client::ReflectorStats& stats : {nodes_->Stats(), pods_->Stats()}) {
      if (stats.failure) return stats.failure->message;
    }
  }
  return HaveListed() ? "" : "the cluster's nodes and pods have not all been listed yet";
}

bool ClusterWatch::HaveListed() const { return nodes_ != nullptr && nodes_->HasSynced() && pods_->HasSynced(); }

// They know the version of each object, which takes memory.
void ClusterWatch::EndOwn() {
  if (nodes_ == nullptr) return;
  pods_->Stop();
  nodes_->Stop();
  pods_.reset();
  nodes_.reset();
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

// Whether there are any, and whether they may be read, is nobody's trouble: the picture is without them then.
void ClusterWatch::MakeDeviceInformers(client::RestClient& rest, std::uint64_t seed) {
  client::ReflectorOptions common;
  common.may_be_missing = true;
  common.keeps_objects = false;
  common.backoff_max = std::chrono::minutes(5);
  client::Informer<api::ResourceSlice>::Options slices{common, {}, {}};
  slices.name = "resourceslices";
  slices.path = "/apis/resource.k8s.io/v1/resourceslices";
  slices.seed = seed;
  slices.decode = [](const simdjson::dom::element& object) { return api::DecodeResourceSlice(object); };
  slices.decode_protobuf = [](std::string_view message) { return api::DecodeResourceSliceProtobuf(message); };
  client::Informer<api::ResourceSlice>::Handler of_slices;
  of_slices.on_add = [this](const auto& slice) { devices_.SetSlice(*slice); };
  of_slices.on_update = [this](const auto&, const auto& slice) { devices_.SetSlice(*slice); };
  of_slices.on_gone = [this](const client::Reflector::Identity& slice) { devices_.RemoveSlice(slice.name); };
  slices_ = std::make_unique<client::Informer<api::ResourceSlice>>(rest, std::move(slices), std::move(of_slices));
  client::Informer<api::ResourceClaim>::Options claims{common, {}, {}};
  claims.name = "resourceclaims";
  claims.path = "/apis/resource.k8s.io/v1/resourceclaims";
  claims.seed = seed + 1;
  claims.decode = [](const simdjson::dom::element& object) { return api::DecodeResourceClaim(object); };
  claims.decode_protobuf = [](std::string_view message) { return api::DecodeResourceClaimProtobuf(message); };
  client::Informer<api::ResourceClaim>::Handler of_claims;
  of_claims.on_add = [this](const auto& claim) { devices_.SetClaim(*claim); };
  of_claims.on_update = [this](const auto&, const auto& claim) { devices_.SetClaim(*claim); };
  of_claims.on_gone = [this](const client::Reflector::Identity& claim) {
    devices_.RemoveClaim(claim.namespace_name, claim.name);
  };
  claims_ = std::make_unique<client::Informer<api::ResourceClaim>>(rest, std::move(claims), std::move(of_claims));
}

}  // namespace berth::page
