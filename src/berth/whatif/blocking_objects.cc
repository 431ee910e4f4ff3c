// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/blocking_objects.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "berth/api/resource_claim.h"
#include "berth/api/storage.h"
#include "berth/framework/object_kinds.h"
#include "berth/whatif/free_devices.h"

namespace berth::whatif {
namespace {

constexpr std::size_t kNodesShownMax = 3;
constexpr std::string_view kWaits = "WaitForFirstConsumer";
constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";

class BlockingObjectFinder {
 public:
  BlockingObjectFinder(const ClusterState& state, const api::Pod& pod, const framework::Release& release)
      : state_(state), pod_(pod), release_(release) {
    for (const framework::AnyObject& object : state.objects) {
      std::visit([&](const auto& each) { Enter(*each, framework::KeyOf(object)); }, object);
    }
  }

  std::vector<std::string> Go() {
    for (const api::Volume& volume : pod_.spec.volumes) {
      if (volume.source.kind == api::VolumeKind::kPersistentVolumeClaim) SeeVolumeClaim(volume.source.id, false);
      if (volume.source.kind == api::VolumeKind::kEphemeral)
        SeeVolumeClaim(pod_.metadata.name + '-' + volume.name, true);
    }
    for (const api::PodResourceClaim& entry : pod_.spec.resource_claims) SeeResourceClaim(entry);
    if (sentences_.size() > kBlockingObjectsMax) sentences_.resize(kBlockingObjectsMax);
    return std::move(sentences_);
  }

 private:
  template <typename T>
  using ByKey = std::unordered_map<std::string, const T*>;

  void Enter(const api::PersistentVolume& object, std::string key) { volumes_[std::move(key)] = &object; }
  void Enter(const api::PersistentVolumeClaim& object, std::string key) { volume_claims_[std::move(key)] = &object; }
  void Enter(const api::StorageClass& object, std::string key) { storage_classes_[std::move(key)] = &object; }
  void Enter(const api::ResourceClaim& object, std::string key) { resource_claims_[std::move(key)] = &object; }
  void Enter(const api::DeviceClass& object, std::string key) { device_classes_[std::move(key)] = &object; }
  template <typename T>
  void Enter(const T&, const std::string&) {}

  template <typename T>
  static const T* Find(const ByKey<T>& objects, const std::string& key) {
    const auto at = objects.find(key);
    return at == objects.end() ? nullptr : at->second;
  }

  // Says that an object does not exist, unless objects of that kind could not be read.
  void SayAbsent(std::string_view resource, std::string sentence) {
    if (!IsLeftOut(state_, resource)) Say(std::move(sentence));
  }
  void Say(std::string sentence) { sentences_.push_back(std::move(sentence)); }

  void SeeVolumeClaim(const std::string& name, bool is_ephemeral) {
    const std::string key = pod_.metadata.namespace_name + '/' + name;
    const std::string said = "PersistentVolumeClaim " + key;
    const api::PersistentVolumeClaim* const claim = Find(volume_claims_, key);
    if (claim == nullptr) {
      SayAbsent("persistentvolumeclaims",
                said + (is_ephemeral ? " does not exist yet: a controller makes it for the pod"
                                     : " does not exist: the pod waits until somebody creates it"));
    } else if (claim->metadata.deletion_time) {
      Say(said + " is being deleted");
    } else if (!claim->volume_name.empty()) {
      SeeVolume(said, claim->volume_name);
    } else {
      SeeSelectedNode(said, *claim);
      SeeStorageClass(said, claim->storage_class_name.value_or(""));
    }
  }

  // Only that node takes the pod until the volume is there, or its provisioner gives up.
  void SeeSelectedNode(const std::string& claim, const api::PersistentVolumeClaim& of) {
    const std::string* const node = of.metadata.annotations.Find(kSelectedNode);
    if (node == nullptr || node->empty()) return;
    const bool is_there =
        std::ranges::any_of(state_.nodes, [&](const auto& each) { return each->metadata.name == *node; });
    Say(claim + " waits for a volume that was asked for on node " + *node +
        (is_there ? ": no other node takes the pod" : ", which does not exist: no node takes the pod") +
        " until its provisioner, or somebody, removes the annotation " + std::string(kSelectedNode));
  }

