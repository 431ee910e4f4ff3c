// SPDX-License-Identifier: Apache-2.0
#include "berth/page/fleet_frame.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/utf8.h"
#include "berth/codec/json.h"
#include "berth/page/column_frame.h"
#include "berth/plugins/best_price/best_price_args.h"
#include "berth/plugins/best_price/price.h"
#include "berth/plugins/spot_first/spot_labels.h"
#include "berth/whatif/cluster_use.h"

namespace berth::page {
namespace {

using codec::json::array, codec::json::object;

constexpr double kMicro = 1e6;
constexpr std::size_t kPodLabelBytesMax = 512;
// Where clouds and autoscalers say which pool a node is of; the first that a node has counts.
constexpr std::string_view kPoolLabels[] = {"karpenter.sh/nodepool",
                                            "cloud.google.com/gke-nodepool",
                                            "eks.amazonaws.com/nodegroup",
                                            "kubernetes.azure.com/agentpool",
                                            "doks.digitalocean.com/node-pool",
                                            "node-pool",
                                            "nodepool",
                                            "pool"};
constexpr double kUnknownNumber = std::numeric_limits<double>::quiet_NaN();

double SecondsOf(const std::optional<Time>& time) {
  if (!time) return kUnknownNumber;
  return std::chrono::duration<double>(time->time_since_epoch()).count();
}

std::string_view PoolOf(const api::Node& node) {
  for (const std::string_view key : kPoolLabels) {
    if (const std::string* const pool = node.metadata.labels.Find(key)) return *pool;
  }
  return {};
}

const plugins::SpotLabels& KnownSpotLabels() {
  static const plugins::SpotLabels labels;
  return labels;
}

// In the order of the directory's `resources`; what pods request are the first of these. Returns where it ended.
double* PutPodAmounts(const framework::Resource& from, const FleetSchema& schema, double* to) {
  *to++ = static_cast<double>(from.cpu_milli);
  *to++ = static_cast<double>(from.memory_bytes);
  for (const std::string& name : schema.scalars) *to++ = static_cast<double>(from.Scalar(name));
  return to;
}

double* PutAmounts(const framework::Resource& from, const FleetSchema& schema, double* to) {
  to = PutPodAmounts(from, schema, to);
  *to++ = static_cast<double>(from.ephemeral_storage_bytes);
  *to++ = static_cast<double>(from.pods);
  return to;
}

std::size_t PodAmounts(const FleetSchema& schema) { return 2 + schema.scalars.size(); }
std::size_t AllAmounts(const FleetSchema& schema) { return PodAmounts(schema) + 2; }

array PodResources(const FleetSchema& schema) {
  array names{"cpu", "memory"};
  for (const std::string& name : schema.scalars) names.emplace_back(name);
  return names;
}

array Resources(const FleetSchema& schema) {
  array names = PodResources(schema);
  names.emplace_back("ephemeral-storage");
  names.emplace_back("pods");
  return names;
}

std::string LabelsText(const api::StringMap& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    if (!text.empty()) text += ',';
    text.append(key).append("=").append(value);
    if (text.size() > kPodLabelBytesMax) return std::string(CutUtf8(text, kPodLabelBytesMax));
  }
  return text;
}

class Writer {
 public:
  Writer(const FleetRows& rows, const FleetSchema& schema, const FleetFrameOptions& options)
      : rows_(rows), schema_(schema), options_(options) {}

  std::string Write() {
    if (options_.base) FindChanges();
    WriteNodes();
    if (options_.base) WriteUse();
    if (!schema_.is_aggregated) {
      WritePods(PodsOfFrame());
      WriteOwners();
    } else if (!options_.base || rows_.waiting_changed_in > *options_.base) {
      WriteGroups();
      WriteOwners();
    }
    if (options_.base) WriteRemovals();
    return Take(options_.base ? "delta" : "full");
  }

