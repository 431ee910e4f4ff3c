// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/large_pods.h"

#include <chrono>
#include <vector>

namespace berth::queue {
namespace {

// Evaluating one thing on thousands of nodes takes some microseconds: with this pause large pods get about a twentieth
// of the time.
constexpr Duration kPausePerThing = std::chrono::microseconds(100);
// Values and labels count by their size: this many bytes are one thing.
constexpr std::size_t kBytesPerThing = 128;

std::size_t CountTerms(const api::NodeSelectorTerm& term) {
  return 1 + term.match_expressions.size() + term.match_fields.size();
}

std::size_t CountNodeAffinity(const api::NodeAffinity& affinity) {
  std::size_t count = 0;
  if (affinity.required) {
    for (const api::NodeSelectorTerm& term : *affinity.required) count += CountTerms(term);
  }
  for (const api::PreferredSchedulingTerm& term : affinity.preferred) count += CountTerms(term.preference);
  return count;
}

std::size_t CountRequests(const std::vector<api::Container>& containers) {
  std::size_t count = containers.size();
  for (const api::Container& container : containers) count += container.requests.size() + container.ports.size();
  return count;
}

}  // namespace

std::size_t CountAsked(const framework::PodClass& pod_class) {
  const api::PodSpec& spec = pod_class.spec;
  std::size_t count = spec.node_selector.size() + spec.tolerations.size() + spec.pod_affinity.required.size() +
                      spec.pod_affinity.preferred.size() + spec.pod_anti_affinity.required.size() +
                      spec.pod_anti_affinity.preferred.size() + spec.topology_spread_constraints.size() +
                      spec.volumes.size() + spec.resource_claims.size() + CountRequests(spec.init_containers) +
                      CountRequests(spec.containers) + pod_class.bytes / kBytesPerThing;
  if (spec.node_affinity) count += CountNodeAffinity(*spec.node_affinity);
  return count;
}

std::optional<std::string> LargePods::Throttle(std::size_t count, Time now) {
  if (count < kLargePodMin) return std::nullopt;
  if (now < next_) {
    return "the pod asks for " + std::to_string(count) +
           " things (requirements, terms, constraints, resources, or as many bytes of values and labels): pods that "
           "ask "
           "for " +
           std::to_string(kLargePodMin) +
           " or more are decided one by one, with pauses, so that they hold up no others";
  }
  next_ = now + kPausePerThing * static_cast<Duration::rep>(count);
  return std::nullopt;
}

}  // namespace berth::queue
