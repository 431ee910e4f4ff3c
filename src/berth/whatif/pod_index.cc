// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pod_index.h"

#include <algorithm>

namespace berth::whatif {
namespace {

using PodPtr = std::shared_ptr<const api::Pod>;

bool IsUnsettled(const api::Pod& pod) { return pod.spec.node_name.empty() || pod.metadata.deletion_time.has_value(); }

void Insert(PodPtrs& pods, const PodPtr& pod) {
  const bool is_last = pods.empty() || IsListedBefore(pods.back(), pod);
  pods.insert(is_last ? pods.end() : std::ranges::lower_bound(pods, pod, IsListedBefore), pod);
}

void Erase(PodPtrs& pods, const PodPtr& pod) {
  const auto at = std::ranges::lower_bound(pods, pod, IsListedBefore);
  if (at != pods.end() && *at == pod) pods.erase(at);
}

}  // namespace

int CompareListed(std::string_view namespace_a, std::string_view a, std::string_view namespace_b, std::string_view b) {
  if (namespace_a == namespace_b) return a.compare(b);
  // What differs is mostly the namespace; one may be the beginning of the other.
  const std::size_t common = std::min(namespace_a.size(), namespace_b.size());
  if (const int by_common = namespace_a.substr(0, common).compare(namespace_b.substr(0, common)); by_common != 0)
    return by_common;
  const std::string_view rest = namespace_a.size() > common ? namespace_a : namespace_b;
  const int by_rest = static_cast<unsigned char>(rest[common]) < static_cast<unsigned char>('/') ? -1 : 1;
  return namespace_a.size() > common ? by_rest : -by_rest;
}

bool IsListedBefore(const PodPtr& a, const PodPtr& b) {
  return CompareListed(a->metadata.namespace_name, a->metadata.name, b->metadata.namespace_name, b->metadata.name) < 0;
}

PodPtr FindListed(const PodPtrs& pods, std::string_view namespace_name, std::string_view name) {
  const auto at = std::ranges::partition_point(pods, [&](const PodPtr& pod) {
    return CompareListed(pod->metadata.namespace_name, pod->metadata.name, namespace_name, name) < 0;
  });
  const bool is_it =
      at != pods.end() && (*at)->metadata.name == name && (*at)->metadata.namespace_name == namespace_name;
  return is_it ? *at : nullptr;
}

PodIndex::PodIndex(const PodPtrs& pods) {
  for (const PodPtr& pod : pods) Add(pod);
}

void PodIndex::Add(const PodPtr& pod) {
  Insert(by_workload_[WorkloadOf(*pod)], pod);
  if (IsUnsettled(*pod)) Insert(unsettled_, pod);
}

void PodIndex::Remove(const PodPtr& pod) {
  if (const auto at = by_workload_.find(WorkloadOf(*pod)); at != by_workload_.end()) {
    Erase(at->second, pod);
    if (at->second.empty()) by_workload_.erase(at);
  }
  if (IsUnsettled(*pod)) Erase(unsettled_, pod);
}

const PodPtrs& PodIndex::PodsOf(const Workload& workload) const {
  static const PodPtrs kNone;
  const auto at = by_workload_.find(workload);
  return at == by_workload_.end() ? kNone : at->second;
}

}  // namespace berth::whatif
