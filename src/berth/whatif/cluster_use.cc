// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/cluster_use.h"

#include <algorithm>

#include "berth/plugins/best_price/best_price_args.h"
#include "berth/plugins/best_price/price.h"

namespace berth::whatif {
namespace {

std::optional<std::int64_t> PriceOf(const api::ObjectMeta& node, const plugins::BestPriceArgs& usual) {
  for (const std::string& key : usual.annotations) {
    const std::string* text = node.annotations.Find(key);
    if (text == nullptr) continue;
    if (const auto price = plugins::ParsePrice(*text)) return price;
  }
  return std::nullopt;
}

}  // namespace

bool IsBoundToNode(const std::optional<api::OwnerReference>& controller) {
  return controller && (controller->kind == "DaemonSet" || controller->kind == "Node");
}

std::map<std::string, NodeUse> NodeUses(const framework::NodeTable& nodes) {
  const plugins::BestPriceArgs usual;
  std::map<std::string, NodeUse> out;
  for (const framework::NodeIndex row : nodes.rows()) {
    const framework::NodeInfo& info = nodes.Info(row);
    if (!info.has_node()) continue;
    NodeUse& use = out[info.name()];
    const api::ObjectMeta& meta = info.node().metadata;
    if (const std::string* zone = meta.labels.Find(kZoneLabel)) use.zone = *zone;
    use.pods = info.pods().size();
    use.is_used = std::any_of(info.pods().begin(), info.pods().end(), [](const framework::PodInfoPtr& pod) {
      return !IsBoundToNode(pod->pod_class->controller);
    });
    use.cpu_milli = info.requested().cpu_milli;
    use.cpu_milli_of = info.allocatable().cpu_milli;
    use.memory_bytes = info.requested().memory_bytes;
    use.memory_bytes_of = info.allocatable().memory_bytes;
    use.price_micro = PriceOf(meta, usual);
  }
  return out;
}

ClusterUse Sum(const std::map<std::string, NodeUse>& nodes) {
  ClusterUse sum;
  for (const auto& [name, node] : nodes) {
    ++sum.nodes;
    sum.used_nodes += node.is_used ? 1 : 0;
    sum.pods += node.pods;
    sum.cpu_milli += node.cpu_milli;
    sum.cpu_milli_of += node.cpu_milli_of;
    sum.memory_bytes += node.memory_bytes;
    sum.memory_bytes_of += node.memory_bytes_of;
    if (!node.price_micro) continue;
    ++sum.priced_nodes;
    sum.price_micro += *node.price_micro;
    if (node.is_used) sum.used_price_micro += *node.price_micro;
  }
  return sum;
}

}  // namespace berth::whatif