  std::string WritePart(const std::vector<RowId>& nodes) {
    PodRows pods;
    for (const RowId id : nodes) {
      const auto node = rows_.nodes.find(id);
      if (node == rows_.nodes.end()) continue;
      for (const RowId pod : node->second.pods) pods.emplace_back(pod, &rows_.pods.at(pod));
    }
    frame_.Add("part.node", nodes);
    WritePods(pods);
    WriteOwners();
    return Take("part");
  }

 private:
  using PodRows = std::vector<std::pair<RowId, const PodRow*>>;
  using NodeRows = std::vector<std::pair<RowId, const NodeRow*>>;

  std::string Take(std::string_view kind) {
    object directory{{"kind", kind}, {"epoch", options_.epoch}, {"revision", options_.revision}};
    if (options_.base) directory["base"] = *options_.base;
    directory["aggregated"] = schema_.is_aggregated;
    directory["podsMax"] = options_.pod_rows_max;
    directory["nodes"] = node_rows_;
    directory["pods"] = pod_rows_;
    directory["nodeCount"] = rows_.node_count;
    directory["podCount"] = rows_.pods.size();
    directory["labelKeys"] = array(schema_.label_keys.begin(), schema_.label_keys.end());
    directory["resources"] = Resources(schema_);
    directory["podResources"] = PodResources(schema_);
    return std::move(frame_).Take(std::move(directory));
  }

  // Of a row that has changed more than once the last entry is the one that its row agrees with.
  void FindChanges() {
    const auto first = std::ranges::upper_bound(rows_.changes, *options_.base, std::less<>(), &FleetChange::revision);
    for (auto at = first; at != rows_.changes.end(); ++at) {
      if (at->is_removal) {
        (at->is_node ? removed_nodes_ : removed_pods_).push_back(at->id);
      } else if (at->is_node) {
        const auto row = rows_.nodes.find(at->id);
        if (row == rows_.nodes.end() || row->second.changed_in != at->revision) continue;
        const bool is_more = row->second.node_changed_in > *options_.base;
        (is_more ? changed_nodes_ : used_nodes_).emplace_back(at->id, &row->second);
      } else {
        const auto row = rows_.pods.find(at->id);
        if (row != rows_.pods.end() && row->second.changed_in == at->revision)
          changed_pods_.emplace_back(at->id, &row->second);
      }
    }
    std::ranges::sort(changed_nodes_);
    std::ranges::sort(used_nodes_);
    std::ranges::sort(changed_pods_);
  }

  PodRows PodsOfFrame() const {
    if (options_.base) return changed_pods_;
    PodRows pods;
    pods.reserve(rows_.pods.size());
    for (const auto& [id, row] : rows_.pods) pods.emplace_back(id, &row);
    return pods;
  }

  NodeRows NodesOfFrame() const {
    if (options_.base) return changed_nodes_;
    NodeRows nodes;
    nodes.reserve(rows_.nodes.size());
    for (const auto& [id, row] : rows_.nodes) nodes.emplace_back(id, &row);
    return nodes;
  }

