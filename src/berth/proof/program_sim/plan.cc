// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "berth/base/random.h"

namespace berth::program_sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Weighted {
  ItemKind kind;
  int weight;
};

constexpr std::array<Weighted, 17> kActions{{{ItemKind::kAddNode, 6},
                                             {ItemKind::kDeleteNode, 3},
                                             {ItemKind::kCordon, 3},
                                             {ItemKind::kTaint, 3},
                                             {ItemKind::kRelabel, 3},
                                             {ItemKind::kShrink, 1},
                                             {ItemKind::kGrow, 2},
                                             {ItemKind::kAddPods, 24},
                                             {ItemKind::kDeletePod, 8},
                                             {ItemKind::kFinishPod, 5},
                                             {ItemKind::kUngate, 3},
                                             {ItemKind::kTouchPod, 3},
                                             {ItemKind::kOutsideBind, 2},
                                             {ItemKind::kBudget, 2},
                                             {ItemKind::kClockStep, 1},
                                             {ItemKind::kRestart, 1},
                                             {ItemKind::kCompact, 1}}};

template <std::size_t kCount>
ItemKind AnyOf(const std::array<Weighted, kCount>& kinds, Random& random) {
  int sum = 0;
  for (const Weighted& each : kinds) sum += each.weight;
  int at = static_cast<int>(random.Below(static_cast<std::uint64_t>(sum)));
  for (const Weighted& each : kinds) {
    at -= each.weight;
    if (at < 0) return each.kind;
  }
  return kinds.front().kind;
}

ItemKind AnyAction(Random& random) { return AnyOf(kActions, random); }

Duration Within(Random& random, Duration from, Duration to) {
  return from + Duration(static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>((to - from).count()))));
}

class PlanMaker {
 public:
  PlanMaker(std::uint64_t seed, Random& random) : random_(random) {
    plan_.seed = seed;
    plan_.takes_protobuf = random_.Below(2) == 0;
  }

  Plan& plan() { return plan_; }
  void Add(ItemKind kind, Duration at, Duration until = Duration{0}) {
    plan_.items.push_back({kind, at, until, random_.Next()});
  }
  // Adds early nodes and pods, so that the scheduler starts before or after them.
  void AddStart() {
    for (std::uint64_t i = 3 + random_.Below(6); i > 0; --i) Add(ItemKind::kAddNode, Within(random_, {}, kEarly));
    for (std::uint64_t i = random_.Below(4); i > 0; --i) Add(ItemKind::kAddPods, Within(random_, {}, kEarly));
  }
  Plan Take() {
    std::stable_sort(plan_.items.begin(), plan_.items.end(), [](const Item& a, const Item& b) { return a.at < b.at; });
    return std::move(plan_);
  }

 private:
  static constexpr Duration kEarly = milliseconds(100);

  Plan plan_;
  Random& random_;
};

// One node has room for all crowds of a plan. The API server would write 1000 as "1k", which the ledger does not read.
constexpr int kCrowdCpu = 900;

// A span of time in which something is slow.
struct Window {
  Duration from{0};
  Duration until{0};
};

// One or two spans, with calm between them.
std::vector<Window> SlowWindows(Random& random) {
  std::vector<Window> windows;
  Duration from = Within(random, seconds(1), seconds(3));
  for (std::uint64_t i = 1 + random.Below(2); i > 0; --i) {
    windows.push_back({from, from + Within(random, seconds(8), seconds(25))});
    from = windows.back().until + Within(random, seconds(2), seconds(10));
  }
  return windows;
}

Plan MakeSlowServerPlan(std::uint64_t seed, Random& random) {
  PlanMaker maker(seed, random);
  maker.plan().is_server_slow = true;
  maker.plan().roomy_cpu = kCrowdCpu;
  maker.AddStart();
  const std::vector<Window> windows = SlowWindows(random);
  for (const auto& [from, until] : windows) {
    maker.Add(ItemKind::kServerSlow, from, until);
    for (std::uint64_t i = 1 + random.Below(3); i > 0; --i)
      maker.Add(ItemKind::kAddCrowd, Within(random, from, until - seconds(3)));
    for (std::uint64_t i = 2 + random.Below(8); i > 0; --i) {
      const ItemKind action = AnyAction(random);
      maker.Add(action, Within(random, from, until));
    }
  }
  maker.plan().storm_end = windows.back().until;
  return maker.Take();
}

Plan MakeSlowTenantPlan(std::uint64_t seed, Random& random) {
  PlanMaker maker(seed, random);
  maker.plan().is_tenant_storm = true;
  maker.plan().roomy_cpu = kCrowdCpu;
  maker.AddStart();
  const std::vector<Window> windows = SlowWindows(random);
  for (const auto& [from, until] : windows) {
    maker.Add(ItemKind::kSlowBindings, from, until);
    if (random.Below(2) == 0) maker.Add(ItemKind::kSlowStatuses, from, until);
    if (random.Below(2) == 0) maker.Add(ItemKind::kSlowEvents, from, until);
    for (std::uint64_t i = 1 + random.Below(3); i > 0; --i)
      maker.Add(ItemKind::kAddCrowd, Within(random, from, until - seconds(3)));
    // Some of these pods come when all is quick again.
    for (int i = 0; i < 8; ++i) maker.Add(ItemKind::kAddPods, Within(random, from, until + seconds(5)));
  }
  maker.plan().storm_end = windows.back().until + seconds(5);
  return maker.Take();
}

