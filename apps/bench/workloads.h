// The synthetic clusters of berth-bench. Names and shapes are those of bench/cluster, which times a scheduler from
// outside.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"

namespace berth::bench {

inline constexpr int kZoneCount = 3;
inline constexpr const char* kExistingNamespace = "bench-0";
inline constexpr const char* kMeasuredNamespace = "bench-1";

struct Workload {
  const char* name;
  const char* about;
  void (*existing)(api::Pod&);  // makes a plain pod one of the workload's
  void (*measured)(api::Pod&);
  // What is wrong with the placements of the measured pods; empty: nothing. Null: the workload has no rule of its own.
  std::string (*verify)(const std::vector<std::string>& node_names);
};

const std::vector<Workload>& Workloads();

std::shared_ptr<const api::Node> MakeNode(int i);
std::shared_ptr<api::Pod> MakePod(const std::string& name_space, int i);

}  // namespace berth::bench