  void WriteNodes() {
    const NodeRows rows = NodesOfFrame();
    const std::size_t count = node_rows_ = rows.size();
    std::vector<std::uint32_t> ids(count), names(count), zones(count), pools(count), taints(count), pod_counts(count);
    std::vector<std::uint32_t> labels(count * schema_.label_keys.size());
    std::vector<std::uint16_t> flags(count);
    std::vector<double> prices(count, kUnknownNumber), created(count, kUnknownNumber);
    std::vector<double> allocatable(count * AllAmounts(schema_)), requested(allocatable.size());
    double* next_allocatable = allocatable.data();
    double* next_requested = requested.data();
    for (std::size_t i = 0; i < count; ++i) {
      const NodeRow& row = *rows[i].second;
      ids[i] = rows[i].first;
      names[i] = frame_.Append(row.name);
      flags[i] = NodeFlags(row);
      pod_counts[i] = static_cast<std::uint32_t>(row.pods.size());
      next_allocatable = PutAmounts(row.allocatable, schema_, next_allocatable);
      next_requested = PutAmounts(row.requested, schema_, next_requested);
      if (row.node == nullptr) continue;
      const api::StringMap& map = row.node->metadata.labels;
      const auto value_of = [&](std::string_view key) {
        const std::string* const value = map.Find(key);
        return value == nullptr ? 0 : frame_.Intern(*value);
      };
      zones[i] = value_of(whatif::kZoneLabel);
      pools[i] = frame_.Intern(PoolOf(*row.node));
      taints[i] = frame_.Intern(TaintsText(*row.node));
      std::uint32_t* next_label = labels.data() + i * schema_.label_keys.size();
      for (const std::string& key : schema_.label_keys) *next_label++ = value_of(key);
      prices[i] = PriceOf(*row.node).value_or(kUnknownNumber);
      created[i] = SecondsOf(row.node->metadata.creation_time);
    }
    frame_.AddDifferences("node.id", std::move(ids));
    frame_.AddDifferences("node.name", std::move(names));
    frame_.Add("node.zone", std::move(zones));
    frame_.Add("node.pool", std::move(pools));
    frame_.Add("node.taints", std::move(taints));
    frame_.Add("node.flags", std::move(flags));
    frame_.Add("node.price", std::move(prices));
    frame_.Add("node.created", std::move(created));
    frame_.Add("node.labels", std::move(labels), schema_.label_keys.size());
    frame_.Add("node.allocatable", std::move(allocatable), AllAmounts(schema_));
    frame_.Add("node.requested", std::move(requested), AllAmounts(schema_));
    frame_.Add("node.podCount", std::move(pod_counts));
  }

  // Most nodes of a delta have got or lost a pod and are else as they were.
  void WriteUse() {
    const std::size_t count = used_nodes_.size();
    std::vector<std::uint32_t> ids(count), pod_counts(count);
    std::vector<double> requested(count * AllAmounts(schema_));
    double* next = requested.data();
    for (std::size_t i = 0; i < count; ++i) {
      const auto& [id, row] = used_nodes_[i];
      ids[i] = id;
      pod_counts[i] = static_cast<std::uint32_t>(row->pods.size());
      next = PutAmounts(row->requested, schema_, next);
    }
    frame_.AddDifferences("use.node", std::move(ids));
    frame_.Add("use.requested", std::move(requested), AllAmounts(schema_));
    frame_.Add("use.podCount", std::move(pod_counts));
  }

  void WritePods(const PodRows& pods) {
    const std::size_t count = pod_rows_ = pods.size();
    std::vector<std::uint32_t> ids(count), names(count), namespaces(count), nodes(count), owners(count), labels(count);
    std::vector<std::uint16_t> flags(count);
    std::vector<std::int32_t> priorities(count);
    std::vector<double> created(count), requests(count * PodAmounts(schema_));
    double* next_requests = requests.data();
    for (std::size_t i = 0; i < count; ++i) {
      const PodRow& row = *pods[i].second;
      const api::Pod& pod = *row.pod;
      OwnerMemo& memo = MemoFor(row.owner);
      ids[i] = pods[i].first;
      names[i] = frame_.Append(pod.metadata.name);
      namespaces[i] = memo.namespace_number;
      nodes[i] = row.node;
      owners[i] = memo.number;
      flags[i] = PodFlags(pod);
      priorities[i] = pod.spec.priority.value_or(0);
      created[i] = SecondsOf(pod.metadata.creation_time);
      next_requests = PutPodAmounts(row.requests, schema_, next_requests);
      labels[i] = LabelsNumber(pod.metadata.labels, memo);
    }
    frame_.AddDifferences("pod.id", std::move(ids));
    frame_.AddDifferences("pod.name", std::move(names));
    frame_.Add("pod.namespace", std::move(namespaces));
    frame_.Add("pod.node", std::move(nodes));
    frame_.AddDifferences("pod.owner", std::move(owners));
    frame_.Add("pod.flags", std::move(flags));
    frame_.Add("pod.priority", std::move(priorities));
    frame_.Add("pod.created", std::move(created));
    frame_.Add("pod.requests", std::move(requests), PodAmounts(schema_));
    frame_.Add("pod.labels", std::move(labels));
  }

