// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_restrictions/volume_restrictions.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/pod_counts.h"
#include "berth/plugins/helper/table_sync.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using api::VolumeKind;
using api::VolumeSource;

constexpr std::string_view kStateKey = "PreFilterVolumeRestrictions";

struct ClaimState final : StateData {
  std::set<std::string> read_write_once_pod;  // names of the pod's claims of that access mode
  std::int64_t conflict_count = 0;            // uses of them by pods on nodes

  std::unique_ptr<StateData> Clone() const override { return std::make_unique<ClaimState>(*this); }
};

Status NoState() { return Status::Error("cannot read \"" + std::string(kStateKey) + "\" from cycleState"); }

bool IsClaim(const api::Volume& volume) { return volume.source.kind == VolumeKind::kPersistentVolumeClaim; }

// The PersistentVolumeClaims that some pod on a node uses, kept up to date by the rows that changed.
class ClaimsInUse {
 public:
  void Update(const NodeTable& nodes) {
    if (!table_.IsSame(nodes)) {
      keys_by_row_.clear();
      pod_counts_.clear();
    }
    keys_by_row_.resize(nodes.row_count());
    table_.ForChanged(nodes, [&](NodeIndex row, std::size_t) { UpdateRow(nodes.Info(row), keys_by_row_[row]); });
  }

  // Whether the claim "namespace/name" was in use at the last update. As in upstream, claims of ephemeral volumes do
  // not count.
  bool Contains(std::string_view key) const { return pod_counts_.contains(key); }

 private:
  void UpdateRow(const NodeInfo& node, std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      const auto it = pod_counts_.find(key);
      if (--it->second == 0) pod_counts_.erase(it);
    }
    keys.clear();
    if (!node.has_node()) return;
    for (const PodInfoPtr& pod : node.pods()) {
      for (const api::Volume& volume : pod->spec().volumes) {
        if (!IsClaim(volume)) continue;
        keys.push_back(pod->namespace_name() + "/" + volume.source.id);
        ++pod_counts_[keys.back()];
      }
    }
  }

  TableSync table_;
  std::vector<std::vector<std::string>> keys_by_row_;
  StringHashMap<std::int32_t> pod_counts_;
};

bool CanConflict(const VolumeSource& source) {
  return source.kind == VolumeKind::kGcePersistentDisk || source.kind == VolumeKind::kAwsElasticBlockStore ||
         source.kind == VolumeKind::kIscsi || source.kind == VolumeKind::kRbd;
}

std::int32_t ConflictingDisksOf(const framework::PodClass& pod_class) {
  const auto& volumes = pod_class.spec.volumes;
  return static_cast<std::int32_t>(std::count_if(volumes.begin(), volumes.end(),
                                                 [](const api::Volume& volume) { return CanConflict(volume.source); }));
}

bool HaveCommonMonitor(const VolumeSource& a, const VolumeSource& b) {
  return std::any_of(a.monitors.begin(), a.monitors.end(), [&b](const std::string& monitor) {
    return std::find(b.monitors.begin(), b.monitors.end(), monitor) != b.monitors.end();
  });
}

// True when both are the same disk and may not be used twice on a node: two pods that only read may share a disk, but
// never an EBS volume.
bool Conflict(const VolumeSource& a, const VolumeSource& b) {
  if (a.kind != b.kind || a.id != b.id) return false;
  switch (a.kind) {
    case VolumeKind::kAwsElasticBlockStore: return true;
    case VolumeKind::kGcePersistentDisk:
    case VolumeKind::kIscsi: return !(a.read_only && b.read_only);
    case VolumeKind::kRbd: return a.pool == b.pool && HaveCommonMonitor(a, b) && !(a.read_only && b.read_only);
    default: return false;
  }
}

bool HaveDiskConflict(const PodInfo& pod, const PodInfo& other) {
  for (const api::Volume& volume : pod.spec().volumes) {
    for (const api::Volume& taken : other.spec().volumes) {
      if (Conflict(volume.source, taken.source)) return true;
    }
  }
  return false;
}

bool HasDiskConflict(const PodInfo& pod, const NodeInfo& node) {
  return std::any_of(node.pods().begin(), node.pods().end(),
                     [&pod](const PodInfoPtr& other) { return HaveDiskConflict(pod, *other); });
}

Status UpdateWithPod(const Cycle& cycle, const PodInfo& other, int sign) {
  const auto* state = cycle.state.Read<ClaimState>(kStateKey);
  if (state == nullptr) return NoState();
  // As in upstream, claims are compared by name alone: a pod of another namespace with a claim of that name counts.
  const auto& volumes = other.spec().volumes;
  const auto uses = std::count_if(volumes.begin(), volumes.end(), [state](const api::Volume& volume) {
    return IsClaim(volume) && state->read_write_once_pod.contains(volume.source.id);
  });
  if (uses != 0) cycle.state.Mutable<ClaimState>(kStateKey)->conflict_count += sign * uses;
  return {};
}

bool HaveClaimInCommon(const PodInfo& pod, const PodInfo& other) {
  if (other.namespace_name() != pod.namespace_name()) return false;
  for (const api::Volume& volume : pod.spec().volumes) {
    for (const api::Volume& used : other.spec().volumes) {
      if (IsClaim(volume) && IsClaim(used) && volume.source.id == used.source.id) return true;
    }
  }
  return false;
}

QueueingHint AfterPodDeleted(const PodInfo& pod, const EventObjects& event) {
  const PodInfo* gone = event.old_pod;
  if (gone == nullptr) return QueueingHint::kQueue;
  if (gone->namespace_name() != pod.namespace_name()) return QueueingHint::kSkip;
  return QueueIf(HaveDiskConflict(pod, *gone) || HaveClaimInCommon(pod, *gone));
}

