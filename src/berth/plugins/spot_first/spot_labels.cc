// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/spot_first/spot_labels.h"

#include <algorithm>
#include <utility>

namespace berth::plugins {
namespace {

constexpr std::pair<std::string_view, std::string_view> kValues[] = {
    // Clouds.
    {"eks.amazonaws.com/capacityType", "SPOT"},
    {"aws.amazon.com/spot", "true"},
    {"cloud.google.com/gke-spot", "true"},
    {"cloud.google.com/gke-preemptible", "true"},
    {"cloud.google.com/gke-provisioning", "spot"},
    {"cloud.google.com/gke-provisioning", "preemptible"},
    {"kubernetes.azure.com/scalesetpriority", "spot"},
    {"oci.oraclecloud.com/oke-is-preemptible", "true"},
    {"node.alibabacloud.com/spot-strategy", "SpotAsPriceGo"},
    {"node.alibabacloud.com/spot-strategy", "SpotWithPriceLimit"},
    // Autoscalers.
    {"karpenter.sh/capacity-type", "spot"},
    {"spotinst.io/node-lifecycle", "spot"},
    {"scheduling.cast.ai/spot", "true"},
    // What people set: the templates of kOps, eksctl and of their own.
    {"node.kubernetes.io/lifecycle", "spot"},
    {"kubernetes.io/lifecycle", "spot"},
    {"kops.k8s.io/lifecycle", "Spot"},
    {"kops.k8s.io/lifecycle", "spot"},
    {"lifecycle", "Ec2Spot"},
    {"lifecycle", "spot"},
};

// Roles and marks, of which the value says nothing.
constexpr std::string_view kKeys[] = {
    "node-role.kubernetes.io/spot-worker",
    "node-role.kubernetes.io/spot",
    "cluster.x-k8s.io/interruptible",
    "machine.openshift.io/interruptible-instance",
};

}  // namespace

SpotLabels::SpotLabels(const std::vector<Label>& added) {
  for (const auto& [key, value] : kValues) Add(key, value);
  for (const std::string_view key : kKeys) Add(key, std::nullopt);
  for (const Label& label : added) Add(label.key, label.value);
}

void SpotLabels::Add(std::string_view key, std::optional<std::string_view> value) {
  Values& values = by_key_[std::string(key)];
  if (value) {
    values.some.emplace_back(*value);
  } else {
    values.any = true;
  }
}

bool SpotLabels::IsSpot(const api::Node& node) const {
  return std::any_of(node.metadata.labels.begin(), node.metadata.labels.end(), [this](const auto& label) {
    const auto it = by_key_.find(std::string_view(label.first));
    if (it == by_key_.end()) return false;
    const Values& values = it->second;
    return values.any || std::find(values.some.begin(), values.some.end(), label.second) != values.some.end();
  });
}

}  // namespace berth::plugins
