// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/object_bases.h"

#include <cstdint>

#include "berth/shell/recording/bytes.h"

namespace berth::recording {

// Pods of one owner are likely to be alike, and so are pods without an owner that have the same labels.
std::size_t ObjectBases::SlotOf(const api::Pod& pod) {
  const api::ObjectMeta& metadata = pod.metadata;
  std::uint64_t hash = HashBytes(metadata.namespace_name);
  if (metadata.controller) {
    hash = HashBytes(metadata.controller->uid, hash);
  } else {
    for (const auto& [key, value] : metadata.labels) hash = HashBytes(value, hash);
  }
  return hash % kPodsMax;
}

std::size_t ObjectBases::SlotOf(const api::Node& node) { return HashBytes(node.metadata.name) % kNodesMax; }

}  // namespace berth::recording
