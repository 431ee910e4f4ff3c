// SPDX-License-Identifier: Apache-2.0
// UnclaimedPods: pending pods of a scheduler that is none of ours but is called nearly so, most likely by a slip of the
// pen. One that no scheduler has said anything about for kPatience is told the name that was meant. Within turns only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

class UnclaimedPods {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(30);
  // Pods that are remembered; of more none is told.
  static constexpr std::size_t kPodsMax = 100;

  // `names` are those of our profiles.
  explicit UnclaimedPods(std::vector<std::string> names) : names_(std::move(names)) {}

  // A pending pod whose scheduler is none of ours.
  void Note(const framework::PodInfoPtr& pod, Time now);
  // It is gone, or on a node.
  void Forget(std::string_view uid);

  struct Told {
    framework::PodInfoPtr pod;
    std::string nearest;
    std::string note;
  };
  // Those that have waited long enough now; each once.
  std::vector<Told> TakeDue(Time now);
  std::optional<Time> NextWake() const;

 private:
  struct Waiting {
    framework::PodInfoPtr pod;
    std::string nearest;
    Time due;
    bool is_told = false;
  };

  const std::vector<std::string> names_;
  std::map<std::string, Waiting, std::less<>> pods_;  // by uid
};

// The name of `names` that is within two letters of `name`, or within one where it is short; empty: there is none.
std::string_view NearMiss(std::string_view name, const std::vector<std::string>& names);

}  // namespace berth::scheduler