  // Of more pods than a frame has rows for: how many of each owner wait, and, once, which owners there are.
  void WriteGroups() {
    std::vector<std::uint32_t> nodes, owners, counts, owner_pods;
    std::vector<double> requests;
    const std::size_t width = PodAmounts(schema_);
    for (const auto& [workload, owner] : rows_.owners) {
      if (owner.waiting_count == 0) continue;
      nodes.push_back(kNoRow);
      owners.push_back(MemoFor(&owner).number);
      counts.push_back(static_cast<std::uint32_t>(owner.waiting_count));
      requests.resize(requests.size() + width);
      PutPodAmounts(owner.waiting_requests, schema_, requests.data() + requests.size() - width);
    }
    frame_.Add("group.node", std::move(nodes));
    frame_.Add("group.owner", std::move(owners));
    frame_.Add("group.count", std::move(counts));
    frame_.Add("group.requests", std::move(requests), width);
    if (options_.base) return;
    for (const auto& [workload, owner] : rows_.owners) {
      if (owners_.size() >= options_.owner_rows_max) break;
      MemoFor(&owner);
    }
    for (const OwnerRow* const owner : owners_) owner_pods.push_back(static_cast<std::uint32_t>(owner->pod_count));
    frame_.Add("owner.podCount", std::move(owner_pods));
  }

  // What pods of an owner mostly have in common, which is compared sooner than written.
  struct OwnerMemo {
    std::uint32_t number = 0;        // of the owner's row
    std::uint32_t namespace_number;  // of the string
    const api::StringMap* labels = nullptr;
    std::uint32_t labels_number = 0;  // of the string
  };

  OwnerMemo& MemoFor(const OwnerRow* owner) {
    const auto [at, is_new] = memos_.try_emplace(owner);
    if (is_new) {
      at->second = {static_cast<std::uint32_t>(owners_.size()), frame_.Intern(owner->workload.namespace_name)};
      owners_.push_back(owner);
    }
    return at->second;
  }

  std::uint32_t LabelsNumber(const api::StringMap& labels, OwnerMemo& memo) {
    if (memo.labels == nullptr || *memo.labels != labels) {
      memo.labels = &labels;
      memo.labels_number = frame_.Intern(LabelsText(labels));
    }
    return memo.labels_number;
  }

  void WriteOwners() {
    std::vector<std::uint32_t> kinds, namespaces, names;
    for (const OwnerRow* const owner : owners_) {
      kinds.push_back(frame_.Intern(owner->workload.kind));
      namespaces.push_back(frame_.Intern(owner->workload.namespace_name));
      names.push_back(frame_.Append(owner->workload.name));
    }
    frame_.Add("owner.kind", std::move(kinds));
    frame_.Add("owner.namespace", std::move(namespaces));
    frame_.AddDifferences("owner.name", std::move(names));
  }

  void WriteRemovals() {
    frame_.Add("node.removed", std::move(removed_nodes_));
    if (!schema_.is_aggregated) frame_.Add("pod.removed", std::move(removed_pods_));
  }

