// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/simulation.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "berth/core/cache/cache.h"
#include "berth/core/queue/scheduling_queue.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/node_table.h"
#include "berth/proof/program_sim/agenda.h"
#include "berth/proof/program_sim/ledger.h"
#include "berth/proof/program_sim/network.h"
#include "berth/proof/program_sim/outsiders.h"
#include "berth/proof/program_sim/process.h"
#include "berth/proof/program_sim/promises.h"
#include "berth/proof/program_sim/replicas.h"
#include "berth/proof/program_sim/sim_server.h"

namespace berth::program_sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// After the last fault everything has to be done within this time. Requests that hang are given up after 30 s, and what
// backs off does so for at most 30 s more.
constexpr Duration kSettleMax = seconds(90);
// After all pods are deleted, the scheduler must have forgotten them within this time. A dead connection is noticed
// after 30 s.
constexpr Duration kForgetMax = seconds(45);
// While another namespace's webhooks fail.
constexpr Duration kOrdinaryBindMax = seconds(2);
constexpr Duration kOrdinaryReportMax = seconds(5);
// Timers and posted work of a process that has nothing to do: its watches' and its own.
constexpr std::size_t kPendingMax = 96;

// What the core still has of pods; empty: nothing.
std::string LeftIn(const scheduler::Scheduler& core) {
  if (core.binding_count() != 0) return "a binding is left";
  if (core.cache().assumed_count() != 0) return "an assumed pod is left";
  if (core.cache().pod_count() != 0) {
    std::string which;
    for (const framework::NodeIndex row : core.cache().nodes().rows()) {
      for (const framework::PodInfoPtr& pod : core.cache().nodes().Info(row).pods()) which += " " + pod->Key();
    }
    return "a pod is left in the cache:" + (which.empty() ? " on no node" : which);
  }
  if (!core.queue().Dump().empty()) return "a pod is left in the queue";
  if (!core.queue().nominator().empty()) return "a nomination is left";
  const cache::ColumnNodeTable& nodes = core.cache().nodes();
  for (const framework::NodeIndex row : nodes.rows()) {
    if (nodes.columns().requested_cpu_milli[row] != 0) return "room is still taken on a node";
  }
  return {};
}

bool Has(const Plan& plan, ItemKind kind) {
  return std::any_of(plan.items.begin(), plan.items.end(), [kind](const Item& item) { return item.kind == kind; });
}

// Whether the pod waits to be placed by the main process.
bool IsOurs(const LedgerPod& pod) {
  return pod.node.empty() && !pod.is_gated && !pod.is_terminating && !pod.is_finished && pod.scheduler_name == kOurName;
}

// Whether the pod was told why it waits. Schedulers of one name replace what the other says once and no more: `other`,
// which has ended, may have the last word. kOutsider: there is no other.
bool IsTold(const LedgerPod& pod, Life other) {
  const bool is_others_word = other != kOutsider && pod.told.by == other;
  return (pod.told.state == "False/Unschedulable" || is_others_word) && !pod.told.message.empty();
}

// What a waiting pod asks for, and what it was told.
std::string Asked(const LedgerPod& pod) {
  return pod.key + " waits (" + std::to_string(pod.cpu_milli) + "m, priority " + std::to_string(pod.priority) + ", " +
         pod.told.state + " " + pod.told.message + ")";
}

// The pods that a process has on the node.
std::string KnownOn(const std::string& node, Process& process) {
  std::string names;
  process.shell().Ask([&](const scheduler::Scheduler& core, Time, Duration) {
    const framework::NodeList& nodes = core.cache().nodes();
    const framework::NodeIndex row = nodes.Find(node);
    if (row == framework::kNoNode) return;
    for (const framework::PodInfoPtr& pod : nodes.Info(row).pods())
      names += " " + pod->Key() + (core.cache().IsAssumed(pod->uid) ? " (assumed)" : "");
  });
  return names.empty() ? " nothing" : names;
}

