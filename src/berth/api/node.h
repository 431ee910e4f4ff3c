// SPDX-License-Identifier: Apache-2.0
// Node: what scheduling reads of a core/v1 Node. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/meta.h"
#include "berth/api/pod.h"

namespace berth::api {

struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
  bool operator==(const ContainerImage&) const = default;
};

struct Node {
  ObjectMeta metadata;
  bool unschedulable = false;
  std::vector<Taint> taints;
  ResourceList allocatable;
  std::vector<ContainerImage> images;
  std::vector<std::pair<std::string, std::string>> conditions;  // type to status, sorted
  std::vector<std::string> declared_features;
  bool operator==(const Node&) const = default;
};

}  // namespace berth::api
