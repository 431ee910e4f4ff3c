// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_zone/volume_zone.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/storage.h"
#include "berth/base/go_text.h"
#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/storage_class.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;
using api::StorageClass;
using framework::ValueId;

constexpr std::string_view kPreFilterKey = "PreFilterVolumeZone";
constexpr std::string_view kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr std::string_view kBetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr std::array kTopologyKeys = {kBetaZone, kBetaRegion, kZone, kRegion};
constexpr std::string_view kWaitForFirstConsumer = "WaitForFirstConsumer";

// The label that took the place of a beta one.
std::string_view GeneralKey(std::string_view key) {
  return key == kBetaZone ? kZone : key == kBetaRegion ? kRegion : key;
}

// A volume in several zones: "a__b". Nullopt when one of them is empty; upstream ignores such a label.
std::optional<std::vector<std::string>> SplitZones(std::string_view text) {
  constexpr std::string_view kDelimiter = "__";
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  std::vector<std::string> zones;
  for (std::size_t begin = 0; begin != std::string_view::npos;) {
    const std::size_t end = text.find(kDelimiter, begin);
    std::string_view zone = text.substr(begin, end == std::string_view::npos ? end : end - begin);
    zone.remove_prefix(std::min(zone.find_first_not_of(kSpace), zone.size()));
    zone = zone.substr(0, zone.find_last_not_of(kSpace) + 1);
    if (zone.empty()) return std::nullopt;
    zones.emplace_back(zone);
    begin = end == std::string_view::npos ? end : end + kDelimiter.size();
  }
  std::sort(zones.begin(), zones.end());
  zones.erase(std::unique(zones.begin(), zones.end()), zones.end());
  return zones;
}

Status Unresolvable(std::string reason) { return Status::UnschedulableAndUnresolvable(std::move(reason)); }

// Worded as the API server's error.
Status NotFound(std::string_view resource, std::string_view name) {
  return Unresolvable(std::string(resource) + " " + GoQuoted(name) + " not found");
}

// Whether the unbound claim may stay so until its pod has a node.
Status CheckUnbound(const PersistentVolumeClaim& claim, const Objects& objects) {
  const std::string& name = ClassOf(claim);
  if (name.empty()) return Unresolvable("PersistentVolumeClaim had no pv name and storageClass name");
  const StorageClass* storage_class = objects.Of<StorageClass>().Find(name);
  if (storage_class == nullptr) return NotFound("storageclass.storage.k8s.io", name);
  if (!storage_class->volume_binding_mode) {
    return Unresolvable("VolumeBindingMode not set for StorageClass " + GoQuoted(name));
  }
  if (*storage_class->volume_binding_mode == kWaitForFirstConsumer) return {};
  return Unresolvable("PersistentVolume had no name");
}

QueueingHint AfterClaimChange(const PodInfo& pod, const EventObjects& event) {
  const auto* claim = event.New<PersistentVolumeClaim>();
  if (claim == nullptr) return QueueingHint::kQueue;
  const auto& volumes = pod.spec().volumes;
  return QueueIf(claim->metadata.namespace_name == pod.namespace_name() &&
                 std::any_of(volumes.begin(), volumes.end(), [&](const api::Volume& volume) {
                   return volume.source.kind == api::VolumeKind::kPersistentVolumeClaim &&
                          volume.source.id == claim->metadata.name;
                 }));
}

QueueingHint AfterClassChange(const PodInfo&, const EventObjects& event) {
  const auto* added = event.New<StorageClass>();
  return QueueIf(added == nullptr || added->volume_binding_mode == kWaitForFirstConsumer);
}