class Simulation {
 public:
  Simulation(const Plan& plan, bool prints_trace, const std::string& recordings)
      : plan_(plan),
        prints_trace_(prints_trace),
        recordings_(recordings),
        ledger_(agenda_, [this](std::string_view check, const std::string& what) { Violate(check, what); }),
        server_(agenda_, ledger_,
                {plan.seed, Has(plan, ItemKind::kStaleReplica), plan.has_election, plan.has_promises}),
        network_(
            agenda_, server_, ledger_, plan.seed * 3 + 1, [this](const std::string& what) { Trace(what); },
            [this](std::string_view check, const std::string& what) { Violate(check, what); }),
        outsiders_(agenda_, server_, ledger_, plan.roomy_cpu),
        promises_(agenda_, server_, ledger_),
        replicas_(agenda_, network_, ledger_, plan, recordings_,
                  {[this](const std::string& what) { Trace(what); }, [this] { return IsFine(); }, [this] { Spin(); }}) {
    if (plan.is_server_slow) ledger_.ForbidBlame();
    // Where conflicts go on, the scheduler deletes a victim without its condition.
    if (!Has(plan, ItemKind::kConflict) && !Has(plan, ItemKind::kWebhookStatuses)) ledger_.ExpectReasons();
    if (plan.has_election) {
      ledger_.ExpectElection();
      network_.ExpectElection();
    }
  }

  Report Run() {
    for (const Item& item : plan_.items) agenda_.At(Agenda::kStart + item.at, this, [this, &item] { Do(item); });
    agenda_.After(milliseconds(100), this, [this] {
      if (plan_.has_election) return replicas_.Start();
      StartMain();
    });
    RunFor(plan_.storm_end);
    Time healed = agenda_.Now();
    Trace("calm");
    if (plan_.has_election) replicas_.Calm();
    // New nodes make room, so that fewer pods are excused because all nodes are full.
    Random random(plan_.seed);
    for (int i = 0; i < 3; ++i) outsiders_.AddNode(random);
    if (plan_.has_promises) {
      KeepPromises(healed);
      healed = agenda_.Now();
    }
    // Everything has to be done at the same time, and still a while later.
    std::string left = IsFine() ? Settle(healed) : "";
    if (IsFine() && left.empty()) {
      RunFor(seconds(3));
      left = Settle(healed);
    }
    report_.settled = agenda_.Now() - healed;
    if (IsFine() && !left.empty()) Violate("liveness", left);
    if (IsFine()) {
      outsiders_.DeleteAllPods();
      RunFor(kForgetMax);
      CheckNothingLeft();
    }
    report_.evicted = ledger_.evicted();
    report_.requests = static_cast<std::int64_t>(network_.counts().requests + network_.counts().streams);
    for (const std::uint64_t hits : network_.counts().hits) report_.faults += static_cast<std::int64_t>(hits);
    report_.lives = plan_.has_election ? replicas_.lives() : lives_;
    report_.leaders = replicas_.leaders();
    for (const auto& [uid, pod] : ledger_.bound()) report_.bound += pod.binding.by == kOutsider ? 0 : 1;
    main_.reset();
    second_.reset();
    return report_;
  }

 private:
  // Lets time pass until everything that should be done has been done, or kSettleMax is over. Returns what has not been
  // done.
  std::string Settle(Time healed) {
    std::string left = WhatIsLeft();
    while (IsFine() && (!left.empty() || network_.IsAnyFault()) && agenda_.Now() - healed < kSettleMax) {
      RunFor(seconds(1));
      left = WhatIsLeft();
    }
    return left;
  }

  // The pods of all promises that hold come now, and have to be bound. Then all requests are deleted, so that no room
  // is kept from other pods any more.
  void KeepPromises(Time healed) {
    promises_.BringAll();
    // A scheduler of the same name that is not told of promises in time may give the room away. A stale list may not
    // have them.
    const bool is_strict = !Has(plan_, ItemKind::kSecondInstance) && !Has(plan_, ItemKind::kStaleReplica);
    std::string broken = promises_.Broken();
    while (IsFine() && is_strict && !broken.empty() && agenda_.Now() - healed < kSettleMax) {
      RunFor(seconds(1));
      broken = promises_.Broken();
    }
    if (IsFine() && is_strict && !broken.empty()) Violate("promises", broken);
    report_.promises = promises_.count();
    promises_.DeleteAll();
  }

  bool IsFine() const { return report_.check.empty(); }

  void RunFor(Duration time) {
    if (!agenda_.RunUntil(agenda_.Now() + time, [this] { return IsFine(); })) Spin();
  }

  void Spin() { Violate("spins", "the time stands still: something runs in circles"); }

