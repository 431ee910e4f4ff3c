// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/node_offers.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "berth/base/edit_distance.h"
#include "berth/base/text.h"
#include "berth/whatif/daemon_pods.h"
#include "berth/whatif/pod_templates.h"

namespace berth::buy {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";
// No node of a cluster is called so.
constexpr std::string_view kModelPrefix = "berth-offer-";

bool IsOfDaemonSet(const api::Pod& pod) {
  return pod.metadata.controller && pod.metadata.controller->kind == "DaemonSet";
}

bool HasDaemonSets(const whatif::Manifests& manifests, const whatif::ClusterState& state) {
  return std::ranges::any_of(manifests.documents, [](const auto& each) { return each.kind == "DaemonSet"; }) ||
         std::ranges::any_of(state.pods, [](const auto& pod) { return IsOfDaemonSet(*pod); });
}

whatif::Manifest ManifestOf(const CatalogueShape& shape, const Offer& offer) {
  whatif::Manifest manifest{shape.where, "Node", "", offer.model->metadata.name, shape.manifest};
  codec::json::object& metadata = manifest.object["metadata"].as_object();
  metadata["name"] = manifest.name;
  if (!offer.zone.empty()) metadata["labels"].as_object()[kZoneLabel] = offer.zone;
  return manifest;
}

Expected<std::vector<Offer>> OffersOf(const NodeCatalogue& catalogue, const std::vector<std::string>& zones) {
  std::vector<Offer> offers;
  std::set<std::string, std::less<>> known;
  for (std::size_t i = 0; i < catalogue.shapes.size(); ++i) {
    const CatalogueShape& shape = catalogue.shapes[i];
    if (shape.count_max == 0) continue;
    const std::vector<std::string> none = {""};
    for (const std::string& zone : shape.zones.empty() ? none : shape.zones) {
      known.insert(zone);
      if (!zones.empty() && std::ranges::find(zones, zone) == zones.end()) continue;
      Offer offer{i, zone, nullptr, {}};
      api::Node node = *shape.node;
      if (!zone.empty()) node.metadata.labels.Set(kZoneLabel, zone);
      offer.model = std::make_shared<const api::Node>(std::move(node));
      offer.model = NodeNamed(offer, std::string(kModelPrefix) + std::to_string(offers.size()));
      offers.push_back(std::move(offer));
    }
  }
  for (const std::string& zone : zones) {
    if (known.contains(zone)) continue;
    std::vector<std::string_view> names(known.begin(), known.end());
    std::erase(names, "");
    if (names.empty()) return InvalidError("the catalogue has no zones, and none called " + Quoted(zone));
    return InvalidError("the catalogue has no shape in zone " + Quoted(zone) + "; the nearest is " +
                        std::string(NearestName(zone, names)));
  }
  return offers;
}

}  // namespace

std::shared_ptr<const api::Node> NodeNamed(const Offer& offer, const std::string& name) {
  auto node = std::make_shared<api::Node>(*offer.model);
  node->metadata.name = name;
  node->metadata.uid = whatif::SimulatedUid("node", "", name);
  node->metadata.labels.Set(kHostname, name);
  return node;
}

api::Pod DaemonOn(const api::Pod& daemon, const std::string& node) {
  api::Pod pod = daemon;
  pod.metadata.name += '-' + node;
  pod.metadata.uid = whatif::SimulatedUid("pod", pod.metadata.namespace_name, pod.metadata.name);
  pod.spec.node_name = node;
  // It is where it is, so that pods on different nodes are alike.
  pod.spec.node_affinity.reset();
  pod.status = {};
  pod.status.phase = api::PodPhase::kRunning;
  return pod;
}

std::vector<framework::AnyObject> ObjectsLike(const std::vector<framework::AnyObject>& of_cluster,
                                              std::string_view like, const std::string& name) {
  std::vector<framework::AnyObject> objects;
  if (like.empty()) return objects;
  for (const framework::AnyObject& object : of_cluster) {
    if (const auto* csi = std::get_if<std::shared_ptr<const api::CsiNode>>(&object);
        csi != nullptr && (*csi)->metadata.name == like) {
      auto copy = std::make_shared<api::CsiNode>(**csi);
      copy->metadata.name = name;
      copy->metadata.uid = whatif::SimulatedUid("csinode", "", name);
      objects.emplace_back(std::shared_ptr<const api::CsiNode>(std::move(copy)));
    } else if (const auto* slice = std::get_if<std::shared_ptr<const api::ResourceSlice>>(&object);
               slice != nullptr && (*slice)->nodes.node_name == like) {
      auto copy = std::make_shared<api::ResourceSlice>(**slice);
      copy->metadata.name += '-' + name;
      copy->metadata.uid = whatif::SimulatedUid("resourceslice", "", copy->metadata.name);
      copy->nodes.node_name = name;
      // A pool of devices belongs to its node.
      copy->pool_name = copy->pool_name == like ? name : copy->pool_name + '-' + name;
      objects.emplace_back(std::shared_ptr<const api::ResourceSlice>(std::move(copy)));
    }
  }
  return objects;
}

Expected<AskedObjects> MakeOffers(const NodeCatalogue& catalogue, const std::vector<std::string>& zones,
                                  const whatif::Manifests& manifests, const whatif::ClusterState& state, Time now) {
  AskedObjects asked;
  BERTH_ASSIGN_OR_RETURN(asked.offers, OffersOf(catalogue, zones));
  for (const CatalogueShape& shape : catalogue.shapes) {
    if (shape.like.empty()) continue;
    if (std::ranges::none_of(state.nodes, [&](const auto& node) { return node->metadata.name == shape.like; }))
      return InvalidError(shape.where + ".like: there is no node " + Quoted(shape.like));
  }
  whatif::AdditionOptions options;
  options.now = now;
  options.applies_quotas = true;
  options.shares_models = true;
  whatif::Manifests with_models = manifests;
  std::map<std::string, std::size_t, std::less<>> offer_of;
  if (HasDaemonSets(manifests, state)) {
    for (std::size_t i = 0; i < asked.offers.size(); ++i) {
      const Offer& offer = asked.offers[i];
      offer_of[offer.model->metadata.name] = i;
      with_models.documents.push_back(ManifestOf(catalogue.shapes[offer.shape], offer));
    }
  }
  BERTH_ASSIGN_OR_RETURN(asked.additions, whatif::MakeAdditions(with_models, state, options));
  // True: the pod is one of a DaemonSet on an offer's model, which has it now.
  const auto is_taken = [&](const std::shared_ptr<const api::Pod>& pod) {
    if (!IsOfDaemonSet(*pod)) return false;
    const auto pinned = whatif::PinnedNode(*pod);
    const auto at = pinned ? offer_of.find(*pinned) : offer_of.end();
    if (at == offer_of.end()) return false;
    asked.offers[at->second].daemons.push_back(pod);
    return true;
  };
  std::erase_if(asked.additions.pods, [&](const whatif::NewPod& pod) { return is_taken(pod.model); });
  std::erase_if(asked.additions.daemon_pods, is_taken);
  std::erase_if(asked.additions.nodes, [&](const auto& node) { return offer_of.contains(node->metadata.name); });
  return asked;
}

}  // namespace berth::buy
