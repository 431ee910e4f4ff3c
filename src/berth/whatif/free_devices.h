// SPDX-License-Identifier: Apache-2.0
// FreeDevices: which nodes have devices that a request of a ResourceClaim asks for, and how many of them are free. One
// thread's.
#pragma once

#include <cstddef>
#include <string>

#include "berth/api/resource_claim.h"
#include "berth/framework/objects.h"
#include "berth/framework/release.h"
#include "berth/plugins/helper/device_state.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {

class FreeDevices {
 public:
  // The state must outlive it.
  FreeDevices(const ClusterState& state, const framework::Release& release);

  // "2 devices of DeviceClass gpu; free: 1 of 2 on a, 0 of 2 on b", the nodes with most of them first. Bounded: for all
  // calls together kLooksMax devices are looked at.
  std::string Describe(const api::ExactDeviceRequest& request);

  static constexpr std::size_t kLooksMax = 50'000;

 private:
  struct OnNode {
    std::string node;
    std::size_t free = 0;
    std::size_t tainted = 0;  // neither free nor taken: by a taint that the request does not tolerate
    std::size_t total = 0;
  };
  OnNode Count(const std::vector<plugins::DeviceSelectors::Ptr>& selectors, const api::ExactDeviceRequest& request,
               const std::shared_ptr<const api::Node>& node);

  const ClusterState& state_;
  framework::Objects objects_;
  plugins::DeviceState devices_;
  std::size_t looks_ = 0;
  plugins::SelectorBudget budget_;  // of all calls together, as a scheduling cycle's
};

}  // namespace berth::whatif