// The pods of a node that is gone use nothing any more. Upstream does not think of that.
QueueingHint AfterNodeDeleted(const PodInfo& pod, const EventObjects& event) {
  return QueueIf(std::any_of(event.old_node_pods.begin(), event.old_node_pods.end(),
                             [&](const PodInfoPtr& gone) { return HaveClaimInCommon(pod, *gone); }));
}

QueueingHint AfterClaimAdded(const PodInfo& pod, const EventObjects& event) {
  const auto* claim = event.New<api::PersistentVolumeClaim>();
  if (claim == nullptr) return QueueingHint::kQueue;
  const auto& volumes = pod.spec().volumes;
  return QueueIf(claim->metadata.namespace_name == pod.namespace_name() &&
                 std::any_of(volumes.begin(), volumes.end(), [claim](const api::Volume& volume) {
                   return IsClaim(volume) && volume.source.id == claim->metadata.name;
                 }));
}

class VolumeRestrictions final : public PreFilterPlugin,
                                 public FastFilter,
                                 public ObjectReader,
                                 public EnqueueExtensions {
 public:
  static constexpr std::string_view kDiskConflictReason = "node(s) had no available disk";
  static constexpr std::string_view kReadWriteOncePodReason =
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another "
      "pod";

  explicit VolumeRestrictions(const Handle& handle)
      : handle_(handle),
        disks_([](const framework::PodClass& pod_class, bool) { return ConflictingDisksOf(pod_class); }) {}

  std::string_view Name() const override { return names::kVolumeRestrictions; }

  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    if (pod.spec().volumes.empty()) return {Status::Skip(), std::nullopt};
    auto state = std::make_shared<ClaimState>();
    const auto& claims = handle_.objects().Of<api::PersistentVolumeClaim>();
    for (const api::Volume& volume : pod.spec().volumes) {
      if (!IsClaim(volume)) continue;
      const api::PersistentVolumeClaim* claim = claims.Find(pod.namespace_name(), volume.source.id);
      if (claim == nullptr) {
        return {Status::UnschedulableAndUnresolvable("persistentvolumeclaim \"" + volume.source.id + "\" not found"),
                std::nullopt};
      }
      const auto& modes = claim->access_modes;
      if (std::find(modes.begin(), modes.end(), "ReadWriteOncePod") == modes.end()) continue;
      state->read_write_once_pod.insert(volume.source.id);
    }
    if (!state->read_write_once_pod.empty()) claims_in_use_.Update(cycle.table);
    for (const std::string& name : state->read_write_once_pod) {
      if (claims_in_use_.Contains(pod.namespace_name() + "/" + name)) ++state->conflict_count;
    }
    if (state->conflict_count == 0 && ConflictingDisksOf(*pod.pod_class) == 0) return {Status::Skip(), std::nullopt};
    cycle.state.Write(kStateKey, std::move(state));
    return {};
  }
  bool HasPreFilterExtensions() const override { return true; }
  Status AddPod(const Cycle& cycle, const PodInfo&, const PodInfo& other, const NodeInfo&) const override {
    return UpdateWithPod(cycle, other, +1);
  }

  Status RemovePod(const Cycle& cycle, const PodInfo&, const PodInfo& other, const NodeInfo&) const override {
    return UpdateWithPod(cycle, other, -1);
  }

  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const override {
    if (HasDiskConflict(pod, node)) return Status::Unschedulable(std::string(kDiskConflictReason));
    const auto* state = cycle.state.Read<ClaimState>(kStateKey);
    if (state == nullptr) return NoState();
    if (state->conflict_count > 0) return Status::Unschedulable(std::string(kReadWriteOncePodReason));
    return {};
  }

  // Nodes without a disk that can conflict are not looked at.
  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const auto* state = cycle.state.Read<ClaimState>(kStateKey);
    if (state == nullptr) {
      FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);
      return;
    }
    CachedRefusal disk(statuses, Code::kUnschedulable, kDiskConflictReason);
    CachedRefusal claim(statuses, Code::kUnschedulable, kReadWriteOncePodReason);
    if (ConflictingDisksOf(*pod.pod_class) > 0) {
      disks_.Update(cycle.table);
      const std::span<const std::int32_t> disk_counts = disks_.by_row();
      for (const NodeIndex row : rows) {
        if (disk_counts[row] == 0 || verdicts[row] != kVerdictOk) continue;
        if (HasDiskConflict(pod, cycle.nodes.Info(row))) verdicts[row] = disk.Get();
      }
    }
    if (state->conflict_count <= 0) return;
    for (const NodeIndex row : rows) {
      if (verdicts[row] == kVerdictOk) verdicts[row] = claim.Get();
    }
  }

  std::vector<ObjectKind> ObjectsRead() const override { return {ObjectKind::kPersistentVolumeClaim}; }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    return {OnPod(kDelete, AfterPodDeleted),
            OnNode(kAdd),
            OnNode(kDelete, AfterNodeDeleted),
            {{EventResource::kPersistentVolumeClaim, kAdd}, AfterClaimAdded}};
  }

 private:
  const Handle& handle_;
  mutable ClaimsInUse claims_in_use_;
  mutable PodCounts disks_;  // how many disks of kinds that can conflict each row has
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateVolumeRestrictions(Handle& handle) {
  return std::make_unique<VolumeRestrictions>(handle);
}

}  // namespace berth::plugins
