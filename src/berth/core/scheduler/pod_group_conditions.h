// SPDX-License-Identifier: Apache-2.0
// PodGroupConditions: tells the API server what became of pod groups: the condition PodGroupInitiallyScheduled. A write
// that fails in passing is tried again for a while, as no later cycle need follow it. Within turns only.
#pragma once

#include <cstdint>
#include <string>

#include <absl/container/flat_hash_map.h>

#include "berth/core/scheduler/background_operations.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/framework/pod_groups.h"

namespace berth::scheduler {

class PodGroupConditions {
 public:
  // Tries of one write.
  static constexpr int kTriesMax = 8;

  // Both must outlive it.
  PodGroupConditions(CoreState& state, BackgroundOperations& background) : state_(state), background_(background) {}

  // Without effect where the object says so already, or a write under way does, or the group was scheduled once: the
  // condition never goes back.
  void Set(const framework::PodGroupKey& group, bool is_scheduled, const std::string& reason,
           const std::string& message);

 private:
  // One write of a group is under way at a time: the API server may get one that has to be sent again after a later
  // one.
  struct Told {
    std::string uid;          // of the group
    std::uint64_t write = 0;  // the one under way
    bool is_scheduled = false;
    std::string under_way;  // what it says; empty: none
    std::string next;       // what is to be said when it has ended; empty: nothing
    std::string next_body;
  };

  framework::Operation Post(const framework::PodGroupKey& group, const std::string& body, std::uint64_t write,
                            int tries);
  // Whether something else is to be said by now.
  bool IsOutdated(const framework::PodGroupKey& group, std::uint64_t write) const;
  // The write has ended; what comes next.
  framework::Operation Next(const framework::PodGroupKey& group, std::uint64_t write);
  void Forget();

  CoreState& state_;
  BackgroundOperations& background_;
  // What may not have come back from the API server yet. Groups that are gone are forgotten as their number doubles.
  absl::flat_hash_map<framework::PodGroupKey, Told> told_;
  std::size_t forget_at_ = 1024;
  std::uint64_t last_write_ = 0;
};

}  // namespace berth::scheduler
