// SPDX-License-Identifier: Apache-2.0
// VolumeBinding: places a pod where its volumes can be, binds its unbound claims to volumes that exist, and has volumes
// made for the others. Upstream: pkg/scheduler/framework/plugins/volumebinding. Within turns only.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth::config {
struct VolumeBindingArgs;
}

namespace berth::plugins {

namespace volumes {
struct Sources;
}

// What the plugin holds beside its configuration. Its tests look at this.
class VolumeBindingState {
 public:
  virtual ~VolumeBindingState() = default;
  virtual const volumes::Sources& sources() const = 0;
  // The number of pods between Reserve and the end of PreBind.
  virtual std::size_t reservation_count() const = 0;
};

std::unique_ptr<framework::Plugin> CreateVolumeBinding(const config::VolumeBindingArgs& args,
                                                       framework::Handle& handle);

}  // namespace berth::plugins
