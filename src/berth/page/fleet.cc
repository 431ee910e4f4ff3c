// SPDX-License-Identifier: Apache-2.0
#include "berth/page/fleet.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "berth/framework/make_pod_info.h"
#include "berth/page/fleet_frame.h"
#include "berth/page/fleet_json.h"
#include "berth/whatif/cluster_use.h"

namespace berth::page {
namespace {

// Unlike for each node: nothing to group by.
constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

void SortByName(std::vector<std::shared_ptr<const api::Pod>>& pods) {
  std::ranges::sort(pods, [](const auto& a, const auto& b) {
    const api::ObjectMeta& left = a->metadata;
    const api::ObjectMeta& right = b->metadata;
    return std::tie(left.namespace_name, left.name) < std::tie(right.namespace_name, right.name);
  });
}

// Adds to the sums of a zone what one of its nodes requests, or takes it away.
void AddRequested(const framework::Resource& requested, std::int64_t sign, ZoneSums& to) {
  to.cpu_milli += sign * requested.cpu_milli;
  to.memory_bytes += sign * requested.memory_bytes;
  to.pods += sign * requested.pods;
}

// The same with all of a node.
void AddNode(const NodeRow& row, std::int64_t sign, ZoneSums& to) {
  to.nodes += static_cast<std::size_t>(sign);  // of unsigned numbers, so adding all ones takes one away
  AddRequested(row.requested, sign, to);
  to.allocatable_cpu_milli += sign * row.allocatable.cpu_milli;
  to.allocatable_memory_bytes += sign * row.allocatable.memory_bytes;
  to.allocatable_pods += sign * row.allocatable.pods;
}

const std::string& ZoneOf(const api::Node& node) {
  static const std::string none;
  const std::string* const zone = node.metadata.labels.Find(whatif::kZoneLabel);
  return zone == nullptr ? none : *zone;
}

bool IsPending(const api::Pod& pod) { return pod.spec.node_name.empty() && !pod.metadata.deletion_time; }

}  // namespace

void Fleet::SetNode(std::shared_ptr<const api::Node> node) {
  const std::lock_guard lock(mutex_);
  PutNode(std::move(node));
}

void Fleet::PutNode(std::shared_ptr<const api::Node> node) {
  framework::Resource allocatable = framework::Resource::FromList(node->allocatable);
  ++revision_;
  const NodeAt at = NodeNamed(node->metadata.name);
  if (!node_devices_.empty()) {
    if (const auto devices = node_devices_.find(at->second.name); devices != node_devices_.end())
      allocatable.Add(devices->second);
  }
  NodeRow& row = at->second;
  if (row.node != nullptr) {
    CountLabels(*row.node, false);
    LeaveZone(row);
  } else {
    ++rows_.node_count;
  }
  CountLabels(*node, true);
  NoteScalars(allocatable);
  row.zone = &zones_[ZoneOf(*node)];
  row.node = std::move(node);
  row.allocatable = std::move(allocatable);
  AddNode(row, 1, *row.zone);
  TouchNode(at->first, row);
}

void Fleet::SetNodeDevices(std::string_view name, framework::Resource devices) {
  const std::lock_guard lock(mutex_);
  if (devices.scalars.empty()) {
    node_devices_.erase(name);
  } else {
    node_devices_[std::string(name)] = std::move(devices);
  }
  const auto known = node_ids_.find(name);
  if (known != node_ids_.end() && known->second->second.node != nullptr) PutNode(known->second->second.node);
}

void Fleet::SetPodDevices(std::string_view namespace_name, std::string_view name, std::string_view uid,
                          framework::Resource devices) {
  const std::lock_guard lock(mutex_);
  if (devices.scalars.empty()) {
    pod_devices_.erase(uid);
  } else {
    pod_devices_[std::string(uid)] = std::move(devices);
  }
  const auto known = pods_by_name_.find(PodName{namespace_name, name});
  if (known == pods_by_name_.end()) return;
  const std::shared_ptr<const api::Pod> pod = (*known)->second.pod;
  if (pod->metadata.uid == uid) PutPod(pod, {});
}

void Fleet::NoteScalars(const framework::Resource& of) {
  for (const auto& [name, amount] : of.scalars) {
    if (amount > 0 && scalars_seen_.size() < kScalarsMax && scalars_seen_.insert(name).second) is_schema_stale_ = true;
  }
}

void Fleet::RemoveNode(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto known = node_ids_.find(name);
  if (known == node_ids_.end()) return;
  auto& [id, row] = *known->second;
  if (row.node == nullptr) return;
  CountLabels(*row.node, false);
  LeaveZone(row);
  row.node = nullptr;
  row.allocatable = {};
  ++revision_;
  TouchNode(id, row);
  --rows_.node_count;
  DropNodeIfUnused(id);
}

void Fleet::SetPod(std::shared_ptr<const api::Pod> pod, std::optional<Time> now) {
  PodTimes times;
  (pod->spec.node_name.empty() ? times.arrived_at : times.bound_at) = now;
  SetPod(std::move(pod), times);
}

void Fleet::SetPod(std::shared_ptr<const api::Pod> pod, const PodTimes& times) {
  const std::lock_guard lock(mutex_);
  PutPod(std::move(pod), times);
}

void Fleet::PutPod(std::shared_ptr<const api::Pod> pod, const PodTimes& times) {
  ++revision_;
  const auto [at, is_new] = RowFor(pod->metadata);
  PodRow& row = at->second;
  OwnerRow* const owner_before = row.owner;
  const RowId node_before = row.node;
  const bool was_unbound = !is_new && node_before == kNoRow;
  if (!is_new) {
    Count(at->first, row, -1);
    CountScheduler(row.pod->spec.scheduler_name, -1);
    if (IsPending(*row.pod)) --pending_count_;
    --owner_before->pod_count;
  }
  CountActivity(times, is_new, was_unbound, row);
  row.requests = requests_.Of(pod);
  if (!pod_devices_.empty()) {
    if (const auto devices = pod_devices_.find(pod->metadata.uid); devices != pod_devices_.end())
      row.requests.Add(devices->second);
  }
  row.owner = &OwnerFor(whatif::WorkloadViewOf(*pod));
  ++row.owner->pod_count;
  row.node = kNoRow;
  row.on = nullptr;
  if (!pod->spec.node_name.empty()) {
    const NodeAt node = NodeNamed(pod->spec.node_name);
    row.node = node->first;
    row.on = &node->second;
  }
  if (IsPending(*pod)) ++pending_count_;
  CountScheduler(pod->spec.scheduler_name, 1);
  row.pod = std::move(pod);
  Touch(at->first, false, row.changed_in);
  Count(at->first, row, 1);
  if (owner_before != nullptr && owner_before->pod_count == 0) DropOwner(*owner_before);
  if (node_before != kNoRow && node_before != row.node) DropNodeIfUnused(node_before);
}

std::pair<PodAt, bool> Fleet::RowFor(const api::ObjectMeta& meta) {
  bool is_new = false;
  const auto known = pods_by_name_.lazy_emplace(PodName::Of(meta), [&](const auto& construct) {
    is_new = true;
    construct(rows_.pods.try_emplace(rows_.pods.end(), next_id_++));
  });
  const PodAt at = *known;
  if (is_new || at->second.pod->metadata.uid == meta.uid) return {at, is_new};
  DropPod(at);
  return RowFor(meta);
}

void Fleet::CountActivity(const PodTimes& times, bool is_new, bool was_unbound, PodRow& row) {
  if (is_new && times.arrived_at) {
    row.seen_at = *times.arrived_at;
    row.is_timed = true;
    ++activity_.arrived;
  }
  if (!times.bound_at || (!was_unbound && !is_new)) return;
  ++activity_.bound;
  if (row.is_timed && activity_.waited.size() < kWaitsMax)
    activity_.waited.push_back(std::max(Duration(0), *times.bound_at - row.seen_at));
}

void Fleet::RemovePod(std::string_view namespace_name, std::string_view name, std::string_view uid,
                      const PodTimes& times) {
  const std::lock_guard lock(mutex_);
  const auto known = pods_by_name_.find(PodName{namespace_name, name});
  const bool is_known = known != pods_by_name_.end() && (*known)->second.pod->metadata.uid == uid;
  PodRow passing;
  PodRow& row = is_known ? (*known)->second : passing;
  CountActivity(times, !is_known, is_known && row.pod->spec.node_name.empty(), row);
  if (is_known) DropPod(*known);
}

FleetCounts Fleet::counts() const {
  const std::lock_guard lock(mutex_);
  return {rows_.node_count, rows_.pods.size(), pending_count_, revision_};
}

FleetCopy Fleet::Copy() const {
  FleetCopy copy;
  {
    const std::lock_guard lock(mutex_);
    copy.revision = revision_;
    copy.nodes.reserve(rows_.node_count);
    copy.pods.reserve(rows_.pods.size());
    for (const auto& [id, row] : rows_.nodes) {
      if (row.node != nullptr) copy.nodes.push_back(row.node);
    }
    for (const auto& [id, row] : rows_.pods) copy.pods.push_back(row.pod);
  }
  // Rows are in the order in which the watch brought them. Which of several equal pods gets the last place would depend
  // on it.
  std::ranges::sort(copy.nodes, {}, [](const auto& node) -> const std::string& { return node->metadata.name; });
  SortByName(copy.pods);
  return copy;
}

FleetCopy Fleet::CopyWaiting() const {
  FleetCopy copy;
  {
    const std::lock_guard lock(mutex_);
    copy.revision = revision_;
    copy.pods.reserve(rows_.waiting.size());
    for (const RowId id : rows_.waiting) copy.pods.push_back(rows_.pods.at(id).pod);
  }
  SortByName(copy.pods);
  return copy;
}

std::vector<std::string> Fleet::SchedulerNames(std::size_t count_max) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, count] : scheduler_counts_) {
    if (names.size() == count_max) break;
    names.push_back(name);
  }
  return names;
}

