// SPDX-License-Identifier: Apache-2.0
// PodRange: which of the queue's pods a dump has. A plain value.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

namespace berth::queue {

// A page of all pods sorted by namespace and name: those behind this name, which need not exist.
struct PodRange {
  std::string after_namespace;
  std::string after_name;
  std::size_t count_max = std::numeric_limits<std::size_t>::max();
};

}  // namespace berth::queue
