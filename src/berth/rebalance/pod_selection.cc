// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/pod_selection.h"

#include <algorithm>

namespace berth::rebalance {

bool NamespaceFilter::Takes(std::string_view namespace_name) const {
  const auto has = [namespace_name](const std::vector<std::string>& names) {
    return std::ranges::find(names, namespace_name) != names.end();
  };
  return (include.empty() || has(include)) && (exclude.empty() || !has(exclude));
}

bool PodSelection::Takes(const api::Pod& pod) const {
  return namespaces.Takes(pod.metadata.namespace_name) && (!labels || labels->Matches(pod.metadata.labels));
}

}  // namespace berth::rebalance
