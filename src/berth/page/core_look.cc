// SPDX-License-Identifier: Apache-2.0
#include "berth/page/core_look.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "berth/base/text.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/live_explanation.h"
#include "berth/whatif/waking_events.h"

namespace berth::page {
namespace {

QueueCounts CountsOf(queue::Place place) {
  QueueCounts counts;
  switch (place) {
    case queue::Place::kActive: counts.active = 1; break;
    case queue::Place::kBackoff:
    case queue::Place::kErrorBackoff: counts.backoff = 1; break;
    case queue::Place::kUnschedulable: counts.unschedulable = 1; break;
    case queue::Place::kGated: counts.gated = 1; break;
    case queue::Place::kInFlight: counts.in_flight = 1; break;
  }
  return counts;
}

// The events of each set of plugins are looked up once.
class Events {
 public:
  explicit Events(const scheduler::Overlay& overlay) : overlay_(overlay) {}

  const std::vector<std::string>& Of(const queue::PodStanding& standing) {
    std::set<std::string> plugins(standing.unschedulable_plugins.begin(), standing.unschedulable_plugins.end());
    plugins.insert(standing.pending_plugins.begin(), standing.pending_plugins.end());
    const runtime::ProfilePlugins* const profile = overlay_.ProfileOf(*standing.pod);
    const auto [at, is_new] = known_.try_emplace({profile, plugins});
    if (is_new && profile != nullptr) at->second = whatif::WakingEvents(*profile, plugins);
    return at->second;
  }

 private:
  const scheduler::Overlay& overlay_;
  std::map<std::pair<const runtime::ProfilePlugins*, std::set<std::string>>, std::vector<std::string>> known_;
};

}  // namespace

Expected<whatif::Explanation> CoreLook::Explain(const std::string& namespace_name, const std::string& name) {
  std::optional<Expected<whatif::Explanation>> said;
  BERTH_RETURN_IF_ERROR(Ask([&](scheduler::Scheduler& core, Time now, Duration wall_ahead) {
    const Time over_at = clock_.Now() + kTurnTimeMax;
    said.emplace(whatif::ExplainLive(core, {namespace_name, name, now, wall_ahead},
                                     {.is_over = [&] { return clock_.Now() >= over_at; }}));
  }));
  if (!said) return Error{ErrorCode::kUnavailable, "the scheduler cannot be asked now"};
  if (said->ok()) (*said)->live->not_asked = sources_.not_asked;
  return *std::move(said);
}

std::optional<StringHashMap<CoreLook::Standing>> CoreLook::Standings() {
  StringHashMap<Standing> found;
  const auto looked = Ask([&](scheduler::Scheduler& core, Time now, Duration wall_ahead) {
    const auto overlay = core.MakeOverlay(now);
    Events events(*overlay);
    for (const queue::PodStanding& of : core.queue().Dump({.count_max = kStandingsMax})) {
      Standing& standing = found[of.pod->uid];
      standing.place = CountsOf(of.place);
      if (of.backoff_expiration) standing.backoff_until = *of.backoff_expiration + wall_ahead;
      standing.held = of.gating_message;
      if (of.place != queue::Place::kActive) standing.waits_for = events.Of(of);
    }
    for (const scheduler::PermitWaiter& waiter : core.AtPermit(kStandingsMax)) {
      Standing& standing = found[waiter.uid];
      standing.place.permit = 1;
      standing.held = "has " + waiter.node_name + ", and waits for Permit plugins: " + Joined(waiter.plugins);
    }
  });
  if (!looked.ok()) return std::nullopt;
  return found;
}

Expected<void> CoreLook::Ask(const CoreSources::Question& look) {
  if (const auto why = WhyNot()) return Error{ErrorCode::kUnavailable, *why};
  const std::lock_guard lock(mutex_);
  if (clock_.Now() < rest_until_) {
    return Error{ErrorCode::kTooManyRequests, "questions get a tenth of the scheduler's time, please try again later"};
  }
  sources_.ask([&](scheduler::Scheduler& core, Time now, Duration wall_ahead) {
    const Time began_at = clock_.Now();
    look(core, now, wall_ahead);
    const Time ended_at = clock_.Now();
    rest_until_ = ended_at + std::max<Duration>(kRestMin, kRestFactor * (ended_at - began_at));
  });
  return {};
}

}  // namespace berth::page