class VolumeZone final : public PreFilterPlugin, public FastFilter, public ObjectReader, public EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) had no available volume zone";

  explicit VolumeZone(const Handle& handle) : objects_(handle.objects()) {}

  std::string_view Name() const override { return names::kVolumeZone; }
  std::vector<ObjectKind> ObjectsRead() const override {
    using enum ObjectKind;
    return {kPersistentVolume, kPersistentVolumeClaim, kStorageClass};
  }

  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    std::vector<Topology> topologies;
    if (Status status = FindTopologies(pod, topologies); !status.IsSuccess()) return {std::move(status), std::nullopt};
    if (topologies.empty()) return {Status::Skip(), std::nullopt};
    auto state = std::make_shared<State>();
    state->topologies = std::move(topologies);
    cycle.state.Write(kPreFilterKey, std::move(state));
    return {};
  }

  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const override {
    const auto* state = cycle.state.Read<State>(kPreFilterKey);
    State own;
    if (state == nullptr) {
      // A profile may leave PreFilter out.
      if (Status status = FindTopologies(pod, own.topologies); !status.IsSuccess()) return status;
      state = &own;
    }
    const api::StringMap& labels = node.node().metadata.labels;
    // A node without any of the labels is one of a cluster in one zone.
    if (std::none_of(kTopologyKeys.begin(), kTopologyKeys.end(),
                     [&](std::string_view key) { return labels.Find(key) != nullptr; })) {
      return Status::Success();
    }
    for (const Topology& topology : state->topologies) {
      const std::string* value = labels.Find(topology.key);
      if (value == nullptr) value = labels.Find(GeneralKey(topology.key));
      if (value == nullptr || !std::binary_search(topology.values.begin(), topology.values.end(), *value)) {
        return Unresolvable(std::string(kReason));
      }
    }
    return Status::Success();
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const auto* state = cycle.state.Read<State>(kPreFilterKey);
    if (state == nullptr) return FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);

    struct BoundTopology {
      std::span<const ValueId> column;
      std::span<const ValueId> general_column;
      std::vector<ValueId> values;  // those that some node has
    };
    std::vector<BoundTopology> topologies;
    for (const Topology& topology : state->topologies) {
      BoundTopology& bound = topologies.emplace_back();
      bound.column = cycle.table.LabelColumn(topology.key);
      bound.general_column = cycle.table.LabelColumn(GeneralKey(topology.key));
      for (const std::string& value : topology.values) {
        if (const auto id = cycle.table.FindValue(value)) bound.values.push_back(*id);
      }
    }
    std::array<std::span<const ValueId>, kTopologyKeys.size()> columns;
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = cycle.table.LabelColumn(kTopologyKeys[i]);

    const auto matches = [](const BoundTopology& topology, NodeIndex row) {
      const ValueId value = topology.column[row] != 0 ? topology.column[row] : topology.general_column[row];
      return std::find(topology.values.begin(), topology.values.end(), value) != topology.values.end();
    };
    CachedRefusal refusal(statuses, Code::kUnschedulableAndUnresolvable, kReason);
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
      if (std::none_of(columns.begin(), columns.end(), [row](const auto& column) { return column[row] != 0; }))
        continue;
      if (!std::all_of(topologies.begin(), topologies.end(), [&](const auto& t) { return matches(t, row); })) {
        verdicts[row] = refusal.Get();
      }
    }
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    using enum EventResource;
    return {{{kStorageClass, kAdd}, AfterClassChange},
            OnNode(kAdd | kUpdateNodeLabel),
            {{kPersistentVolumeClaim, kAdd | kUpdate}, AfterClaimChange},
            {{kPersistentVolume, kAdd | kUpdate}, AfterVolumeChange}};
  }

 private:
  // A label of a volume. A node must have one of its values under the key.
  struct Topology {
    std::string_view key;
    std::vector<std::string> values;  // sorted, distinct
    bool operator==(const Topology&) const = default;
  };
  struct State final : StateData {
    std::vector<Topology> topologies;  // of all volumes, in the pod's order
  };

  static std::vector<Topology> TopologiesOf(const PersistentVolume& volume) {
    std::vector<Topology> topologies;
    for (const std::string_view key : kTopologyKeys) {
      const std::string* value = volume.metadata.labels.Find(key);
      if (value == nullptr) continue;
      if (auto zones = SplitZones(*value)) topologies.push_back({key, std::move(*zones)});
    }
    return topologies;
  }

  static QueueingHint AfterVolumeChange(const PodInfo&, const EventObjects& event) {
    const auto* before = event.Old<PersistentVolume>();
    const auto* after = event.New<PersistentVolume>();
    if (before == nullptr || after == nullptr) return QueueingHint::kQueue;
    return QueueIf(TopologiesOf(*before) != TopologiesOf(*after));
  }

  Status FindTopologies(const PodInfo& pod, std::vector<Topology>& topologies) const {
    for (const api::Volume& volume : pod.spec().volumes) {
      if (volume.source.kind != api::VolumeKind::kPersistentVolumeClaim) continue;
      if (volume.source.id.empty()) return Unresolvable("PersistentVolumeClaim had no name");
      const auto* claim = objects_.Of<PersistentVolumeClaim>().Find(pod.namespace_name(), volume.source.id);
      if (claim == nullptr) return NotFound("persistentvolumeclaim", volume.source.id);
      if (claim->volume_name.empty()) {
        if (Status status = CheckUnbound(*claim, objects_); !status.IsSuccess()) return status;
        continue;
      }
      const auto* bound = objects_.Of<PersistentVolume>().Find(claim->volume_name);
      if (bound == nullptr) return NotFound("persistentvolume", claim->volume_name);
      for (Topology& topology : TopologiesOf(*bound)) topologies.push_back(std::move(topology));
    }
    return {};
  }

  const Objects& objects_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateVolumeZone(Handle& handle) { return std::make_unique<VolumeZone>(handle); }

}  // namespace berth::plugins
