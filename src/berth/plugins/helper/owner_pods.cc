// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/owner_pods.h"

#include <algorithm>
#include <utility>

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::PodClass;
using framework::PodInfo;
using framework::PodInfoPtr;

void Append(std::string& key, std::string_view part) {
  key += part;
  key += '\0';
}

// Writes what tells the owner of such a pod from all others. False when it has none that counts.
bool WriteKey(const PodClass& pod_class, OwnerPods::Owners owners, std::string& key) {
  key.clear();
  if (owners == OwnerPods::Owners::kNone) return false;
  Append(key, pod_class.namespace_name);
  Append(key, pod_class.controller ? "controller" : "labels");
  if (pod_class.controller) {
    const api::OwnerReference& controller = *pod_class.controller;
    for (const std::string* part : {&controller.api_version, &controller.kind, &controller.name, &controller.uid})
      Append(key, *part);
    return true;
  }
  if (owners != OwnerPods::Owners::kAll) return false;
  for (const auto& [label, value] : pod_class.labels) {
    Append(key, label);
    Append(key, value);
  }
  return true;
}

}  // namespace

bool OwnerPods::HaveSameOwner(const PodClass& a, const PodClass& b, Owners owners) {
  std::string key_of_a;
  std::string key_of_b;
  return WriteKey(a, owners, key_of_a) && WriteKey(b, owners, key_of_b) && key_of_a == key_of_b;
}

void OwnerPods::Forget() {
  table_.Forget();
  rows_.clear();
  live_rows_ = 0;
  rows_by_domain_.clear();
  owners_.clear();
  live_owners_ = 0;
  owner_of_key_.clear();
  owner_of_class_.clear();
}

void OwnerPods::Sync(const framework::NodeTable& nodes) {
  if (table_.IsUpToDate(nodes)) return;
  if (!table_.IsSame(nodes) || owners_.size() > 2 * live_owners_ + kDeadOwnersMax) Forget();
  if (owner_of_class_.size() > kClassesMax) owner_of_class_.clear();
  rows_.resize(nodes.row_count());
  table_.ForChanged(nodes,
                    [&](NodeIndex row, std::size_t pods_kept) { SyncRow(nodes.Info(row), pods_kept, rows_[row]); });
}

void OwnerPods::SyncRow(const framework::NodeInfo& info, std::size_t pods_kept, Row& row) {
  if (row.node != info.node_ptr()) {
    MoveRow(row, info.has_node() ? domain_of_(info.node()) : kNoDomain);
    row.node = info.node_ptr();
  }
  if (owners_counted_ == Owners::kNone) return;
  SyncPods(
      info, pods_kept, row.pods,
      [](const Pod& kept, const PodInfoPtr& pod) {
        return kept.class_id == pod->pod_class->id && kept.is_terminating == pod->deletion_time.has_value();
      },
      [this](const PodInfoPtr& pod) { return PodOf(*pod); },
      [this, &row](const Pod& pod, std::int32_t pods) { Add(pod.owner, row.domain, pods); });
}

void OwnerPods::MoveRow(Row& row, DomainId domain) {
  if (row.domain == domain) return;
  if (row.domain != kNoDomain) {
    const auto it = rows_by_domain_.find(row.domain);
    if (--it->second == 0) rows_by_domain_.erase(it);
    --live_rows_;
  }
  if (domain != kNoDomain) {
    ++rows_by_domain_[domain];
    ++live_rows_;
  }
  for (const Pod& pod : row.pods) {
    Add(pod.owner, row.domain, -1);
    Add(pod.owner, domain, +1);
  }
  row.domain = domain;
}

OwnerPods::Pod OwnerPods::PodOf(const PodInfo& pod) {
  const bool is_terminating = pod.deletion_time.has_value();
  return {pod.pod_class->id, is_terminating ? kNoOwner : OwnerOf(*pod.pod_class), is_terminating};
}

OwnerPods::OwnerId OwnerPods::OwnerOf(const PodClass& pod_class) {
  const auto [known, is_new_class] = owner_of_class_.try_emplace(pod_class.id, kNoOwner);
  if (!is_new_class) return known->second;
  if (!WriteKey(pod_class, owners_counted_, key_)) return kNoOwner;
  const auto [it, is_new] = owner_of_key_.try_emplace(key_, static_cast<OwnerId>(owners_.size()));
  if (is_new) owners_.emplace_back();
  return known->second = it->second;
}

void OwnerPods::Add(OwnerId owner, DomainId domain, std::int32_t pods) {
  if (owner == kNoOwner || domain == kNoDomain) return;
  auto& counts = owners_[owner].counts;
  const auto it =
      std::find_if(counts.begin(), counts.end(), [domain](const Count& count) { return count.domain == domain; });
  if (it == counts.end()) {
    if (counts.empty()) ++live_owners_;
    counts.push_back({domain, pods});
  } else if ((it->pods += pods) == 0) {
    *it = counts.back();
    counts.pop_back();
    if (counts.empty()) --live_owners_;
  }
}

std::size_t OwnerPods::RowsOf(DomainId domain) const {
  const auto it = rows_by_domain_.find(domain);
  return it == rows_by_domain_.end() ? 0 : it->second;
}

std::span<const OwnerPods::Count> OwnerPods::CountsOf(const PodClass& pod_class) const {
  OwnerId owner = kNoOwner;
  if (const auto known = owner_of_class_.find(pod_class.id); known != owner_of_class_.end()) {
    owner = known->second;
  } else if (WriteKey(pod_class, owners_counted_, key_)) {
    const auto it = owner_of_key_.find(std::string_view(key_));
    if (it != owner_of_key_.end()) owner = it->second;
  }
  if (owner == kNoOwner) return {};
  return {owners_[owner].counts.data(), owners_[owner].counts.size()};
}

}  // namespace berth::plugins
