// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_volume_limits/node_volume_limits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/csi_migration.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/pod_counts.h"
#include "berth/plugins/names.h"
#include "berth/plugins/node_volume_limits/attachable_volumes.h"
#include "berth/plugins/node_volume_limits/node_attachments.h"

namespace berth::plugins {
namespace {

// Added to a row's count of volumes when counting one of them may fail. Only counting them shows that error.
constexpr std::int32_t kMayFail = 1 << 20;

// How many volumes of each driver are attached to the node for VolumeAttachments that no pod there has brought about.
void CountAttachments(const Objects& objects, const std::set<std::string, std::less<>>& attachments,
                      const AttachableVolumes& used, std::map<std::string, std::int64_t>& counts) {
  AttachableVolumes attached;
  for (const std::string& key : attachments) {
    const api::VolumeAttachment* attachment = objects.Of<api::VolumeAttachment>().Find(key);
    if (attachment == nullptr || attachment->attacher.empty() || !attachment->persistent_volume_name) continue;
    const auto* volume = objects.Of<api::PersistentVolume>().Find(*attachment->persistent_volume_name);
    if (volume == nullptr || volume->spec.source.kind != api::VolumeKind::kCsi) continue;
    attached[UniqueVolumeName(attachment->attacher, volume->spec.source.id)] = attachment->attacher;
  }
  for (const auto& [name, driver] : attached) {
    if (!used.contains(name)) ++counts[driver];
  }
}

std::map<std::string, std::int64_t> CountByDriver(const AttachableVolumes& volumes) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& [name, driver] : volumes) ++counts[driver];
  return counts;
}

// What a pod brings to nodes with a CSINode, or to those without.
struct Brought {
  Status status;
  std::map<std::string, std::int64_t> count_by_driver;
  std::vector<std::string> to_be_installed;
};

// The drivers of new volumes whose CSIDriver wants nodes without them left out, or all with one (see
// Release::asks_driver_to_prevent). A driver without that object may be none.
std::vector<std::string> DriversToBeInstalled(const Handle& handle,
                                              const std::map<std::string, std::int64_t>& count_by_driver) {
  const bool asks_driver = handle.release().asks_driver_to_prevent;
  std::vector<std::string> drivers;
  for (const auto& [name, count] : count_by_driver) {
    const api::CsiDriver* driver = handle.objects().Of<api::CsiDriver>().Find(name);
    if (driver == nullptr) continue;
    if (!asks_driver || driver->prevent_pod_scheduling_if_missing.value_or(false)) drivers.push_back(name);
  }
  return drivers;
}

// Upstream names any of several missing drivers; this the first by name.
Status MissingDriver(const std::vector<std::string>& drivers, const api::CsiNode* csi_node) {
  for (const std::string& name : drivers) {
    const bool is_there =
        csi_node != nullptr && std::any_of(csi_node->drivers.begin(), csi_node->drivers.end(),
                                           [&](const api::CsiNodeDriver& driver) { return driver.name == name; });
    if (!is_there) return Status::Unschedulable(name + " CSI driver is not installed on the node");
  }
  return {};
}

// How many volumes may be on a node for all that the pod brings to fit, whatever their drivers; nullopt: no limit is
// about the pod.
std::optional<std::int64_t> RoomFor(const Brought& brought, const VolumeLimits& limits) {
  std::optional<std::int64_t> room;
  for (const auto& [driver, limit] : limits) {
    const auto it = brought.count_by_driver.find(driver);
    if (it == brought.count_by_driver.end()) continue;
    room = std::min(room.value_or(std::numeric_limits<std::int64_t>::max()), limit - it->second);
  }
  return room;
}

// A driver without a limit takes any number.
std::int32_t LimitOf(const api::CsiNodeDriver& driver) {
  return driver.allocatable_count.value_or(std::numeric_limits<std::int32_t>::max());
}

