// SPDX-License-Identifier: Apache-2.0
// Shapes: the kinds of pod that `berth capacity` is asked about, from a pod of the cluster, from amounts, from
// manifests. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/objects.h"
#include "berth/whatif/capacity.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {

// A pod with one container, as flags describe it.
struct ShapeAmounts {
  std::string cpu, memory;                 // quantities; empty: not requested
  std::vector<std::string> requests;       // "nvidia.com/gpu=1"
  std::vector<std::string> node_selector;  // "disk=ssd"
  bool empty() const { return cpu.empty() && memory.empty() && requests.empty() && node_selector.empty(); }
};

// What is wrong with one of these texts, in one line that quotes it; empty: nothing.
std::string WrongAmount(const std::string& text);   // of cpu or memory
std::string WrongRequest(const std::string& text);  // "nvidia.com/gpu=1"
std::string WrongLabel(const std::string& text);    // "disk=ssd"
// The same of the first wrong one.
std::string WrongAmounts(const ShapeAmounts& amounts);

// Makes a pod that is named after its amounts. The texts are checked.
Expected<Shape> ShapeOfAmounts(const ShapeAmounts& amounts, const std::string& namespace_name);

// `key` is "NAMESPACE/POD". kNotFound names the nearest pod there is. Each pod of the shape gets claims of its own
// where that one has, with `objects` for what they ask for.
Expected<Shape> ShapeLike(const ClusterState& state, const framework::Objects& objects, const std::string& key);

}  // namespace berth::whatif