  // The process that schedules; null: there is none.
  Process* Main() {
    if (plan_.has_election) return replicas_.Leading();
    return main_ ? &*main_ : nullptr;
  }

  void Trace(std::string_view what) {
    // The hash is FNV-1a.
    const auto mix = [this](std::uint64_t byte) { report_.hash = (report_.hash ^ byte) * 0x100000001b3ULL; };
    for (const char c : what) mix(static_cast<unsigned char>(c));
    mix(static_cast<std::uint64_t>(agenda_.Elapsed().count()));
    if (prints_trace_) std::printf("%s %.*s\n", Stamp().c_str(), static_cast<int>(what.size()), what.data());
  }

  std::string Stamp() const {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%10.6fs", static_cast<double>(agenda_.Elapsed().count()) / 1e6);
    return text.data();
  }

  void Violate(std::string_view check, const std::string& what) {
    Trace("VIOLATION " + std::string(check) + ": " + what);
    if (!IsFine()) return;
    report_.check = check;
    report_.violation = "at" + Stamp() + " " + std::string(check) + ": " + what;
  }

  // ---- What the plan says ----

  void Do(const Item& item) {
    if (item.kind == ItemKind::kSecondInstance) {
      StartSecond(item);
    } else if (item.kind > kLastFault) {
      replicas_.Do(item);
    } else if (item.kind >= kFirstFault) {
      network_.Begin(item);
    } else {
      Trace(item.Text());
      switch (item.kind) {
        case ItemKind::kRestart: Restart(item); break;
        case ItemKind::kCompact: server_.Compact(); break;
        case ItemKind::kClockStep: StepClock(item); break;
        case ItemKind::kAskForRoom: promises_.Ask(item); break;
        default: outsiders_.Do(item);
      }
      if (plan_.is_tenant_storm) ExpectOrdinary();
    }
  }

  void StepClock(const Item& item) {
    if (plan_.has_election) return replicas_.Do(item);
    Random random(item.dice);
    const Duration step = seconds(1 + random.Below(7200));
    wall_ahead_ += random.Below(2) == 0 ? step : -step;
  }

  ProcessOptions Options(const char* name) { return OptionsOf(plan_, ++lives_, name, recordings_); }

  void StartMain() {
    main_.emplace(agenda_, network_, wall_ahead_, Options(kOurName));
    ledger_.NameLife(main_->life(), kOurName);
    Trace("process " + std::to_string(main_->life()) + " starts");
    UpdateLives();
  }

  void Restart(const Item& item) {
    if (!main_) return;
    Trace("process " + std::to_string(main_->life()) + " dies");
    main_.reset();
    UpdateLives();
    agenda_.After(milliseconds(item.dice % 3000), this, [this] {
      if (!main_) StartMain();
    });
  }

  void StartSecond(const Item& item) {
    if (second_) return;
    const char* name = plan_.same_name ? kOurName : kOtherName;
    second_.emplace(agenda_, network_, wall_ahead_, Options(name));
    second_life_ = second_->life();
    ledger_.NameLife(second_->life(), name);
    Trace("second process " + std::to_string(second_->life()) + " starts");
    UpdateLives();
    agenda_.At(Agenda::kStart + item.until, this, [this] {
      Trace("second process dies");
      second_.reset();
      UpdateLives();
    });
  }

  void UpdateLives() {
    std::vector<Life> lives;
    if (main_) lives.push_back(main_->life());
    if (second_) lives.push_back(second_->life());
    network_.SetLives(std::move(lives));
  }

  // ---- What must be ----

