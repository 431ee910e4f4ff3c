// SPDX-License-Identifier: Apache-2.0
// LargePods: pods that ask for thousands of things (an API server takes 1.5 MB of affinity terms), so that a look at
// one takes as long as hundreds of ordinary pods. They are decided as all others are, but one at a time with pauses
// between them, and no event is held against what they ask for one by one: what one tenant asks for must not keep the
// others waiting. Within turns only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "berth/base/time.h"
#include "berth/framework/pod_info.h"

namespace berth::queue {

// More than any manifest that a person has written.
inline constexpr std::size_t kLargePodMin = 1000;

// Requirements, terms, constraints, tolerations, resources, volumes, claims: what plugins look at one by one. And what
// takes as much memory: values and labels without number.
std::size_t CountAsked(const framework::PodClass& pod_class);
inline bool IsLarge(const framework::PodClass& pod_class) { return CountAsked(pod_class) >= kLargePodMin; }

class LargePods {
 public:
  // Why a pod that asks for `count` things (CountAsked) has to wait until a later attempt; nullopt: it may be decided
  // now, and if it is large, others of its size wait for a while.
  std::optional<std::string> WhyLater(std::size_t count, Time now);

 private:
  Time next_{};  // when a large pod may be decided
};

}  // namespace berth::queue
