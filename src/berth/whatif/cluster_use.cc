// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/cluster_use.h"

#include <algorithm>
#include <utility>

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

NodeUse UseOf(const framework::NodeInfo& info, const plugins::BestPriceArgs& usual) {
  NodeUse use;
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
  return use;
}

// Adds a node to the sum, or with `times` -1 takes it away.
void Count(const NodeUse& node, int times, ClusterUse& sum) {
  const auto count = static_cast<std::size_t>(times);  // wraps, as the subtraction does
  sum.nodes += count;
  sum.used_nodes += node.is_used ? count : 0;
  sum.pods += count * node.pods;
  sum.cpu_milli += times * node.cpu_milli;
  sum.cpu_milli_of += times * node.cpu_milli_of;
  sum.memory_bytes += times * node.memory_bytes;
  sum.memory_bytes_of += times * node.memory_bytes_of;
  if (!node.price_micro) return;
  sum.priced_nodes += count;
  sum.price_micro += times * *node.price_micro;
  if (node.is_used) sum.used_price_micro += times * *node.price_micro;
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
    if (info.has_node()) out[info.name()] = UseOf(info, usual);
  }
  return out;
}

ClusterUse Sum(const std::map<std::string, NodeUse>& nodes) {
  ClusterUse sum;
  for (const auto& [name, node] : nodes) Count(node, 1, sum);
  return sum;
}

void NodeUseTable::Update(const framework::NodeTable& nodes, Changes* changes) {
  if (const auto changed = sync_.Take(nodes)) {
    rows_.resize(std::max(rows_.size(), nodes.row_count()));
    for (const framework::NodeIndex row : changed->rows) Look(nodes, row, changes);
    return;
  }
  // The log of changes does not reach back far enough.
  rows_.resize(std::max(rows_.size(), nodes.row_count()));
  for (framework::NodeIndex row = 0; row < rows_.size(); ++row) Look(nodes, row, changes);
}

void NodeUseTable::Look(const framework::NodeTable& nodes, framework::NodeIndex row, Changes* changes) {
  static const plugins::BestPriceArgs usual;
  Row now;
  if (row < nodes.row_count() && nodes.Info(row).has_node()) {
    now.name = nodes.Info(row).name();
    now.use = UseOf(nodes.Info(row), usual);
  }
  Row& known = rows_[row];
  if (known.name == now.name && known.use == now.use) return;
  if (!known.name.empty()) {
    Count(known.use, -1, sum_);
    if (changes != nullptr) changes->before.emplace(known.name, known.use);
  }
  known = std::move(now);
  if (known.name.empty()) return;
  Count(known.use, 1, sum_);
  if (changes != nullptr) changes->after.insert_or_assign(known.name, known.use);
}

}  // namespace berth::whatif
