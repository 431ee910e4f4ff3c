// SPDX-License-Identifier: Apache-2.0
// What `berth simulate` prints: a Simulation, or two of them side by side, as text and as JSON. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/codec/json.h"
#include "berth/whatif/simulation.h"

namespace berth::answers {

struct ReportStyle {
  bool is_wide = false;  // a row for each pod and each node that changes, in place of one for each workload
  bool has_color = false;
  std::size_t width = 100;  // columns; 0: as wide as it gets
};

// Two configurations on one cluster.
struct Compared {
  std::string name;  // "as it is", or the configuration's file
  const whatif::Simulation& simulation;
};

// How many pods have another node in the other simulation. Pods of one workload are equal: only how many of them each
// node has counts.
std::size_t CountElsewhere(const whatif::Simulation& a, const whatif::Simulation& b);

// The report as lines, each with its newline.
std::string SimulationText(const whatif::Simulation& simulation, const ReportStyle& style);
std::string ComparisonText(const Compared& a, const Compared& b, const ReportStyle& style);

// `left_out`: what was not simulated (Manifests::left_out).
codec::json::object SimulationJson(const whatif::Simulation& simulation, const std::vector<std::string>& left_out);
codec::json::object ComparisonJson(const Compared& a, const Compared& b, const std::vector<std::string>& left_out);

}  // namespace berth::answers
