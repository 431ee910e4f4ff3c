// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/live_explanation.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "berth/core/cache/cache.h"
#include "berth/core/scheduler/profile_set.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/make_pod_info.h"
#include "berth/whatif/pod_names.h"
#include "berth/whatif/waking_events.h"

namespace berth::whatif {
namespace {

using framework::PodInfoPtr;
using scheduler::Scheduler;

// The pods that are on nodes, or assumed there.
template <typename Visit>
void ForEachPlaced(const Scheduler& core, Visit&& visit) {
  const framework::NodeTable& nodes = core.cache().nodes();
  // Also on nodes that are not known, or not any more.
  for (std::size_t row = 0; row < nodes.row_count(); ++row) {
    for (const PodInfoPtr& pod : nodes.Info(static_cast<framework::NodeIndex>(row)).pods()) visit(pod);
  }
}

// The pod of that name; null: there is none.
PodInfoPtr FindPod(const Scheduler& core, const std::string& namespace_name, const std::string& name) {
  const auto waiting = core.queue().FindNamed(namespace_name, name);
  if (waiting && waiting->place != queue::Place::kInFlight) return waiting->pod;
  // What was decided lately is found without a look at all pods.
  if (const auto decided = core.decisions().FindNamed(namespace_name, name)) {
    if (const PodInfoPtr* const placed = core.cache().FindPod(decided->pod_uid)) return *placed;
  }
  PodInfoPtr found;
  ForEachPlaced(core, [&](const PodInfoPtr& pod) {
    if (pod->name == name && pod->namespace_name() == namespace_name) found = pod;
  });
  if (found == nullptr && waiting) return waiting->pod;
  return found;
}

Error NoSuchPod(const Scheduler& core, const LiveQuestion& question) {
  PodNames names(question.namespace_name, question.name);
  const auto waiting = core.queue().Dump({question.namespace_name, "", PodNames::kNamesMax});
  for (const queue::PodStanding& standing : waiting) names.Add(standing.pod->namespace_name(), standing.pod->name);
  ForEachPlaced(core, [&](const PodInfoPtr& pod) { names.Add(pod->namespace_name(), pod->name); });
  return names.NoSuchPod();
}

QueueStanding Standing(const queue::PodStanding& of, const runtime::ProfilePlugins* profile, Duration wall_ahead) {
  QueueStanding standing;
  standing.place = of.place;
  if (of.backoff_expiration) standing.backoff_until = *of.backoff_expiration + wall_ahead;
  std::set<std::string> plugins(of.unschedulable_plugins.begin(), of.unschedulable_plugins.end());
  plugins.insert(of.pending_plugins.begin(), of.pending_plugins.end());
  standing.refused_by.assign(plugins.begin(), plugins.end());
  if (profile != nullptr) standing.woken_by = WakingEvents(*profile, plugins);
  return standing;
}

}  // namespace

Expected<Explanation> ExplainLive(Scheduler& core, const LiveQuestion& question, const ExplainLimits& limits) {
  const PodInfoPtr found = FindPod(core, question.namespace_name, question.name);
  if (found == nullptr) return NoSuchPod(core, question);
  LiveRecord record;
  record.asked_at = question.now + question.wall_ahead;
  record.decisions_max = core.decisions().count_max();
  record.decision = core.decisions().Find(found->uid);
  if (record.decision) record.decision->time += question.wall_ahead;
  const auto overlay = core.MakeOverlay(question.now);
  if (const auto standing = core.queue().Find(found->uid)) {
    record.queue = Standing(*standing, overlay->ProfileOf(*found), question.wall_ahead);
  }
  const api::Pod pod = framework::PodOf(*found);
  Explanation said = Explain({*overlay, core.queue(), pod}, limits);
  said.live = std::move(record);
  return said;
}

}  // namespace berth::whatif
