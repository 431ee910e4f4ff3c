// SPDX-License-Identifier: Apache-2.0
// UnclaimedPods: finds pending pods whose scheduler name is a misspelling of one of ours. If no scheduler has written a
// condition for kPatience, an event on the pod gives the likely name. Within turns only.
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
  // Limit on remembered pods; further ones get no event.
  static constexpr std::size_t kPodsMax = 100;

  // `names` are the scheduler names of our profiles.
  explicit UnclaimedPods(std::vector<std::string> names) : names_(std::move(names)) {}

  // A pending pod that names another scheduler.
  void Note(const framework::PodInfoPtr& pod, Time now);
  // The pod is gone, or on a node.
  void Forget(std::string_view uid);

  struct Notice {
    framework::PodInfoPtr pod;
    std::string nearest;
    std::string note;
  };
  // Returns the pods that have waited long enough, each once.
  std::vector<Notice> TakeDue(Time now);
  std::optional<Time> NextWake() const;

 private:
  struct Waiting {
    framework::PodInfoPtr pod;
    std::string nearest;
    Time due;
    bool is_reported = false;
  };

  const std::vector<std::string> names_;
  std::map<std::string, Waiting, std::less<>> pods_;  // by uid
};

// The name in `names` within an edit distance of two from `name`, or of one if `name` is short; empty: there is none.
std::string_view NearMiss(std::string_view name, const std::vector<std::string>& names);

}  // namespace berth::scheduler
