// SPDX-License-Identifier: Apache-2.0
// Resource: amounts as the scheduler counts them: CPU in millicores, memory and ephemeral storage in bytes, all other
// resources (scalars) in whole units. A value. Upstream: framework.Resource.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/meta.h"

namespace berth::framework {

struct Resource {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t ephemeral_storage_bytes = 0;
  std::int64_t pods = 0;  // in allocatable only: the maximum number of pods on the node
  std::vector<std::pair<std::string, std::int64_t>> scalars;  // sorted by name

  static Resource FromList(const api::ResourceList& list);

  std::int64_t Scalar(std::string_view name) const;
  // 0 for an absent scalar. "cpu" is in millicores, "memory" and "ephemeral-storage" in bytes.
  std::int64_t Get(std::string_view name) const;
  void Add(const Resource& other);       // without pods
  void Subtract(const Resource& other);  // without pods
  bool operator==(const Resource&) const = default;
};

// Sums wrap around as in Go, so that adding and removing the same pod always cancels, whatever amounts it requests.
inline std::int64_t WrappingAdd(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t WrappingSub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

namespace resources {
inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kMemory = "memory";
inline constexpr std::string_view kEphemeralStorage = "ephemeral-storage";
inline constexpr std::string_view kPods = "pods";
}  // namespace resources

// The nonzero amounts of a container without a request, by which scores spread pods (util.GetNonzeroRequests).
inline constexpr std::int64_t kDefaultCpuMilliRequest = 100;
inline constexpr std::int64_t kDefaultMemoryBytesRequest = 200 * 1024 * 1024;

}  // namespace berth::framework
