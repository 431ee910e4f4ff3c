// SPDX-License-Identifier: Apache-2.0
// PodGroupConditions: writes the condition of pod groups that says whether they were scheduled. A write that fails for
// a passing reason is retried for a while, because no later cycle may follow. Within turns only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_map.h>

#include "berth/core/scheduler/background_operations.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/framework/pod_groups.h"

namespace berth::scheduler {

class PodGroupConditions {
 public:
  // Attempts at one write.
  static constexpr int kTriesMax = 8;

  // Both arguments must outlive it.
  PodGroupConditions(CoreState& state, BackgroundOperations& background) : state_(state), background_(background) {}

  // No effect when the object or a write under way has this condition already, or when the group was scheduled once:
  // the condition never returns to false. Composite groups have a condition as Release::writes_composite_conditions
  // says.
  void Set(const framework::PodGroupKey& group, bool is_scheduled, const std::string& reason,
           const std::string& message);

 private:
  // The writes of one group. Only one is under way at a time, because the API server may receive a retried write after
  // a later one.
  struct GroupWrites {
    std::string uid;          // of the group
    std::uint64_t write = 0;  // the one under way
    bool is_scheduled = false;
    std::string under_way;  // its content; empty: none is under way
    std::string next;       // content of the write that follows it; empty: none
    std::string next_body;
  };

  template <typename Object>
  void SetOn(const framework::PodGroupKey& group, const Object* object, std::string_view type, bool is_scheduled,
             const std::string& reason, const std::string& message);
  framework::Operation Post(const framework::PodGroupKey& group, const std::string& body, std::uint64_t write,
                            int tries);
  // Whether a newer write waits, so that this one need not be retried.
  bool IsOutdated(const framework::PodGroupKey& group, std::uint64_t write) const;
  // Returns the write that follows the one that has ended.
  framework::Operation Next(const framework::PodGroupKey& group, std::uint64_t write);
  void Forget();

  CoreState& state_;
  BackgroundOperations& background_;
  // Writes that may not have come back through the watch yet. Deleted groups are erased when the number of entries has
  // doubled.
  absl::flat_hash_map<framework::PodGroupKey, GroupWrites> writes_;
  std::size_t forget_at_ = 1024;
  std::uint64_t last_write_ = 0;
};

}  // namespace berth::scheduler