FleetActivity Fleet::TakeActivity() {
  const std::lock_guard lock(mutex_);
  return std::exchange(activity_, {});
}

std::vector<ZoneUse> Fleet::UseByZone() const {
  const auto part = [](std::int64_t some, std::int64_t of) {
    return of > 0 ? static_cast<double>(some) / static_cast<double>(of) : 0.0;
  };
  std::vector<ZoneUse> uses;
  const std::lock_guard lock(mutex_);
  for (const auto& [zone, sums] : zones_) {
    if (uses.size() == kZonesMax) break;
    uses.push_back({zone, sums.nodes, part(sums.cpu_milli, sums.allocatable_cpu_milli),
                    part(sums.memory_bytes, sums.allocatable_memory_bytes), part(sums.pods, sums.allocatable_pods)});
  }
  return uses;
}

Fleet::Framed Fleet::Frame() {
  const std::lock_guard lock(mutex_);
  RefreshSchema();
  return {revision_, WriteFleetFrame(rows_, schema_, {epoch_, revision_, {}, pod_rows_max_, kOwnerRowsMax})};
}

std::optional<Fleet::Framed> Fleet::Delta(std::uint32_t base) {
  const std::lock_guard lock(mutex_);
  RefreshSchema();
  if (!CanGoOnFrom(base)) return std::nullopt;
  return Framed{revision_, DeltaFrom(base)};
}

