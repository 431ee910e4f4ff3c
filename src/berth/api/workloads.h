// SPDX-License-Identifier: Apache-2.0
// The fields of other kinds that scheduling reads: namespaces, the owners and services whose selectors spread pods by
// default, and disruption budgets. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/meta.h"
#include "berth/api/selector.h"

namespace berth::api {

struct Namespace {
  ObjectMeta metadata;
  bool operator==(const Namespace&) const = default;
};

struct Service {
  ObjectMeta metadata;
  std::optional<StringMap> selector;  // nullopt: no pods
  bool operator==(const Service&) const = default;
};

struct ReplicationController {
  ObjectMeta metadata;
  StringMap selector;
  bool operator==(const ReplicationController&) const = default;
};

struct ReplicaSet {
  ObjectMeta metadata;
  std::optional<LabelSelector> selector;
  bool operator==(const ReplicaSet&) const = default;
};

struct StatefulSet {
  ObjectMeta metadata;
  std::optional<LabelSelector> selector;
  bool operator==(const StatefulSet&) const = default;
};

struct PodDisruptionBudget {
  ObjectMeta metadata;
  std::optional<LabelSelector> selector;  // nullopt: no pods
  std::int32_t disruptions_allowed = 0;
  std::vector<std::string> disrupted_pods;  // names, sorted
  bool operator==(const PodDisruptionBudget&) const = default;
};

}  // namespace berth::api
