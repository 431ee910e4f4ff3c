// SPDX-License-Identifier: Apache-2.0
// Which pods of a cluster are meant by "pod/web-1", "deployment.apps/web", "job/train" or a label selector. Pure
// functions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {

// What a user named, as `kubectl get -o name` writes it.
struct ObjectName {
  std::string kind;  // "Pod", "Deployment", ...
  std::string namespace_name;
  std::string name;
};

// Of "KIND/NAME" or "KIND/NAMESPACE/NAME", in kubectl's spellings: singular, plural, short, with a group behind a dot.
Expected<ObjectName> ParseObjectName(std::string_view text, const std::string& default_namespace);

// The pods of a workload, or those that a selector finds.
struct NamedPods {
  std::string what;  // "Deployment shop/web"
  std::size_t count = 0;
  std::vector<std::shared_ptr<const api::Pod>> waiting;  // those without a node, by name
};

// Fails when there is no such pod.
Expected<NamedPods> PodsOfWorkload(const ClusterState& state, const ObjectName& workload);
Expected<NamedPods> PodsSelected(const ClusterState& state, const std::string& selector,
                                 const std::string& namespace_name);

}  // namespace berth::whatif
