// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/rollout.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "berth/devcluster/controllers/objects.h"

namespace berth::controllers {
namespace {

// An IntOrString: 3, "3" or "25%".
std::int64_t Resolve(const json::value* value, std::int64_t replicas, bool rounds_up, std::int64_t otherwise) {
  constexpr std::int64_t kCountMax = 1'000'000'000;
  if (value == nullptr) return otherwise;
  if (const std::int64_t* number = value->if_int64()) return std::clamp<std::int64_t>(*number, 0, kCountMax);
  const json::string* text = value->if_string();
  if (text == nullptr) return otherwise;
  std::int64_t number = 0;
  const char* last = text->data() + text->size();
  const auto [end, problem] = std::from_chars(text->data(), last, number);
  if (problem != std::errc() || number < 0 || number > kCountMax) return otherwise;
  if (end == last) return number;
  if (std::string_view(end, static_cast<std::size_t>(last - end)) != "%") return otherwise;
  return (std::min(replicas, kCountMax) * number + (rounds_up ? 99 : 0)) / 100;
}

std::int64_t Percent25(std::int64_t replicas, bool rounds_up) { return (replicas * 25 + (rounds_up ? 99 : 0)) / 100; }

// A paused Deployment, and one whose template has not been rolled out at all: the newest set that has pods follows.
void FollowReplicas(const RolloutPlan& plan, std::vector<std::int64_t>& next) {
  std::int64_t total = 0;
  for (const std::int64_t each : next) total += each;
  std::int64_t difference = plan.replicas - total;
  for (std::size_t i = plan.sets.size(); i-- > 0 && difference != 0;) {
    const bool takes_growth = plan.sets[i].is_new || next[i] > 0 || i == 0;
    if (difference > 0 && !takes_growth) continue;
    const std::int64_t change = std::max(difference, -next[i]);
    next[i] += change;
    difference -= change;
  }
}

void Recreate(const RolloutPlan& plan, std::vector<std::int64_t>& next) {
  bool has_old = plan.has_old_pods;
  for (std::size_t i = 0; i < plan.sets.size(); ++i) {
    if (plan.sets[i].is_new) continue;
    has_old = has_old || next[i] > 0;
    next[i] = 0;
  }
  for (std::size_t i = 0; i < plan.sets.size(); ++i) {
    if (plan.sets[i].is_new && (!has_old || plan.replicas < next[i])) next[i] = plan.replicas;
  }
}

void RollingUpdate(const RolloutPlan& plan, std::vector<std::int64_t>& next) {
  std::int64_t total = 0;
  std::int64_t available = 0;
  std::int64_t old_total = 0;
  std::size_t newest = plan.sets.size();
  for (std::size_t i = 0; i < plan.sets.size(); ++i) {
    total += next[i];
    available += plan.sets[i].available;
    if (plan.sets[i].is_new) {
      newest = i;
    } else {
      old_total += next[i];
    }
  }
  if (newest == plan.sets.size()) return;

  // One direction a step, as upstream: what has been started is seen before something is stopped for it.
  std::int64_t& fresh = next[newest];
  const std::int64_t fresh_before = fresh;
  if (fresh > plan.replicas) {
    fresh = plan.replicas;
  } else if (fresh < plan.replicas) {
    const std::int64_t room = plan.replicas + plan.bounds.surge_max - total;
    if (room > 0) fresh += std::min(room, plan.replicas - fresh);
  }
  if (fresh != fresh_before || old_total == 0) return;

  const std::int64_t available_min = plan.replicas - plan.bounds.unavailable_max;
  const std::int64_t fresh_unavailable = std::max<std::int64_t>(fresh - plan.sets[newest].available, 0);
  std::int64_t removable = total - available_min - fresh_unavailable;
  // Old pods that do not work go first: nobody misses them.
  for (std::size_t i = 0; i < plan.sets.size() && removable > 0; ++i) {
    if (plan.sets[i].is_new) continue;
    const std::int64_t unhealthy = std::max<std::int64_t>(next[i] - plan.sets[i].available, 0);
    const std::int64_t cut = std::min(removable, unhealthy);
    next[i] -= cut;
    removable -= cut;
  }
  removable = std::min(removable, available - available_min);
  for (std::size_t i = 0; i < plan.sets.size() && removable > 0; ++i) {
    if (plan.sets[i].is_new) continue;
    const std::int64_t cut = std::min(removable, next[i]);
    next[i] -= cut;
    removable -= cut;
  }
}

}  // namespace

std::int64_t CountOrPercent(const json::value& value, std::int64_t total) { return Resolve(&value, total, true, 0); }

std::int64_t ReadDaemonUnavailableMax(const json::object& set_spec, std::int64_t nodes) {
  const json::object* strategy = ObjectOf(set_spec, "updateStrategy");
  const json::object* rolling = strategy == nullptr ? nullptr : ObjectOf(*strategy, "rollingUpdate");
  const json::value* most = rolling == nullptr ? nullptr : Member(*rolling, "maxUnavailable");
  return std::max<std::int64_t>(Resolve(most, nodes, true, 1), 1);
}

RolloutBounds ReadRolloutBounds(const codec::json::object& deployment_spec, std::int64_t replicas) {
  const json::object* strategy = ObjectOf(deployment_spec, "strategy");
  const json::object* rolling = strategy == nullptr ? nullptr : ObjectOf(*strategy, "rollingUpdate");
  const auto member = [rolling](std::string_view name) {
    return rolling == nullptr ? nullptr : Member(*rolling, name);
  };
  RolloutBounds bounds;
  bounds.surge_max = Resolve(member("maxSurge"), replicas, true, Percent25(replicas, true));
  bounds.unavailable_max = Resolve(member("maxUnavailable"), replicas, false, Percent25(replicas, false));
  if (bounds.surge_max == 0 && bounds.unavailable_max == 0) bounds.unavailable_max = 1;
  bounds.unavailable_max = std::min(bounds.unavailable_max, replicas);
  return bounds;
}

std::vector<std::int64_t> NextReplicas(const RolloutPlan& plan) {
  std::vector<std::int64_t> next;
  bool has_new = false;
  for (const RolloutSet& set : plan.sets) {
    next.push_back(set.replicas);
    has_new = has_new || set.is_new;
  }
  if (plan.is_paused || !has_new) {
    FollowReplicas(plan, next);
  } else if (plan.is_recreate) {
    Recreate(plan, next);
  } else {
    RollingUpdate(plan, next);
  }
  return next;
}

}  // namespace berth::controllers
