// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <algorithm>
#include <cmath>

namespace berth::bench {
namespace {

int Skew(const std::vector<int>& counts) {
  if (counts.empty()) return 0;
  const auto [min, max] = std::minmax_element(counts.begin(), counts.end());
  return *max - *min;
}

std::string TooSkewed(const std::vector<int>& counts, int skew, const char* what) {
  const int found = Skew(counts);
  return found > skew ? std::string(what) + " differ by " + std::to_string(found) + " pods" : std::string();
}

std::vector<int> CountPerNode(const Placements& placements, std::initializer_list<const std::vector<int>*> groups) {
  std::vector<int> counts(static_cast<std::size_t>(placements.nodes), 0);
  for (const std::vector<int>* group : groups) {
    for (const int node : *group) {
      if (node != kNowhere) ++counts[static_cast<std::size_t>(node)];
    }
  }
  return counts;
}

}  // namespace

std::string CheckOnePerNode(const Placements& placements, bool with_existing) {
  static const std::vector<int> kNone;
  const auto counts =
      CountPerNode(placements, {&placements.measured(), with_existing ? &placements.existing() : &kNone});
  const auto crowded = std::find_if(counts.begin(), counts.end(), [](int count) { return count > 1; });
  if (crowded == counts.end()) return {};
  return "pods that repel each other are together on " + NodeName(static_cast<int>(crowded - counts.begin()));
}

std::string CheckApart(const Placements& placements) {
  const auto existing = CountPerNode(placements, {&placements.existing()});
  for (const int node : placements.measured()) {
    if (node != kNowhere && existing[static_cast<std::size_t>(node)] > 0)
      return "a pod is on " + NodeName(node) + ", where another repels it";
  }
  return {};
}

std::string CheckZoneSpread(const Placements& placements, int skew, const Which& which) {
  std::vector<int> counts(static_cast<std::size_t>(std::min(placements.zones, placements.nodes)), 0);
  for (std::size_t i = 0; i < placements.measured().size(); ++i) {
    const int node = placements.measured()[i];
    if (node != kNowhere && which(static_cast<int>(i))) ++counts[static_cast<std::size_t>(node % placements.zones)];
  }
  return TooSkewed(counts, skew, "zones");
}

std::string CheckNodeSpread(const Placements& placements, int skew) {
  return TooSkewed(CountPerNode(placements, {&placements.measured()}), skew, "nodes");
}

std::string CheckZones(const Placements& placements, const Which& which) {
  for (std::size_t i = 0; i < placements.measured().size(); ++i) {
    const int node = placements.measured()[i];
    // Zone names count from 1.
    if (node != kNowhere && which(static_cast<int>(i)) && node % placements.zones >= 2)
      return "a pod is on " + NodeName(node) + ", outside zone1 and zone2";
  }
  return {};
}

std::string CheckPinned(const Placements& placements, const std::function<int(int)>& node_of) {
  for (std::size_t i = 0; i < placements.measured().size(); ++i) {
    const int node = placements.measured()[i];
    if (node != kNowhere && node != node_of(static_cast<int>(i)))
      return "a pod is on " + NodeName(node) + ", which it did not ask for";
  }
  return {};
}

std::string CheckCapacity(const Workload& workload, const Placements& placements) {
  struct Use {
    std::int64_t cpu_milli = 0, memory_bytes = 0, pods = 0;
  };
  std::vector<Use> used(static_cast<std::size_t>(placements.nodes));
  const Recipe* recipes[] = {&workload.existing, &workload.measured, &workload.side};
  for (int group = 0; group < kGroupCount; ++group) {
    PodSource source(static_cast<Group>(group), *recipes[group]);
    for (std::size_t i = 0; i < placements.of[group].size(); ++i) {
      const int node = placements.of[group][i];
      if (node == kNowhere) continue;
      Use& use = used[static_cast<std::size_t>(node)];
      const api::ResourceList& requests = source.Make(static_cast<int>(i))->spec.containers.front().requests;
      if (const auto* cpu = api::FindResource(requests, "cpu")) use.cpu_milli += cpu->MilliValue();
      if (const auto* memory = api::FindResource(requests, "memory")) use.memory_bytes += memory->Value();
      ++use.pods;
    }
  }
  for (int i = 0; i < placements.nodes; ++i) {
    const api::ResourceList room = MakeNode(workload, i)->allocatable;
    const Use& use = used[static_cast<std::size_t>(i)];
    if (use.cpu_milli > api::FindResource(room, "cpu")->MilliValue() ||
        use.memory_bytes > api::FindResource(room, "memory")->Value() ||
        use.pods > api::FindResource(room, "pods")->Value())
      return NodeName(i) + " holds more than it has";
  }
  return {};
}

double PodsPerNodeDeviation(const Placements& placements) {
  const auto counts = CountPerNode(placements, {&placements.of[0], &placements.of[1], &placements.of[2]});
  double sum = 0, squares = 0;
  for (const int count : counts) {
    sum += count;
    squares += static_cast<double>(count) * count;
  }
  const double n = std::max<double>(1, static_cast<double>(counts.size()));
  return std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
}

}  // namespace berth::bench
