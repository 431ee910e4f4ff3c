// SPDX-License-Identifier: Apache-2.0
#include "berth/page/fleet_json.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/base/text.h"
#include "berth/page/fleet_frame.h"
#include "berth/whatif/cluster_use.h"

namespace berth::page {
namespace {

using codec::json::array, codec::json::object;

object Labels(const api::StringMap& map) {
  object labels;
  for (const auto& [key, value] : map) labels[key] = value;
  return labels;
}

object Amounts(const framework::Resource& resource) {
  object amounts{{"cpu", resource.cpu_milli}, {"memory", resource.memory_bytes}};
  if (resource.ephemeral_storage_bytes != 0) amounts["ephemeral-storage"] = resource.ephemeral_storage_bytes;
  if (resource.pods != 0) amounts["pods"] = resource.pods;
  for (const auto& [name, amount] : resource.scalars) {
    if (amount != 0) amounts[name] = amount;
  }
  return amounts;
}

std::string_view PhaseName(api::PodPhase phase) {
  switch (phase) {
    case api::PodPhase::kPending: return "Pending";
    case api::PodPhase::kRunning: return "Running";
    case api::PodPhase::kSucceeded: return "Succeeded";
    case api::PodPhase::kFailed: return "Failed";
    case api::PodPhase::kUnknown: break;
  }
  return "Unknown";
}

bool HasLabelLike(const api::StringMap& labels, std::string_view word) {
  return std::ranges::any_of(labels, [&](const auto& label) {
    return LowerCase(label.first + "=" + label.second).find(word) != std::string::npos;
  });
}

// 0 is the best.
int RankOf(std::string_view name, std::string_view word) {
  if (name == word) return 0;
  if (name.starts_with(word)) return 1;
  return name.find(word) != std::string_view::npos ? 2 : 3;
}

}  // namespace

object OwnerJson(const whatif::Workload& workload) {
  return {{"kind", workload.kind}, {"namespace", workload.namespace_name}, {"name", workload.name}};
}

object PodJson(const PodRow& row) {
  const api::Pod& pod = *row.pod;
  object json{{"namespace", pod.metadata.namespace_name},
              {"name", pod.metadata.name},
              {"uid", pod.metadata.uid},
              {"owner", OwnerJson(row.owner->workload)},
              {"phase", PhaseName(pod.status.phase)},
              {"node", pod.spec.node_name},
              {"nominated", pod.status.nominated_node_name},
              {"priority", pod.spec.priority.value_or(0)},
              {"schedulerName", pod.spec.scheduler_name}};
  if (!pod.spec.pod_group_name.empty()) json["group"] = pod.spec.pod_group_name;
  if (pod.metadata.creation_time) json["created"] = FormatRfc3339(*pod.metadata.creation_time);
  if (pod.metadata.deletion_time) json["deleted"] = FormatRfc3339(*pod.metadata.deletion_time);
  json["labels"] = Labels(pod.metadata.labels);
  json["requests"] = Amounts(row.requests);
  json["gates"] = array(pod.spec.scheduling_gates.begin(), pod.spec.scheduling_gates.end());
  return json;
}

object NodeJson(const FleetRows& rows, RowId id, std::size_t pods_max) {
  const NodeRow& row = rows.nodes.at(id);
  object json{{"id", id}, {"name", row.name}};
  const std::uint16_t flags = NodeFlags(row);
  json["ready"] = (flags & (node_flags::kNotReady | node_flags::kUnknown)) == 0;
  json["cordoned"] = (flags & node_flags::kCordoned) != 0;
  json["spot"] = (flags & node_flags::kSpot) != 0;
  if (row.node != nullptr) {
    const api::Node& node = *row.node;
    const std::string* const zone = node.metadata.labels.Find(whatif::kZoneLabel);
    json["zone"] = zone == nullptr ? std::string() : *zone;
    if (node.metadata.creation_time) json["created"] = FormatRfc3339(*node.metadata.creation_time);
    json["labels"] = Labels(node.metadata.labels);
    array& taints = json["taints"].emplace_array();
    for (const api::Taint& taint : node.taints)
      taints.push_back(object{{"key", taint.key}, {"value", taint.value}, {"effect", TaintEffectName(taint.effect)}});
    array& conditions = json["conditions"].emplace_array();
    for (const auto& [type, status] : node.conditions) conditions.push_back(object{{"type", type}, {"status", status}});
    if (const auto price = PriceOf(node)) json["price"] = *price;
  }
  json["allocatable"] = Amounts(row.allocatable);
  json["requested"] = Amounts(row.requested);
  json["podCount"] = row.pods.size();
  std::vector<const PodRow*> pods;
  for (const RowId pod : row.pods) pods.push_back(&rows.pods.at(pod));
  std::ranges::sort(pods, [](const PodRow* a, const PodRow* b) {
    const api::ObjectMeta& left = a->pod->metadata;
    const api::ObjectMeta& right = b->pod->metadata;
    return std::tie(left.namespace_name, left.name) < std::tie(right.namespace_name, right.name);
  });
  if (pods.size() > pods_max) pods.resize(pods_max);
  array& shown = json["pods"].emplace_array();
  for (const PodRow* const pod : pods) shown.push_back(PodJson(*pod));
  return json;
}

array PodsLike(const FleetRows& rows, std::string_view text, std::size_t count_max) {
  const std::string lower = LowerCase(text);
  std::vector<std::string_view> words = Split(lower, ' ');
  std::erase(words, "");
  using Found = std::tuple<int, std::string_view, std::string_view, const PodRow*>;
  std::vector<Found> found;
  if (words.empty()) return {};
  std::string key;
  for (const auto& [id, row] : rows.pods) {
    const api::ObjectMeta& meta = row.pod->metadata;
    key.assign(meta.namespace_name).append("/").append(meta.name);
    const bool is_like = std::ranges::all_of(words, [&](std::string_view word) {
      return key.find(word) != std::string::npos || HasLabelLike(meta.labels, word);
    });
    if (!is_like) continue;
    found.emplace_back(RankOf(meta.name, words.front()), meta.name, meta.namespace_name, &row);
    if (found.size() == kFoundMax) break;
  }
  const std::size_t count = std::min(count_max, found.size());
  std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(count));
  found.resize(count);
  array shown;
  for (const auto& [rank, name, namespace_name, row] : found) {
    shown.push_back(object{{"namespace", namespace_name},
                           {"name", name},
                           {"node", row->pod->spec.node_name},
                           {"phase", PhaseName(row->pod->status.phase)}});
  }
  return shown;
}

}  // namespace berth::page