  void SeeVolume(const std::string& claim, const std::string& name) {
    const std::string said = claim + " is bound to PersistentVolume " + name;
    const api::PersistentVolume* const volume = Find(volumes_, name);
    if (volume == nullptr) return SayAbsent("persistentvolumes", said + ", which does not exist");
    if (volume->spec.node_affinity)
      SayWhere(said + ", which", "can mount",
               [&](const api::Node& node) { return MatchesAny(*volume->spec.node_affinity, node); });
    for (const std::string_view label : {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"}) {
      if (const std::string* const zone = volume->metadata.labels.Find(label); zone != nullptr)
        Say(said + ", which is labelled " + std::string(label) + "=" + *zone + ": nodes of other zones are refused");
    }
  }

  void SeeStorageClass(const std::string& claim, const std::string& name) {
    if (name.empty()) return Say(claim + " is unbound and names no StorageClass: it waits for a volume made by hand");
    const api::StorageClass* const storage_class = Find(storage_classes_, name);
    if (storage_class == nullptr)
      return SayAbsent("storageclasses", claim + " is unbound, and its StorageClass " + name + " does not exist");
    if (storage_class->volume_binding_mode.value_or("") != kWaits) {
      return Say(claim + " is unbound, and its StorageClass " + name +
                 " binds at once: the pod waits for its volume, whichever node it may get");
    }
    if (storage_class->allowed_topologies.empty()) return;
    SayWhere(claim + " is unbound, and its StorageClass " + name + " makes volumes that", "can mount",
             [&](const api::Node& node) { return IsAllowed(*storage_class, node); });
  }

  static bool IsAllowed(const api::StorageClass& storage_class, const api::Node& node) {
    return std::ranges::any_of(storage_class.allowed_topologies, [&](const auto& term) {
      return std::ranges::all_of(term, [&](const api::TopologySelectorRequirement& requirement) {
        const std::string* const value = node.metadata.labels.Find(requirement.key);
        return value != nullptr && std::ranges::find(requirement.values, *value) != requirement.values.end();
      });
    });
  }

  void SeeResourceClaim(const api::PodResourceClaim& entry) {
    std::optional<std::string> name = entry.claim_name;
    if (!name && entry.template_name) {
      const auto& made = pod_.status.resource_claim_statuses;
      const auto at = std::ranges::find(made, entry.name, &api::PodResourceClaimStatus::name);
      if (at == made.end()) return SayUnmade(entry);
      name = at->claim_name;
    }
    if (!name) return;  // the template asked for nothing
    const std::string key = pod_.metadata.namespace_name + '/' + *name;
    const std::string said = "ResourceClaim " + key;
    const api::ResourceClaim* const claim = Find(resource_claims_, key);
    if (claim == nullptr) return SayAbsent("resourceclaims", said + " does not exist");
    if (claim->metadata.deletion_time) return Say(said + " is being deleted");
    if (claim->allocation && claim->allocation->node_selector) {
      return SayWhere(said + " is allocated devices that", "can reach",
                      [&](const api::Node& node) { return MatchesAny(*claim->allocation->node_selector, node); });
    }
    if (claim->allocation) return;
    SayMissingClasses(said, *claim);
    for (const api::DeviceRequest& request : claim->spec.requests) SayFree(said, request);
  }

  // Says what a request asks for and on which nodes how much of it is free, for each of its alternatives.
  void SayFree(const std::string& claim, const api::DeviceRequest& request) {
    if (!free_) free_.emplace(state_, release_);
    const auto say = [&](const std::string& name, const api::ExactDeviceRequest& each) {
      if (Find(device_classes_, each.device_class_name) != nullptr)
        Say(claim + ", request " + name + ": " + free_->Describe(each));
    };
    if (request.exactly) say(request.name, *request.exactly);
    for (const api::ExactDeviceRequest& each : request.first_available) say(request.name + '/' + each.name, each);
  }

  void SayUnmade(const api::PodResourceClaim& entry) {
    const std::string said = "the ResourceClaim of " + entry.name + " is not made yet";
    const bool is_there = std::ranges::any_of(state_.admission, [&](const AdmissionObject& object) {
      return object.kind == "ResourceClaimTemplate" && object.namespace_name == pod_.metadata.namespace_name &&
             object.name == *entry.template_name;
    });
    const bool is_known = !IsLeftOut(state_, "resourceclaimtemplates");
    Say(is_there || !is_known ? said + ": a controller makes it from ResourceClaimTemplate " + *entry.template_name
                              : said + ": there is no ResourceClaimTemplate " + *entry.template_name);
  }

  void SayMissingClasses(const std::string& claim, const api::ResourceClaim& of) {
    const auto see = [&](const api::ExactDeviceRequest& request) {
      if (Find(device_classes_, request.device_class_name) == nullptr)
        SayAbsent("deviceclasses",
                  claim + " asks for devices of DeviceClass " + request.device_class_name + ", which does not exist");
    };
    for (const api::DeviceRequest& request : of.spec.requests) {
      if (request.exactly) see(*request.exactly);
      // One alternative that works is enough: a request is blocked only where none has a class.
      const bool has_none = std::ranges::none_of(request.first_available, [&](const api::ExactDeviceRequest& each) {
        return Find(device_classes_, each.device_class_name) != nullptr;
      });
      if (has_none) std::ranges::for_each(request.first_available, see);
    }
  }

  static bool MatchesAny(const std::vector<api::NodeSelectorTerm>& terms, const api::Node& node) {
    return std::ranges::any_of(terms, [&](const api::NodeSelectorTerm& term) {
      return term.Matches(node.metadata.name, node.metadata.labels);
    });
  }

  // "..., which 2 of 6 nodes can mount: a-1, a-2"; nothing where all can.
  template <typename Reaches>
  void SayWhere(const std::string& begin, const std::string& verb, const Reaches& reaches) {
    std::vector<std::string_view> names;
    for (const auto& node : state_.nodes) {
      if (reaches(*node)) names.push_back(node->metadata.name);
    }
    if (names.size() == state_.nodes.size()) return;
    std::string text =
        begin + ' ' + std::to_string(names.size()) + " of " + std::to_string(state_.nodes.size()) + " nodes " + verb;
    std::ranges::sort(names);
    for (std::size_t i = 0; i < std::min(names.size(), kNodesShownMax); ++i)
      text.append(i == 0 ? ": " : ", ").append(names[i]);
    if (names.size() > kNodesShownMax) text += " and " + std::to_string(names.size() - kNodesShownMax) + " more";
    Say(std::move(text));
  }

  const ClusterState& state_;
  const api::Pod& pod_;
  const framework::Release& release_;
  ByKey<api::PersistentVolume> volumes_;
  ByKey<api::PersistentVolumeClaim> volume_claims_;
  ByKey<api::StorageClass> storage_classes_;
  ByKey<api::ResourceClaim> resource_claims_;
  ByKey<api::DeviceClass> device_classes_;
  std::vector<std::string> sentences_;
  std::optional<FreeDevices> free_;
};

}  // namespace

std::vector<std::string> BlockingObjects(const ClusterState& state, const api::Pod& pod,
                                         const framework::Release& release) {
  return BlockingObjectFinder(state, pod, release).Go();
}

}  // namespace berth::whatif