  const FleetRows& rows_;
  const FleetSchema& schema_;
  const FleetFrameOptions& options_;
  ColumnFrame frame_;
  NodeRows changed_nodes_;  // of a delta
  NodeRows used_nodes_;     // likewise: only their pods, and what these request, have changed
  PodRows changed_pods_;
  std::vector<std::uint32_t> removed_nodes_;
  std::vector<std::uint32_t> removed_pods_;
  absl::flat_hash_map<const OwnerRow*, OwnerMemo> memos_;
  std::vector<const OwnerRow*> owners_;  // in the order of their numbers
  std::size_t node_rows_ = 0;
  std::size_t pod_rows_ = 0;
};

}  // namespace

std::string WriteFleetFrame(const FleetRows& rows, const FleetSchema& schema, const FleetFrameOptions& options) {
  return Writer(rows, schema, options).Write();
}

std::string WriteFleetPart(const FleetRows& rows, const FleetSchema& schema, const FleetFrameOptions& options,
                           const std::vector<RowId>& nodes) {
  return Writer(rows, schema, options).WritePart(nodes);
}

std::string_view TaintEffectName(api::TaintEffect effect) {
  switch (effect) {
    case api::TaintEffect::kNoSchedule: return "NoSchedule";
    case api::TaintEffect::kPreferNoSchedule: return "PreferNoSchedule";
    case api::TaintEffect::kNoExecute: return "NoExecute";
    case api::TaintEffect::kNone:
    case api::TaintEffect::kUnknown: break;
  }
  return "";
}

std::string TaintsText(const api::Node& node) {
  std::string text;
  for (const api::Taint& taint : node.taints) {
    if (!text.empty()) text += ", ";
    text += taint.key;
    if (!taint.value.empty()) text.append("=").append(taint.value);
    text.append(":").append(TaintEffectName(taint.effect));
  }
  return text;
}

std::optional<double> PriceOf(const api::Node& node) {
  static const plugins::BestPriceArgs usual;
  for (const std::string& key : usual.annotations) {
    const std::string* const text = node.metadata.annotations.Find(key);
    if (text == nullptr) continue;
    if (const auto micro = plugins::ParsePrice(*text)) return static_cast<double>(*micro) / kMicro;
  }
  return std::nullopt;
}

std::uint16_t NodeFlags(const NodeRow& row) {
  if (row.node == nullptr) return node_flags::kUnknown;
  const api::Node& node = *row.node;
  std::uint16_t flags = 0;
  if (node.unschedulable) flags |= node_flags::kCordoned;
  for (const api::Taint& taint : node.taints) {
    if (taint.effect == api::TaintEffect::kNoSchedule || taint.effect == api::TaintEffect::kNoExecute)
      flags |= node_flags::kTainted;
  }
  for (const auto& [type, status] : node.conditions) {
    if (type == "Ready" && status != "True") flags |= node_flags::kNotReady;
    if (type.ends_with("Pressure") && status == "True") flags |= node_flags::kUnderPressure;
  }
  if (KnownSpotLabels().IsSpot(node)) flags |= node_flags::kSpot;
  return flags;
}

std::uint16_t PodFlags(const api::Pod& pod) {
  auto flags = static_cast<std::uint16_t>(pod.status.phase);
  const bool is_ended = pod.status.phase == api::PodPhase::kSucceeded || pod.status.phase == api::PodPhase::kFailed;
  if (pod.metadata.deletion_time) flags |= pod_flags::kDeleted;
  if (!pod.spec.scheduling_gates.empty()) flags |= pod_flags::kGated;
  if (!pod.status.nominated_node_name.empty()) flags |= pod_flags::kNominated;
  if (is_ended) flags |= pod_flags::kEnded;
  if (whatif::IsBoundToNode(pod.metadata.controller)) flags |= pod_flags::kOfNode;
  if (!pod.spec.node_name.empty()) return flags;  // it is refused no more
  const api::PodCondition* const scheduled = pod.status.FindCondition("PodScheduled");
  if (scheduled != nullptr && scheduled->status == "False" && scheduled->reason == "Unschedulable")
    flags |= pod_flags::kRefused;
  return flags;
}

}  // namespace berth::page
