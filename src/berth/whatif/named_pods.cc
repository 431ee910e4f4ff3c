// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/named_pods.h"

#include <algorithm>
#include <array>

#include "berth/api/selector.h"
#include "berth/whatif/additions.h"

namespace berth::whatif {
namespace {

struct KindNames {
  const char* kind;
  std::array<std::string_view, 3> names;
};

constexpr std::array kKinds = {
    KindNames{"Pod", {"pod", "pods", "po"}},
    KindNames{"Deployment", {"deployment", "deployments", "deploy"}},
    KindNames{"ReplicaSet", {"replicaset", "replicasets", "rs"}},
    KindNames{"StatefulSet", {"statefulset", "statefulsets", "sts"}},
    KindNames{"DaemonSet", {"daemonset", "daemonsets", "ds"}},
    KindNames{"Job", {"job", "jobs", "job"}},
    KindNames{"ReplicationController", {"replicationcontroller", "replicationcontrollers", "rc"}},
};

bool IsOf(const api::Pod& pod, const ObjectName& workload) {
  const Workload top = WorkloadOf(pod);
  if (top.kind == workload.kind && top.name == workload.name) return true;
  const auto& owner = pod.metadata.controller;
  return owner && owner->kind == workload.kind && owner->name == workload.name;
}

template <typename Is>
NamedPods Find(const ClusterState& state, std::string what, Is is) {
  NamedPods found{std::move(what), 0, {}};
  for (const auto& pod : state.pods) {
    if (!is(*pod)) continue;
    ++found.count;
    if (pod->spec.node_name.empty()) found.waiting.push_back(pod);
  }
  std::ranges::sort(found.waiting, {}, [](const auto& pod) { return pod->metadata.name; });
  return found;
}

}  // namespace

Expected<ObjectName> ParseObjectName(std::string_view text, const std::string& default_namespace) {
  const std::size_t slash = text.find('/');
  const std::string quoted = "\"" + std::string(text) + "\"";
  if (slash == std::string_view::npos)
    return InvalidError(quoted +
                        " should be KIND/NAME, for example pod/web-7d5b or deployment/web, or pod or podgroup");
  std::string_view kind = text.substr(0, slash);
  kind = kind.substr(0, kind.find('.'));
  const auto at = std::ranges::find_if(
      kKinds, [kind](const KindNames& each) { return std::ranges::find(each.names, kind) != each.names.end(); });
  if (at == kKinds.end()) {
    return InvalidError(quoted +
                        ": of the kinds pod, deployment, replicaset, statefulset, daemonset, job and "
                        "replicationcontroller one should be before the slash");
  }
  ObjectName name{at->kind, default_namespace, std::string(text.substr(slash + 1))};
  if (const std::size_t second = name.name.find('/'); second != std::string::npos) {
    name.namespace_name = name.name.substr(0, second);
    name.name.erase(0, second + 1);
  }
  if (name.name.empty() || name.namespace_name.empty() || name.name.find('/') != std::string::npos)
    return InvalidError(quoted + " should be KIND/NAME or KIND/NAMESPACE/NAME");
  return name;
}

Expected<NamedPods> PodsOfWorkload(const ClusterState& state, const ObjectName& workload) {
  const std::string what = workload.kind + ' ' + workload.namespace_name + '/' + workload.name;
  NamedPods found = Find(state, what, [&](const api::Pod& pod) {
    return pod.metadata.namespace_name == workload.namespace_name && IsOf(pod, workload);
  });
  if (found.count == 0) return Error{ErrorCode::kNotFound, "the cluster has no pod of " + what};
  return found;
}

Expected<NamedPods> PodsSelected(const ClusterState& state, const std::string& selector,
                                 const std::string& namespace_name) {
  const auto parsed = api::ParseLabelSelector(selector);
  if (!parsed.ok()) return InvalidError("the selector \"" + selector + "\": " + parsed.error().message);
  const std::string what = "pods of namespace " + namespace_name + " with " + selector;
  NamedPods found = Find(state, what, [&](const api::Pod& pod) {
    return pod.metadata.namespace_name == namespace_name && parsed->Matches(pod.metadata.labels);
  });
  if (found.count == 0) return Error{ErrorCode::kNotFound, "the cluster has no " + what};
  return found;
}

}  // namespace berth::whatif
