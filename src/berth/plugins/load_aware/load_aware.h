// SPDX-License-Identifier: Apache-2.0
// LoadAware: a policy of berth's own. Nodes in the order of their real use, as measured outside, rather than of what
// their pods request; and none that are hot. On top of a measurement it counts what has been placed since.
#pragma once

#include <optional>

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/load_aware/load_aware_args.h"

namespace berth::plugins {

// A node's use as a share of what it has to give (allocatable).
struct PredictedUse {
  double cpu = 0;
  std::optional<double> memory;  // absent when it is not measured; it does not count then
  bool is_measured = false;      // false: the node's pods request it, and nothing fresh is measured
};

// How the plugin judges a node. Its tests look at this.
class UsePredictor {
 public:
  virtual ~UsePredictor() = default;
  // The use of the node without the pod that is to be placed.
  virtual PredictedUse Predict(const framework::NodeInfo& node) const = 0;
};

std::unique_ptr<framework::Plugin> CreateLoadAware(const LoadAwareArgs& args, framework::Handle& handle);

}  // namespace berth::plugins
