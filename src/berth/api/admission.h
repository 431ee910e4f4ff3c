// SPDX-License-Identifier: Apache-2.0
// The kinds that the API server and controllers read to complete pods before scheduling. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/api/meta.h"
#include "berth/api/pod.h"
#include "berth/api/resource_claim.h"

namespace berth::api {

struct PriorityClass {
  ObjectMeta metadata;
  std::int32_t value = 0;
  bool global_default = false;
  std::string preemption_policy;
  bool operator==(const PriorityClass&) const = default;
};

struct RuntimeClass {
  ObjectMeta metadata;
  ResourceList pod_fixed;  // overhead.podFixed
  StringMap node_selector;
  std::vector<Toleration> tolerations;
  bool operator==(const RuntimeClass&) const = default;
};

struct ResourceClaimTemplate {
  ObjectMeta metadata;
  ResourceClaimSpec spec;
  bool operator==(const ResourceClaimTemplate&) const = default;
};

// A requirement of spec.scopeSelector: which pods a quota is about.
struct QuotaScope {
  std::string name;  // "PriorityClass"
  std::string op;    // "In", "NotIn", "Exists", "DoesNotExist"
  std::vector<std::string> values;
  bool operator==(const QuotaScope&) const = default;
};

// Amounts are those of the status: admission does not look at spec.hard.
struct ResourceQuota {
  ObjectMeta metadata;
  std::vector<std::string> scopes;
  std::vector<QuotaScope> scope_selector;
  ResourceList hard;
  ResourceList used;
  bool operator==(const ResourceQuota&) const = default;
};

}  // namespace berth::api