// A driver that is new on the node helps pods that may not run without it, and one that is gone takes its limit along.
// Upstream takes a driver without limit for one of 0, and does not think of one that goes.
QueueingHint AfterCsiNodeUpdate(const PodInfo&, const EventObjects& event) {
  const auto* before = event.Old<api::CsiNode>();
  const auto* after = event.New<api::CsiNode>();
  if (before == nullptr || after == nullptr) return QueueingHint::kQueue;
  const auto find = [](const api::CsiNode& node, const std::string& name) {
    return std::find_if(node.drivers.begin(), node.drivers.end(),
                        [&](const auto& driver) { return driver.name == name; });
  };
  const bool has_more = std::any_of(after->drivers.begin(), after->drivers.end(), [&](const auto& driver) {
    const auto old = find(*before, driver.name);
    return old == before->drivers.end() || LimitOf(driver) > LimitOf(*old);
  });
  return QueueIf(has_more || std::any_of(before->drivers.begin(), before->drivers.end(), [&](const auto& driver) {
                   return find(*after, driver.name) == after->drivers.end();
                 }));
}

QueueingHint AfterPodDeleted(const PodInfo&, const EventObjects& event) {
  const PodInfo* gone = event.old_pod;
  if (gone == nullptr) return QueueingHint::kQueue;
  return QueueIf(WasAssignedOrNominated(*gone) && CountMayBeAttachable(*gone->pod_class) > 0);
}

QueueingHint AfterClaimAdded(const PodInfo& pod, const EventObjects& event) {
  const auto* claim = event.New<api::PersistentVolumeClaim>();
  if (claim == nullptr) return QueueingHint::kQueue;
  if (claim->metadata.namespace_name != pod.namespace_name()) return QueueingHint::kSkip;
  const auto& volumes = pod.spec().volumes;
  return QueueIf(std::any_of(volumes.begin(), volumes.end(), [&](const api::Volume& volume) {
    const std::string name = ClaimNameOf(pod, volume);
    return !name.empty() && name == claim->metadata.name;
  }));
}

