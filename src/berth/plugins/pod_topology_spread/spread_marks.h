// SPDX-License-Identifier: Apache-2.0
// The marks by which PodTopologySpread, as a GroupingPlugin, tells rows apart: a topology value for each constraint,
// or, where most rows have a value of their own, the number of matching pods there. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/fast_path.h"
#include "berth/plugins/pod_topology_spread/spread_counts.h"

namespace berth::plugins {

// Which hard constraints mark rows by the pods there, as bits; nullopt when there are too many constraints to group.
std::optional<std::uint64_t> ConstraintsByCount(const SpreadCounts& counts);

// Adds the rows on which shared marks, which leave the pods out, do not say all. False: they are more than special_max.
bool CollectSpecialRows(const SpreadCounts& counts, std::uint64_t by_count, std::size_t special_max,
                        std::vector<framework::NodeIndex>& special);

// The marks of these rows, one beside the other, each row `stride` behind the last.
void WriteMarks(const SpreadCounts& counts, framework::GroupingPlugin::MarkScope scope,
                std::span<const framework::NodeIndex> rows, std::span<std::uint32_t> marks, std::size_t stride);

// Numbers that tell what marks were given for: marks of equal versions mean the same.
class SpreadMarkVersions {
 public:
  // Bound on the kinds of shared marks with versions. Beyond it all get new versions.
  static constexpr std::size_t kSharedMax = 4096;

  // `numbers` counts the versions that were given, here and elsewhere; it must outlive it.
  explicit SpreadMarkVersions(std::uint64_t& numbers) : numbers_(numbers) {}

  std::uint64_t New() { return ++numbers_; }
  // The version of the marks that classes with the same topology keys share. `numbering` is that of the keys' values.
  std::uint64_t Shared(SpreadCounts& counts, std::uint64_t numbering, std::uint64_t by_count);

 private:
  std::uint64_t& numbers_;
  StringHashMap<std::uint64_t> shared_;
};

}  // namespace berth::plugins
