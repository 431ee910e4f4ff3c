// SPDX-License-Identifier: Apache-2.0
// LargePods: rate limit for pods that ask for thousands of things (an API server accepts 1.5 MB of affinity terms), so
// that evaluating one takes as long as hundreds of ordinary pods. They are decided like others, but one at a time with
// pauses in between, and no queueing hints are called for them. So one tenant's pods cannot delay those of others.
// Within turns only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "berth/base/time.h"
#include "berth/framework/pod_info.h"

namespace berth::queue {

// More than in any manifest written by hand.
inline constexpr std::size_t kLargePodMin = 1000;

// The number of things that plugins look at one by one: requirements, terms, constraints, tolerations, resources,
// volumes, claims. Long values and many labels count by their size.
std::size_t CountAsked(const framework::PodClass& pod_class);
inline bool IsLarge(const framework::PodClass& pod_class) { return CountAsked(pod_class) >= kLargePodMin; }

class LargePods {
 public:
  // Why a pod that asks for `count` things (CountAsked) has to wait for a later attempt. nullopt: it may be decided
  // now; if it is large, other large pods then have to wait.
  std::optional<std::string> Throttle(std::size_t count, Time now);

 private:
  Time next_{};  // when the next large pod may be decided
};

}  // namespace berth::queue