Fleet::Deltas Fleet::DeltasSince(const std::set<std::uint32_t>& bases) {
  const std::lock_guard lock(mutex_);
  RefreshSchema();
  Deltas deltas{revision_, {}};
  for (const std::uint32_t base : bases) {
    if (base != revision_ && CanGoOnFrom(base)) deltas.since.emplace(base, DeltaFrom(base));
  }
  return deltas;
}

std::string Fleet::DeltaFrom(std::uint32_t base) const {
  return WriteFleetFrame(rows_, schema_, {epoch_, revision_, base, pod_rows_max_, kOwnerRowsMax});
}

Fleet::Framed Fleet::Part(const std::vector<RowId>& nodes) {
  const std::lock_guard lock(mutex_);
  RefreshSchema();
  std::vector<RowId> whole;
  std::size_t pod_count = 0;
  for (const RowId id : nodes) {
    if (whole.size() == kPartNodesMax || pod_count >= kPartPodsMax) break;
    whole.push_back(id);
    if (const auto at = rows_.nodes.find(id); at != rows_.nodes.end()) pod_count += at->second.pods.size();
  }
  return {revision_, WriteFleetPart(rows_, schema_, {epoch_, revision_, {}, pod_rows_max_, kOwnerRowsMax}, whole)};
}

