// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/workloads.h"

#include <string_view>
#include <type_traits>
#include <variant>

#include "berth/whatif/replacement.h"

namespace berth::rebalance {
namespace {

constexpr int kOwnersMax = 10;  // length of a chain of owners
// The label of Deployments' pods; other controllers that make ReplicaSets have labels that end with it.
constexpr std::string_view kHashLabel = "pod-template-hash";

template <typename T>
constexpr bool kIsSetOfPods = std::is_same_v<T, api::ReplicaSet> || std::is_same_v<T, api::StatefulSet> ||
                              std::is_same_v<T, api::ReplicationController>;

// "Deployment", "Rollout.argoproj.io": kinds of Kubernetes' own groups go without.
std::string KindName(const api::OwnerReference& owner) {
  const std::string_view version = owner.api_version;
  const std::size_t slash = version.find('/');
  const std::string_view group = slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
  const bool is_own = group.find('.') == std::string_view::npos || group.ends_with(".k8s.io");
  return is_own ? owner.kind : owner.kind + "." + std::string(group);
}

// The name without the hash of the template; empty: there is none in it.
std::string NameWithoutHash(const api::Pod& pod, const std::string& name) {
  for (const auto& [key, hash] : pod.metadata.labels) {
    if (std::string_view(key).ends_with(kHashLabel) && !hash.empty() && name.ends_with("-" + std::string(hash)))
      return name.substr(0, name.size() - hash.size() - 1);
  }
  return {};
}

}  // namespace

Workloads::Workloads(const whatif::ClusterState& state) {
  for (const framework::AnyObject& any : state.objects) {
    std::visit(
        [this](const auto& object) {
          using Object = std::remove_const_t<typename std::decay_t<decltype(object)>::element_type>;
          if constexpr (kIsSetOfPods<Object>) {
            if (object->metadata.controller) owner_of_[object->metadata.uid] = *object->metadata.controller;
          }
        },
        any);
  }
}

std::string Workloads::Of(const api::Pod& pod) const {
  if (!pod.metadata.controller) return {};
  const api::OwnerReference* owner = &*pod.metadata.controller;
  for (int i = 0; i < kOwnersMax; ++i) {
    const auto next = owner_of_.find(owner->uid);
    if (next == owner_of_.end()) break;
    owner = &next->second;
  }
  const std::string prefix = pod.metadata.namespace_name + "/";
  if (owner->kind == "ReplicaSet") {
    const whatif::TopOwner top = whatif::TopOwnerOf(pod);
    if (top.kind != owner->kind) return prefix + top.kind + " " + top.name;
    if (const std::string name = NameWithoutHash(pod, owner->name); !name.empty())
      return prefix + KindName(*owner) + " " + name;
  }
  return prefix + KindName(*owner) + " " + owner->name;
}

}  // namespace berth::rebalance
