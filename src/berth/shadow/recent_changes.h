// SPDX-License-Identifier: Apache-2.0
// RecentChanges: what happened to the nodes of a core, and to the pods on them, within the last second, so that a
// decision can be asked for as of a moment before. A pure value beside the core; one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <variant>

#include "berth/base/time.h"
#include "berth/core/cache/cache.h"
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/overlay.h"

namespace berth::shadow {

class RecentChanges {
 public:
  // Most changes that are kept, the newest.
  static constexpr std::size_t kChangesMax = 32;

  // Is called before the core takes in the input, which came at `at`.
  void Note(const scheduler::Input& input, const cache::Cache& cache, Time at);
  // Drops the changes that came a window (HeldInputs::kWindow) before `at`.
  void DropOld(Time at);

  std::size_t size() const { return changes_.size(); }
  // Takes the change back on the overlay; 0 is the newest. In ascending order.
  void TakeBack(std::size_t index, scheduler::Overlay& overlay) const;

 private:
  struct PodCame {
    std::string uid;
  };
  struct PodLeft {
    framework::PodInfoPtr pod;
  };
  struct NodeChanged {
    std::string name;
    std::shared_ptr<const api::Node> before;  // null: it was new
  };
  struct Change {
    Time at{};
    std::variant<PodCame, PodLeft, NodeChanged> what;
  };
  template <typename What>
  void Add(Time at, What what);

  std::deque<Change> changes_;  // the newest first
};

}  // namespace berth::shadow