bool Fleet::KnowsChangesSince(std::uint32_t base) const {
  const std::lock_guard lock(mutex_);
  // What is not in the schema yet is in no delta either.
  return !is_schema_stale_ && CanGoOnFrom(base);
}

bool Fleet::CanGoOnFrom(std::uint32_t base) const {
  return base <= revision_ && base >= schema_since_ && base >= changes_known_from_;
}

std::optional<codec::json::object> Fleet::NodeJson(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto known = node_ids_.find(name);
  if (known == node_ids_.end()) return std::nullopt;
  return page::NodeJson(rows_, known->second->first, kNodePodsMax);
}

std::optional<codec::json::object> Fleet::PodJson(std::string_view namespace_name, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto known = pods_by_name_.find(PodName{namespace_name, name});
  if (known == pods_by_name_.end()) return std::nullopt;
  return page::PodJson((*known)->second);
}

Fleet::NodeAt Fleet::NodeNamed(std::string_view name) {
  const auto known = node_ids_.find(name);
  if (known != node_ids_.end()) return known->second;
  const NodeAt at = rows_.nodes.emplace_hint(rows_.nodes.end(), next_id_++, NodeRow());
  node_ids_.emplace(std::string(name), at);
  at->second.name = name;
  TouchNode(at->first, at->second);
  return at;
}

OwnerRow& Fleet::OwnerFor(const whatif::WorkloadView& workload) {
  if (const auto known = owner_rows_.find(workload); known != owner_rows_.end()) return **known;
  whatif::Workload copy{std::string(workload.kind), std::string(workload.namespace_name), std::string(workload.name)};
  OwnerRow& row = rows_.owners[copy];
  row.workload = std::move(copy);
  owner_rows_.insert(&row);
  return row;
}

void Fleet::DropOwner(OwnerRow& owner) {
  owner_rows_.erase(&owner);
  const whatif::Workload gone = std::move(owner.workload);
  rows_.owners.erase(gone);
}

codec::json::array Fleet::PodsLike(std::string_view text, std::size_t count_max) const {
  const std::lock_guard lock(mutex_);
  return page::PodsLike(rows_, text, count_max);
}

void Fleet::Count(RowId id, const PodRow& row, int sign) {
  if (row.node == kNoRow) {
    rows_.waiting_changed_in = revision_;
    OwnerRow& owner = *row.owner;
    if (sign > 0) {
      rows_.waiting.insert(id);
      ++owner.waiting_count;
      owner.waiting_requests.Add(row.requests);
    } else {
      rows_.waiting.erase(id);
      --owner.waiting_count;
      owner.waiting_requests.Subtract(row.requests);
    }
    return;
  }
  NodeRow& node = *row.on;
  Touch(row.node, true, node.changed_in);
  if (node.zone != nullptr) AddRequested(node.requested, -1, *node.zone);
  if (sign > 0) {
    node.pods.push_back(id);
    node.requested.Add(row.requests);
  } else {
    std::erase(node.pods, id);
    node.requested.Subtract(row.requests);
  }
  node.requested.pods += sign;
  if (node.zone != nullptr) AddRequested(node.requested, 1, *node.zone);
}