Plan MakeStormPlan(std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15ULL + 1);
  PlanMaker maker(seed, random);
  Plan& plan = maker.plan();
  plan.is_tenant_storm = random.Below(8) == 0;
  plan.same_name = random.Below(2) == 0;
  plan.storm_end = Within(random, seconds(20), seconds(60));
  maker.AddStart();
  if (plan.is_tenant_storm) {
    plan.roomy_cpu = 128;
    for (int i = 0; i < 10; ++i) maker.Add(ItemKind::kAddPods, Within(random, seconds(2), plan.storm_end));
    maker.Add(ItemKind::kWebhookBindings, seconds(1), plan.storm_end);
    if (random.Below(2) == 0) maker.Add(ItemKind::kWebhookStatuses, seconds(1), plan.storm_end);
    if (random.Below(2) == 0) maker.Add(ItemKind::kWebhookEvents, seconds(1), plan.storm_end);
    return maker.Take();
  }
  for (std::uint64_t i = 20 + random.Below(40); i > 0; --i)
    maker.Add(AnyAction(random), Within(random, milliseconds(50), plan.storm_end));
  // A storm is a span of time with several kinds of faults at once. There is calm between storms.
  constexpr int kKinds = static_cast<int>(kLastStormFault) - static_cast<int>(kFirstFault) + 1;
  for (std::uint64_t storms = 1 + random.Below(3); storms > 0; --storms) {
    const Duration begin = Within(random, Duration{0}, plan.storm_end - seconds(5));
    const Duration end = std::min(plan.storm_end, begin + Within(random, seconds(2), seconds(25)));
    for (std::uint64_t i = 1 + random.Below(4); i > 0; --i) {
      const auto kind = static_cast<ItemKind>(static_cast<int>(kFirstFault) + static_cast<int>(random.Below(kKinds)));
      // Stale lists are refused for at most half a minute (ReflectorShared::kStaleListsMax). After that the reflector
      // takes a lagging replica for a cluster that was restored from a backup.
      const Duration long_max = kind == ItemKind::kStaleReplica ? seconds(15) : seconds(60);
      maker.Add(kind, begin, std::min(end, begin + long_max));
    }
  }
  return maker.Take();
}

// Adds a change of the leader, and pods just before it, of which some have their bindings held by the network.
void AddChangeOfLeader(PlanMaker& maker, Random& random) {
  constexpr std::array<Weighted, 4> kChanges{{{ItemKind::kReplicaEnds, 4},
                                              {ItemKind::kReplicaDies, 2},
                                              {ItemKind::kReplicaStops, 2},
                                              {ItemKind::kReplicaCutOff, 2}}};
  const Duration storm_end = maker.plan().storm_end;
  const ItemKind kind = AnyOf(kChanges, random);
  const Duration at = Within(random, seconds(4), storm_end - seconds(2));
  const bool is_for_a_time = kind == ItemKind::kReplicaStops || kind == ItemKind::kReplicaCutOff;
  const Duration until = at + Within(random, milliseconds(500), seconds(25));
  maker.Add(kind, at, is_for_a_time ? std::min(storm_end, until) : Duration{0});
  for (std::uint64_t i = 1 + random.Below(3); i > 0; --i)
    maker.Add(ItemKind::kAddPods, at - Within(random, Duration{0}, seconds(3)));
  if (random.Below(3) != 0) maker.Add(ItemKind::kBindingHeld, at - seconds(3), std::min(storm_end, at + seconds(1)));
}

// Makes a plan with an election. It has the items of a storm, apart from those that start and end processes, or actions
// of outsiders without any fault. Changes of the leader come on top.
Plan MakeElectionPlan(std::uint64_t seed, Random& random) {
  Plan storm = MakeStormPlan(seed);
  if (storm.is_tenant_storm) return storm;
  PlanMaker maker(seed, random);
  Plan& plan = maker.plan();
  plan.has_election = true;
  plan.has_short_lease = random.Below(2) == 0;
  plan.lists_when_leading = random.Below(4) == 0;
  if (random.Below(2) == 0) {
    plan.storm_end = storm.storm_end;
    for (const Item& item : storm.items) {
      if (item.kind != ItemKind::kRestart && item.kind != ItemKind::kSecondInstance) plan.items.push_back(item);
    }
  } else {
    plan.storm_end = Within(random, seconds(30), seconds(90));
    maker.AddStart();
    for (std::uint64_t i = 20 + random.Below(30); i > 0; --i) {
      const ItemKind action = AnyAction(random);
      const Duration at = Within(random, milliseconds(50), plan.storm_end);
      if (action != ItemKind::kRestart) maker.Add(action, at);
    }
  }
  for (std::uint64_t i = 1 + random.Below(4); i > 0; --i) AddChangeOfLeader(maker, random);
  return maker.Take();
}

