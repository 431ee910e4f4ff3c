// SPDX-License-Identifier: Apache-2.0
// RequestsMemo: what pods request, computed once for pods that are alike. Most pods that come after each other are of
// one workload, and comparing two pods takes a small part of the time of adding up. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "berth/api/pod.h"
#include "berth/framework/resource.h"

namespace berth::page {

class RequestsMemo {
 public:
  // Pods that are remembered; the one that was asked for longest ago is forgotten first.
  static constexpr std::size_t kKnownMax = 8;

  // The effective requests, as PodClass::requests. Valid until the next call.
  const framework::Resource& Of(const std::shared_ptr<const api::Pod>& pod);

 private:
  struct Known {
    std::shared_ptr<const api::Pod> pod;
    framework::Resource requests;
  };
  std::vector<Known> known_;  // the one that was asked for last is the first
};

// Whether all that requests depend on is equal.
bool RequestTheSame(const api::Pod& a, const api::Pod& b);

}  // namespace berth::page