void Fleet::CountScheduler(const std::string& name, int sign) {
  const auto at = scheduler_counts_.try_emplace(name).first;
  if (sign > 0) {
    ++at->second;
  } else if (--at->second == 0) {
    scheduler_counts_.erase(at);
  }
}

void Fleet::Touch(RowId id, bool is_node, std::uint32_t& changed_in) {
  if (changed_in == revision_) return;
  changed_in = revision_;
  Remember({revision_, id, is_node, false});
}

// While the row has the node that was in the zone.
void Fleet::LeaveZone(NodeRow& row) {
  AddNode(row, -1, *row.zone);
  if (row.zone->nodes == 0) zones_.erase(ZoneOf(*row.node));
  row.zone = nullptr;
}

void Fleet::TouchNode(RowId id, NodeRow& row) {
  Touch(id, true, row.changed_in);
  row.node_changed_in = revision_;
}

void Fleet::DropPod(PodAt at) {
  const RowId id = at->first;
  const api::Pod& pod = *at->second.pod;
  ++revision_;
  Count(id, at->second, -1);
  CountScheduler(pod.spec.scheduler_name, -1);
  if (IsPending(pod)) --pending_count_;
  OwnerRow& owner = *at->second.owner;
  if (--owner.pod_count == 0) DropOwner(owner);
  const RowId node = at->second.node;
  pods_by_name_.erase(at);
  rows_.pods.erase(at);
  Remember({revision_, id, false, true});
  if (node != kNoRow) DropNodeIfUnused(node);
}

void Fleet::DropNodeIfUnused(RowId id) {
  const auto at = rows_.nodes.find(id);
  if (at == rows_.nodes.end() || at->second.node != nullptr || !at->second.pods.empty()) return;
  node_ids_.erase(at->second.name);
  rows_.nodes.erase(at);
  Remember({revision_, id, true, true});
}

void Fleet::Remember(const FleetChange& change) {
  rows_.changes.push_back(change);
  if (rows_.changes.size() <= kChangesMax) return;
  changes_known_from_ = rows_.changes.front().revision;
  rows_.changes.pop_front();
}

void Fleet::CountLabels(const api::Node& node, bool is_added) {
  for (const auto& [key, value] : node.metadata.labels) {
    if (key == kHostnameLabel) continue;
    if (is_added) {
      if (++label_counts_[key] == 1) is_schema_stale_ = true;
    } else if (--label_counts_[key] == 0) {
      label_counts_.erase(key);
    }
  }
}

// Only a label or resource that nobody has had makes the columns other ones: a reader must not have to begin anew
// because counts go up and down.
void Fleet::RefreshSchema() {
  const bool is_aggregated = rows_.pods.size() > pod_rows_max_;
  if (!std::exchange(is_schema_stale_, false) && is_aggregated == schema_.is_aggregated) return;
  std::vector<std::pair<std::size_t, std::string>> keys;
  for (const auto& [key, count] : label_counts_) keys.emplace_back(count, key);
  std::ranges::sort(
      keys, [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  if (keys.size() > kLabelKeysMax) keys.resize(kLabelKeysMax);
  FleetSchema schema;
  schema.is_aggregated = is_aggregated;
  for (auto& [count, key] : keys) schema.label_keys.push_back(std::move(key));
  schema.scalars.assign(scalars_seen_.begin(), scalars_seen_.end());
  if (schema == schema_) return;
  schema_ = std::move(schema);
  schema_since_ = revision_;
}

}  // namespace berth::page
