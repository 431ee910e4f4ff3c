// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/workload_view.h"

#include <string>

namespace berth::whatif {
namespace {

constexpr std::string_view kTemplateHash = "pod-template-hash";

}  // namespace

WorkloadView WorkloadViewOf(const api::Pod& pod) {
  const api::ObjectMeta& meta = pod.metadata;
  if (!meta.controller) return {"Pod", meta.namespace_name, meta.name};
  const api::OwnerReference& owner = *meta.controller;
  const WorkloadView itself{owner.kind, meta.namespace_name, owner.name};
  if (owner.kind != "ReplicaSet") return itself;
  const std::string* const hash = meta.labels.Find(kTemplateHash);
  if (hash == nullptr || hash->empty() || !owner.name.ends_with(*hash)) return itself;
  const std::string_view before = std::string_view(owner.name).substr(0, owner.name.size() - hash->size());
  if (!before.ends_with('-')) return itself;
  return {"Deployment", meta.namespace_name, before.substr(0, before.size() - 1)};
}

}  // namespace berth::whatif
