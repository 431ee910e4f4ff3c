// SPDX-License-Identifier: Apache-2.0
// DeviceState: what is known about devices: classes, slices and claims. All plugins of all profiles that ask the same
// scheduler share one, so that none gives away what another one has promised. Within turns only.
#pragma once

#include <cstdint>
#include <memory>

#include "berth/framework/handle.h"
#include "berth/plugins/helper/device_claims.h"
#include "berth/plugins/helper/device_classes.h"
#include "berth/plugins/helper/device_selectors.h"
#include "berth/plugins/helper/device_slices.h"

namespace berth::plugins {

class DeviceState final : public framework::SharedState {
 public:
  // The scheduler's one, which follows its object stores from the first call on.
  static std::shared_ptr<DeviceState> Of(framework::Handle& handle);

  explicit DeviceState(const framework::Objects& objects, const framework::Release& release = {});

  const framework::ObjectStore<api::DeviceClass>& class_store() const { return class_store_; }

  // Devices of a class that a node can reach, and how many of them are taken: what scoring counts an extended resource
  // as. Zeros when a selector or node selector cannot be understood. Upstream: calculateDRAResourceTotals.
  struct Totals {
    std::int64_t count = 0;
    std::int64_t allocated_count = 0;
  };
  Totals Count(const api::DeviceClass& device_class, const api::Node& node);

  DeviceClasses classes;
  DeviceClaims claims;
  DeviceSlices slices;
  DeviceSelectors selectors;

 private:
  const framework::ObjectStore<api::DeviceClass>& class_store_;
};

}  // namespace berth::plugins
