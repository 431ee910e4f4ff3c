// SPDX-License-Identifier: Apache-2.0
// Additions: what manifests add to a cluster: nodes, objects, and the pods that the controllers of Deployments,
// StatefulSets, ... would create, with names and uids that are the same in every run. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/framework/objects.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/manifests.h"

namespace berth::whatif {

class PodIndex;

// What pods belong to, as a user knows it: a ReplicaSet's pods are its Deployment's. A pod of nobody is its own.
struct Workload {
  std::string kind;
  std::string namespace_name;
  std::string name;
  auto operator<=>(const Workload&) const = default;
};
Workload WorkloadOf(const api::Pod& pod);

// Pods of one workload that the API server would refuse, for the same reason.
struct RefusedPods {
  Workload workload;
  std::string first;  // the key of the first of them
  std::size_t count = 0;
  std::string why;  // in the API server's words
};

// A pod that would be created. With AdditionOptions::shares_models pods of one template have one model, which is one of
// them as a whole; else each is its own.
struct NewPod {
  explicit NewPod(std::shared_ptr<const api::Pod> pod) : model(std::move(pod)), name(model->metadata.name) {}
  NewPod(std::shared_ptr<const api::Pod> of_model, std::string of_pod)
      : model(std::move(of_model)), name(std::move(of_pod)) {}

  std::shared_ptr<const api::Pod> model;
  std::string name;

  std::string Key() const;
  std::string Uid() const;
  // The whole pod; the model itself where it is that.
  std::shared_ptr<const api::Pod> Make() const;
};

struct Additions {
  std::vector<std::shared_ptr<const api::Node>> nodes;  // new, or in place of one of the same name
  std::vector<framework::AnyObject> objects;
  // Of the cluster's DaemonSets on new nodes: they are there before anything else is.
  std::vector<std::shared_ptr<const api::Pod>> daemon_pods;
  std::vector<NewPod> pods;          // in the order in which they would be created
  std::vector<RefusedPods> refused;  // with AdditionOptions::applies_quotas; they are not in `pods`
  // What a reader of the answer should know, one line each.
  std::vector<std::string> notes;

  // Of `pods`, each once.
  std::vector<std::shared_ptr<const api::Pod>> Models() const;
};

struct AdditionOptions {
  Time now{};                           // creation time of what is new
  std::set<std::string> removed_nodes;  // no DaemonSet gets a pod there
  // So many nodes more, like the cluster's node of that name.
  std::size_t node_copies = 0;
  std::string node_like;
  // Neither pods nor nodes, and no claims of pods: the other objects, and ReplicaSets, by whose selectors pods spread.
  bool has_objects_only = false;
  // Leaves out pods that ResourceQuotas of the cluster have no room for. Pods of DaemonSets are not counted.
  bool applies_quotas = false;
  // For many pods: those of a template that differ in their names alone take the memory of one.
  bool shares_models = false;
  std::size_t pods_max = 500'000;  // more are an error
  // Of the state, for who keeps it; null: its pods are looked through.
  const PodIndex* index = nullptr;
};

// What the admission plugin DefaultStorageClass gives to a claim that names no class: the newest of the default ones
// among these; nullopt: none.
std::optional<std::string> DefaultStorageClass(const std::vector<framework::AnyObject>& of_cluster,
                                               const std::vector<framework::AnyObject>& added, Time now);
// The claim with that class, where it has none and is bound to no volume.
std::shared_ptr<const api::PersistentVolumeClaim> WithClass(std::shared_ptr<const api::PersistentVolumeClaim> claim,
                                                            const std::optional<std::string>& storage_class);

inline constexpr std::size_t kNodeCopiesMax = 100'000;

// Pods of a workload that `state` has count as its replicas: only those that it lacks are added. The cluster's own
// DaemonSets get pods on new nodes. An error names the manifest and the field.
Expected<Additions> MakeAdditions(const Manifests& manifests, const ClusterState& state,
                                  const AdditionOptions& options);

}  // namespace berth::whatif