Plan MakePlanOfItems(std::uint64_t seed) {
  // A generator of its own, so that all other seeds keep the plans that they had before there were slow servers.
  Random random(seed * 0xd1342543de82ef95ULL + 2);
  switch (random.Below(16)) {
    case 0: return MakeSlowServerPlan(seed, random);
    case 1: return MakeSlowTenantPlan(seed, random);
    case 2:
    case 3:
    case 4: return MakeElectionPlan(seed, random);
    default: return MakeStormPlan(seed);
  }
}

// Adds requests for room, with a generator of its own, so that plans without them stay as they are.
void AddPromises(Plan& plan) {
  Random random(plan.seed * 0x9fb21c651e98df25ULL + 4);
  if (random.Below(4) != 0) return;
  plan.has_promises = true;
  for (std::uint64_t i = 2 + random.Below(6); i > 0; --i) {
    const Duration at = Within(random, milliseconds(200), plan.storm_end);
    plan.items.push_back({ItemKind::kAskForRoom, at, Duration{0}, random.Next()});
  }
  std::stable_sort(plan.items.begin(), plan.items.end(), [](const Item& a, const Item& b) { return a.at < b.at; });
}

}  // namespace

std::string_view Name(ItemKind kind) {
  switch (kind) {
    case ItemKind::kAddNode: return "add node";
    case ItemKind::kDeleteNode: return "delete node";
    case ItemKind::kCordon: return "cordon or uncordon";
    case ItemKind::kTaint: return "taint or untaint";
    case ItemKind::kRelabel: return "relabel node";
    case ItemKind::kShrink: return "shrink node";
    case ItemKind::kGrow: return "grow node";
    case ItemKind::kAddPods: return "add pods";
    case ItemKind::kAddCrowd: return "add a crowd of pods";
    case ItemKind::kDeletePod: return "delete pod";
    case ItemKind::kFinishPod: return "finish pod";
    case ItemKind::kUngate: return "ungate pod";
    case ItemKind::kTouchPod: return "touch pod";
    case ItemKind::kOutsideBind: return "outsider binds";
    case ItemKind::kBudget: return "disruption budget";
    case ItemKind::kClockStep: return "clock steps";
    case ItemKind::kRestart: return "restart";
    case ItemKind::kCompact: return "compact history";
    case ItemKind::kAskForRoom: return "ask for room";
    case ItemKind::kRefused: return "connections refused";
    case ItemKind::kRequestLost: return "requests lost";
    case ItemKind::kAnswerLost: return "answers lost";
    case ItemKind::kLate: return "late";
    case ItemKind::kDoubled: return "requests doubled";
    case ItemKind::kUnauthorized: return "401";
    case ItemKind::kForbidden: return "403";
    case ItemKind::kConflict: return "409";
    case ItemKind::kTooMany: return "429";
    case ItemKind::kServerError: return "5xx";
    case ItemKind::kWatchEnds: return "watches end";
    case ItemKind::kWatchBreaks: return "watches break";
    case ItemKind::kWatchSilent: return "watches half-open";
    case ItemKind::kWatchBlank: return "watches bring blank lines";
    case ItemKind::kWatchLags: return "watches lag";
    case ItemKind::kWatchGone: return "watches 410";
    case ItemKind::kStaleReplica: return "stale replica";
    case ItemKind::kSecondInstance: return "second instance";
    case ItemKind::kWebhookBindings: return "webhook on bindings";
    case ItemKind::kWebhookStatuses: return "webhook on statuses";
    case ItemKind::kWebhookEvents: return "webhook on events";
    case ItemKind::kServerSlow: return "server slow for all";
    case ItemKind::kSlowBindings: return "slow webhook on bindings";
    case ItemKind::kSlowStatuses: return "slow webhook on statuses";
    case ItemKind::kSlowEvents: return "slow webhook on events";
    case ItemKind::kBindingHeld: return "bindings held";
    case ItemKind::kReplicaEnds: return "a process ends";
    case ItemKind::kReplicaDies: return "a process dies";
    case ItemKind::kReplicaStops: return "a process is stopped";
    case ItemKind::kReplicaCutOff: return "a process is cut off";
  }
  return "";
}

std::string Item::Text() const {
  std::array<char, 96> text{};
  const double from = static_cast<double>(at.count()) / 1e6;
  if (until == Duration{0}) {
    std::snprintf(text.data(), text.size(), "%.3fs ", from);
  } else {
    std::snprintf(text.data(), text.size(), "%.3fs..%.3fs ", from, static_cast<double>(until.count()) / 1e6);
  }
  return text.data() + std::string(Name(kind));
}

Plan MakePlan(std::uint64_t seed) {
  Plan plan = MakePlanOfItems(seed);
  if (!plan.is_tenant_storm && !plan.is_server_slow)
    plan.has_gatekeeper = Random(seed * 0xda942042e4dd58b5ULL + 3).Below(2) == 0;
  if (!plan.is_tenant_storm && !plan.is_server_slow && plan.roomy_cpu == 0) AddPromises(plan);
  return plan;
}

}  // namespace berth::program_sim
