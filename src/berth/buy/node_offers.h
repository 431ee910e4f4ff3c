// SPDX-License-Identifier: Apache-2.0
// NodeOffers: the shapes of a catalogue zone by zone, each with the node that it makes, the pods of DaemonSets that
// come with it, and the room that is left for others. A value, and pure functions; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/buy/node_catalogue.h"
#include "berth/framework/objects.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/manifests.h"

namespace berth::buy {

struct Offer {
  std::size_t shape = 0;                                 // of the catalogue
  std::string zone;                                      // empty: none
  std::shared_ptr<const api::Node> model;                // with a name of its own, that of no real node
  std::vector<std::shared_ptr<const api::Pod>> daemons;  // on the model
};

struct AskedObjects {
  std::vector<Offer> offers;
  whatif::Additions additions;  // of the manifests, without pods of DaemonSets on offered nodes; pods share models
};

// Empty `zones`: all. Fails where a manifest is wrong, where no shape is in one of the zones, and where a shape is like
// a node that there is not.
Expected<AskedObjects> MakeOffers(const NodeCatalogue& catalogue, const std::vector<std::string>& zones,
                                  const whatif::Manifests& manifests, const whatif::ClusterState& state, Time now);

// The node as it would be called so.
std::shared_ptr<const api::Node> NodeNamed(const Offer& offer, const std::string& name);
// The pod of a DaemonSet on that node.
api::Pod DaemonOn(const api::Pod& daemon, const std::string& node);
// What the drivers of the node that `like` names say of it, as they would say it of the new node: its CSINode and its
// ResourceSlices.
std::vector<framework::AnyObject> ObjectsLike(const std::vector<framework::AnyObject>& of_cluster,
                                              std::string_view like, const std::string& name);

}  // namespace berth::buy