// Upstream does not think of the claims of ephemeral volumes.
QueueingHint AfterAttachmentDeleted(const PodInfo& pod, const EventObjects& event) {
  const auto* gone = event.Old<api::VolumeAttachment>();
  if (gone == nullptr) return QueueingHint::kQueue;
  for (const api::Volume& volume : pod.spec().volumes) {
    if (volume.source.kind == api::VolumeKind::kPersistentVolumeClaim ||
        volume.source.kind == api::VolumeKind::kEphemeral)
      return QueueingHint::kQueue;
    const std::string_view plugin = InTreePluginOf(volume.source.kind);
    if (plugin.empty()) continue;
    if (!TranslatedHandle(volume.source).ok() || gone->attacher == CsiDriverFor(plugin)) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

std::vector<ClusterEventWithHint> VolumeLimitEvents() {
  using namespace framework::action;
  return {{{EventResource::kCsiNode, kAdd | kDelete}, {}},
          {{EventResource::kCsiNode, kUpdate}, AfterCsiNodeUpdate},
          OnPod(kDelete, AfterPodDeleted),
          {{EventResource::kPersistentVolumeClaim, kAdd}, AfterClaimAdded},
          {{EventResource::kVolumeAttachment, kDelete}, AfterAttachmentDeleted}};
}

class NodeVolumeLimits final : public PreFilterPlugin,
                               public FastFilter,
                               public ObjectReader,
                               public EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) exceed max volume count";

  explicit NodeVolumeLimits(const Handle& handle)
      : handle_(handle),
        attachments_(NodeAttachments::Make(handle.objects())),
        volumes_([](const framework::PodClass& pod_class, bool) {
          return CountMayBeAttachable(pod_class) + (MayFailToCount(pod_class) ? kMayFail : 0);
        }) {}

  std::string_view Name() const override { return names::kNodeVolumeLimits; }
  bool ReadsPlacementOnly() const override { return true; }

  Dependency PreFilterDependsOn() const override { return Dependency::kNode; }
  PreFilterResult PreFilter(const Cycle&, const PodInfo& pod) const override {
    if (CountMayBeAttachable(*pod.pod_class) > 0) return {};
    return {Status::Skip(), std::nullopt};
  }

  Status Filter(const Cycle&, const PodInfo& pod, const NodeInfo& node) const override {
    const Objects& objects = handle_.objects();
    const api::CsiNode* csi_node = objects.Of<api::CsiNode>().Find(node.name());
    AttachableVolumes brought;
    if (Status status = AddAttachableVolumes(objects, pod, csi_node, true, brought); !status.IsSuccess()) return status;
    if (brought.empty()) return {};
    if (handle_.release().scales_volume_limits) {
      Status missing = MissingDriver(DriversToBeInstalled(handle_, CountByDriver(brought)), csi_node);
      if (!missing.IsSuccess()) return missing;
    }
    const VolumeLimits limits = VolumeLimitsOf(csi_node);
    if (limits.empty()) return {};

    AttachableVolumes used;
    for (const PodInfoPtr& other : node.pods()) {
      Status status = AddAttachableVolumes(objects, *other, csi_node, false, used);
      if (!status.IsSuccess()) return status;
    }
    // A volume that a pod there has already does not count twice. One that is merely attached does, as upstream counts.
    std::erase_if(brought, [&used](const auto& volume) { return used.contains(volume.first); });
    std::map<std::string, std::int64_t> counts = CountByDriver(used);
    CountAttachments(objects, attachments_->AttachmentsOf(node.name()), used, counts);
    for (const auto& [driver, count] : CountByDriver(brought)) {
      for (const auto& [limited, limit] : limits) {
        if (limited == driver && counts[driver] + count > limit) return Status::Unschedulable(std::string(kReason));
      }
    }
    return {};
  }

  // Looks closely only at nodes where all volumes of their pods and all attachments together might be too many.
  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const Objects& objects = handle_.objects();
    attachments_->Update(cycle.table, objects);
    volumes_.Update(cycle.table);
    static const api::CsiNode kSomeCsiNode;
    Brought brought_to[2];  // nodes without and with a CSINode
    for (const bool has_csi_node : {false, true}) {
      AttachableVolumes volumes;
      Brought& brought = brought_to[has_csi_node ? 1 : 0];
      brought.status = AddAttachableVolumes(objects, pod, has_csi_node ? &kSomeCsiNode : nullptr, true, volumes);
      brought.count_by_driver = CountByDriver(volumes);
      if (handle_.release().scales_volume_limits)
        brought.to_be_installed = DriversToBeInstalled(handle_, brought.count_by_driver);
    }
    std::vector<std::optional<std::int64_t>> room;
    for (std::uint32_t id = 0; id < attachments_->limit_set_count(); ++id) {
      room.push_back(RoomFor(brought_to[1], attachments_->LimitSet(id)));
    }
    const std::span<const NodeAttachments::Row> facts = attachments_->rows();
    const std::span<const std::int32_t> volume_counts = volumes_.by_row();
    CachedRefusal refusal(statuses, Code::kUnschedulable, kReason);
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
      const Brought& brought = brought_to[facts[row].has_csi_node ? 1 : 0];
      if (!brought.status.IsSuccess()) {
        verdicts[row] = statuses.Intern(brought.status);
        continue;
      }
      if (!brought.to_be_installed.empty()) {
        const auto* csi_node = objects.Of<api::CsiNode>().Find(cycle.nodes.Info(row).name());
        if (const Status missing = MissingDriver(brought.to_be_installed, csi_node); !missing.IsSuccess()) {
          verdicts[row] = statuses.Intern(missing);
          continue;
        }
      }
      if (brought.count_by_driver.empty() || facts[row].limit_set == 0) continue;
      if (volume_counts[row] < kMayFail) {
        const std::optional<std::int64_t>& most = room[facts[row].limit_set];
        if (!most || volume_counts[row] + static_cast<std::int64_t>(facts[row].attachment_count) <= *most) continue;
      }
      const Status status = Filter(cycle, pod, cycle.nodes.Info(row));
      if (status.code() == Code::kUnschedulable) {  // the driver is there
        verdicts[row] = refusal.Get();
      } else if (!status.IsSuccess()) {
        verdicts[row] = statuses.Intern(status);
      }
    }
  }

  std::vector<ObjectKind> ObjectsRead() const override {
    using enum ObjectKind;
    std::vector<ObjectKind> kinds{kPersistentVolume, kPersistentVolumeClaim, kStorageClass, kCsiNode,
                                  kVolumeAttachment};
    if (handle_.release().scales_volume_limits) kinds.push_back(kCsiDriver);
    return kinds;
  }
  std::vector<ClusterEventWithHint> EventsToRegister() const override { return VolumeLimitEvents(); }

 private:
  const Handle& handle_;
  const std::shared_ptr<NodeAttachments> attachments_;
  mutable PodCounts volumes_;  // an upper bound of the volumes that count, by row
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateNodeVolumeLimits(Handle& handle) {
  return std::make_unique<NodeVolumeLimits>(handle);
}

}  // namespace berth::plugins
