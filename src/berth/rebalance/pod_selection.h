// SPDX-License-Identifier: Apache-2.0
// PodSelection: which pods a strategy looks at. Plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/api/selector.h"

namespace berth::rebalance {

// At most one of the two is set. An empty list is no limit.
struct NamespaceFilter {
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  bool Takes(std::string_view namespace_name) const;
  bool operator==(const NamespaceFilter&) const = default;
};

struct PodSelection {
  NamespaceFilter namespaces;
  std::optional<api::LabelSelector> labels;  // absent: all
  bool Takes(const api::Pod& pod) const;
  bool operator==(const PodSelection&) const = default;
};

}  // namespace berth::rebalance