  // While one namespace's webhooks fail, or are slow, pods of others are bound, or told why not, as if nothing were.
  void ExpectOrdinary() {
    for (const std::string& key : outsiders_.TakeNewPods()) {
      const auto found = ledger_.pods().find(key);
      if (found == ledger_.pods().end() || !IsOurs(found->second) || found->second.namespace_name == "tenant") continue;
      // A pod of the tenant that is not bound yet may hold the port.
      if (found->second.host_port != 0) continue;
      const std::string uid = found->second.uid;
      const bool fits = !ledger_.FittingNode(found->second, false).empty();
      if (agenda_.Elapsed() < seconds(2) || agenda_.Elapsed() + kOrdinaryReportMax > plan_.storm_end) continue;
      agenda_.After(fits ? kOrdinaryBindMax : kOrdinaryReportMax, this, [this, key, uid, fits, since = agenda_.Now()] {
        const auto pod = ledger_.pods().find(key);
        if (pod == ledger_.pods().end() || pod->second.uid != uid || !IsOurs(pod->second)) return;
        // Other new pods may have taken the room when it was tried, and have been preempted since.
        const std::string node = ledger_.FittingNode(pod->second, false, fits ? since : Time::max());
        if (fits && !node.empty())
          Violate("ordinary pods", key + " waits although it has room on " + node +
                                       " and only another namespace's webhooks fail or are slow");
        if (!fits && node.empty() && pod->second.told.state != "False/Unschedulable")
          Violate("ordinary pods",
                  key + " is not told why it waits while only another namespace's webhooks fail or are slow");
      });
    }
  }

  // What should have been done by now; empty: nothing.
  std::string WhatIsLeft() {
    Process* const process = Main();
    if (process == nullptr) return "the scheduler does not run, or does not lead";
    std::int64_t waiting = 0;
    for (const auto& [key, pod] : ledger_.pods()) {
      if (!IsOurs(pod)) continue;
      ++waiting;
      const std::string node = ledger_.FittingNode(pod, true);
      if (!node.empty())
        return Asked(pod) + " although it has room on " + ledger_.Describe(ledger_.nodes().at(node)) +
               "; the scheduler has there" + KnownOn(node, *process);
      if (!IsTold(pod, plan_.same_name ? second_life_ : kOutsider))
        return key + " waits and is not told why: \"" + pod.told.state + "\"";
    }
    report_.waiting = waiting;
    for (const auto& [uid, pod] : ledger_.bound()) {
      if (NeedsEvent(process->life(), uid, pod) && pod.scheduled_events.empty())
        return pod.key + " is bound without its event";
    }
    return process->shell().HasSynced() ? "" : "not all objects have been listed";
  }

  // Whether the Scheduled event of the pod must exist: the running process bound it, and no request for the event was
  // refused for good.
  bool NeedsEvent(Life life, const std::string& uid, const LedgerPod& pod) const {
    if (pod.binding.by != life) return false;
    const auto now = ledger_.pods().find(pod.key);
    // A pod that finished before the scheduler learned of its binding gets no event.
    if (now == ledger_.pods().end() || now->second.uid != uid || now->second.is_finished) return false;
    if (pod.binding.was_given_up) return false;
    return pod.binding.at > network_.EventsRefusedUntil(pod.namespace_name);
  }

  void CheckNothingLeft() {
    if (!IsFine()) return;
    Process* const process = Main();
    if (process == nullptr) return Violate("liveness", "nobody leads, although nothing fails any more");
    CheckForgotten(*process);
    if (!process->shell().IsIdle()) Violate("memory", "all pods are gone and something is still to be done");
    // A standby keeps a copy of the cluster, too.
    for (Process* const standby : replicas_.All()) CheckForgotten(*standby);
  }

  void CheckForgotten(Process& process) {
    if (const auto unbound = process.shell().Unbound(); !unbound.empty())
      Violate("memory", unbound.front().key + " is gone and still known: " + unbound.front().why);
    if (process.pending() > kPendingMax)
      Violate("memory", "all pods are gone and " + std::to_string(process.pending()) + " timers are left");
    process.shell().Ask([this](const scheduler::Scheduler& core, Time, Duration) {
      if (const std::string left = LeftIn(core); !left.empty()) Violate("memory", "all pods are gone and " + left);
    });
  }

  const Plan& plan_;
  const bool prints_trace_;
  const std::string& recordings_;
  Report report_;
  Agenda agenda_;
  Duration wall_ahead_{0};
  Ledger ledger_;
  SimServer server_;
  Network network_;
  Outsiders outsiders_;
  Promises promises_;
  Life lives_ = kOutsider;
  std::optional<Process> main_;
  std::optional<Process> second_;
  Life second_life_ = 0;  // of the newest second process; 0: there was none
  Replicas replicas_;     // with an election, instead of these two
};

}  // namespace

Report Simulate(const Plan& plan, bool prints_trace, const std::string& recordings) {
  return Simulation(plan, prints_trace, recordings).Run();
}

}  // namespace berth::program_sim
