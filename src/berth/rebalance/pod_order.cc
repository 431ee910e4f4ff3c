// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/pod_order.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "berth/rebalance/evictor.h"

namespace berth::rebalance {
namespace {

int QualityOf(const PodView& pod) {
  const std::string& name = pod.details->status.qos_class;
  return name == "BestEffort" ? 0 : name == "Guaranteed" ? 2 : 1;
}

}  // namespace

void SortByPriority(const ClusterView& view, std::vector<PodNumber>& pods) {
  const auto key = [&view](PodNumber number) {
    const PodView& pod = view.pod(number);
    const std::optional<std::int32_t>& priority = pod.pod->spec.priority;
    return std::tuple(priority.has_value(), priority.value_or(0), QualityOf(pod), PrefersToStay(pod));
  };
  // The descheduler calls each of two equal pods the smaller one, which turns their order around.
  std::ranges::reverse(pods);
  std::ranges::stable_sort(pods, {}, key);
}

}  // namespace berth::rebalance
