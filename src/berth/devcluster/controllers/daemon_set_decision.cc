// SPDX-License-Identifier: Apache-2.0
// DaemonSets: one pod for each node that the template's node selector, affinity and tolerations allow. The pods are
// placed by the scheduler, through an affinity to their node's name, as upstream's are.
#include "berth/devcluster/controllers/daemon_set_decision.h"

#include <algorithm>
#include <map>
#include <utility>

#include "berth/api/decode.h"
#include "berth/devcluster/controllers/rollout.h"
#include "berth/devcluster/controllers/workload_pods.h"

namespace berth::controllers {
namespace {

constexpr std::size_t kNameMax = 63 - 6;

enum class Fit : std::uint8_t {
  kNo,
  kStays,  // a pod that is there may stay, but none is made
  kYes
};

Fit FitOf(const api::PodSpec& spec, const api::Node& node) {
  const api::StringMap& labels = node.metadata.labels;
  for (const auto& [key, value] : spec.node_selector) {
    const std::string* own = labels.Find(key);
    if (own == nullptr || *own != value) return Fit::kNo;
  }
  if (spec.node_affinity && spec.node_affinity->required) {
    const auto& terms = *spec.node_affinity->required;
    const bool matches = std::any_of(terms.begin(), terms.end(), [&](const api::NodeSelectorTerm& term) {
      return term.Validate().ok() && term.Matches(node.metadata.name, labels);
    });
    if (!matches) return Fit::kNo;
  }
  Fit fit = Fit::kYes;
  for (const api::Taint& taint : node.taints) {
    const bool is_hard = taint.effect == api::TaintEffect::kNoSchedule || taint.effect == api::TaintEffect::kNoExecute;
    const bool is_tolerated = std::any_of(spec.tolerations.begin(), spec.tolerations.end(),
                                          [&](const api::Toleration& each) { return each.Tolerates(taint); });
    if (!is_hard || is_tolerated) continue;
    if (taint.effect == api::TaintEffect::kNoExecute) return Fit::kNo;
    fit = Fit::kStays;
  }
  return fit;
}

bool IsAvailable(const PodView& pod, const WorkloadView& set, Time now) {
  return pod.is_ready && (set.min_ready_seconds == 0 ||
                          pod.ready_since.value_or(now) + std::chrono::seconds(set.min_ready_seconds) <= now);
}

}  // namespace

PodDecision DecideDaemonSet(const WorkloadView& set, const Pods& pods, const Nodes& nodes, Time now) {
  PodDecision decision;
  const PodMaker maker("DaemonSet", set);
  const std::string base = set.name.substr(0, kNameMax) + '-';
  const auto decoded = api::DecodePod(codec::WriteJson(maker.Make("pod")));
  if (!decoded.ok()) {
    decision.note = PodDecision::Note{true, "FailedCreate", "Error creating: " + decoded.error().message};
    return decision;
  }
  std::map<std::string_view, std::shared_ptr<const PodView>> by_name;
  for (const auto& pod : pods) by_name[pod->name] = pod;

  std::int64_t desired = 0;
  std::int64_t current = 0;
  std::int64_t misplaced = 0;
  std::int64_t ready = 0;
  std::int64_t updated = 0;
  std::int64_t available = 0;
  Pods outdated;  // and available: they cost room for a rollout
  for (const auto& node : nodes) {
    const std::string name = base + NameSuffixOf(set.uid + '/' + node->metadata.name);
    const auto found = by_name.find(name);
    const std::shared_ptr<const PodView> pod = found == by_name.end() ? nullptr : found->second;
    if (found != by_name.end()) by_name.erase(found);
    const Fit fit = FitOf((*decoded)->spec, *node);
    if (fit == Fit::kYes) ++desired;
    if (pod == nullptr) {
      if (fit == Fit::kYes && static_cast<std::int64_t>(decision.pods.size()) < kBurst) {
        decision.pods.push_back({name, maker.MakeFor(node->metadata.name, name)});
      }
      continue;
    }
    if (pod->is_deleted) continue;  // its place is taken until it is gone
    if (fit == Fit::kNo || pod->IsFinished()) {
      if (fit == Fit::kNo) ++misplaced;
      decision.surplus.push_back(pod);
      continue;
    }
    if (fit == Fit::kStays) continue;
    ++current;
    const bool is_available = IsAvailable(*pod, set, now);
    ready += pod->is_ready ? 1 : 0;
    available += is_available ? 1 : 0;
    if (pod->is_ready && !is_available) decision.again_after = std::chrono::seconds(1);
    const std::string* own = pod->labels.Find(kRevisionHashLabel);
    if (own != nullptr && *own == maker.revision()) {
      ++updated;
    } else if (is_available) {
      outdated.push_back(pod);
    } else if (UpdatesByItself(set)) {
      decision.surplus.push_back(pod);  // nothing is lost with it
    }
  }
  // Pods of nodes that are gone are deleted.
  for (const auto& [name, pod] : by_name) {
    if (!pod->is_deleted) decision.surplus.push_back(pod);
  }
  if (UpdatesByItself(set)) {
    std::int64_t room = ReadDaemonUnavailableMax(set.spec, desired) - (desired - available);
    for (std::size_t i = 0; i < outdated.size() && room > 0; ++i, --room) decision.surplus.push_back(outdated[i]);
  }
  decision.status = {{"currentNumberScheduled", current},    {"numberMisscheduled", misplaced},
                     {"desiredNumberScheduled", desired},    {"numberReady", ready},
                     {"observedGeneration", set.generation}, {"updatedNumberScheduled", updated},
                     {"numberAvailable", available},         {"numberUnavailable", desired - available}};
  return decision;
}

}  // namespace berth::controllers
