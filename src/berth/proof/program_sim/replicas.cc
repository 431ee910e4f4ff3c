// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/replicas.h"

#include <algorithm>
#include <utility>

#include "berth/proof/program_sim/outsiders.h"

namespace berth::program_sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// While the waiting process is stopped, time passes in steps of this length.
constexpr Duration kStoppedStep = milliseconds(10);

std::string NameOf(const Process& process) { return "process " + std::to_string(process.life()); }

}  // namespace

Replicas::Replicas(Agenda& agenda, Network& network, Ledger& ledger, const Plan& plan, const std::string& recordings,
                   Callbacks callbacks)
    : agenda_(agenda),
      network_(network),
      ledger_(ledger),
      plan_(plan),
      recordings_(recordings),
      callbacks_(std::move(callbacks)),
      random_(plan.seed * 5 + 2) {
  // The two processes run on two machines, whose clocks differ.
  for (Replica& replica : replicas_) {
    replica.wall_ahead = seconds(static_cast<std::int64_t>(random_.Below(7200)) - 3600);
    replica.boot_ahead = seconds(random_.Below(1'000'000));
  }
}

Replicas::~Replicas() { agenda_.Forget(this); }

ProcessOptions Replicas::Options(Replica& replica) {
  const Life life = ++lives_;
  ProcessOptions options = OptionsOf(plan_, life, kOurName, recordings_);
  options.election.emplace();
  if (plan_.has_short_lease) {
    options.election->lease_duration = seconds(6);
    options.election->renew_deadline = seconds(4);
    options.election->retry_period = seconds(1);
  }
  options.lists_when_leading = plan_.lists_when_leading;
  options.boot_ahead = replica.boot_ahead;
  options.await = [this, &replica](Duration limit, const std::function<bool()>& is_done) {
    Wait(replica, limit, is_done);
  };
  options.on_leading = [this, life] {
    ++leaders_;
    callbacks_.trace("process " + std::to_string(life) + " leads");
  };
  options.on_lost = [this, &replica] {
    // A process that is already ending ends in its own way.
    if (!replica.is_ending) Drop(replica, "has lost the lease and ends");
  };
  return options;
}

void Replicas::Start() {
  for (Replica& replica : replicas_) Start(replica);
}

void Replicas::Start(Replica& replica) {
  replica.starts_later = false;
  replica.process.emplace(agenda_, network_, replica.wall_ahead, Options(replica));
  ledger_.NameLife(replica.process->life(), kOurName);
  callbacks_.trace(NameOf(*replica.process) + " starts");
}

void Replicas::StartLater(Replica& replica) {
  const Duration delay = milliseconds(random_.Below(4000));
  if (!is_calm_ && random_.Below(4) == 0) return;
  replica.starts_later = true;
  agenda_.After(delay, this, [this, &replica] { Start(replica); });
}

void Replicas::Calm() {
  is_calm_ = true;
  const auto is_gone = [](const Replica& replica) { return !replica.process && !replica.starts_later; };
  if (!std::all_of(replicas_.begin(), replicas_.end(), is_gone)) return;
  for (Replica& replica : replicas_) StartLater(replica);
}

Process* Replicas::Leading() {
  for (Replica& replica : replicas_) {
    if (replica.process && !replica.is_ending && replica.process->IsLeading()) return &*replica.process;
  }
  return nullptr;
}

std::vector<Process*> Replicas::All() {
  std::vector<Process*> processes;
  for (Replica& replica : replicas_) {
    if (replica.process) processes.push_back(&*replica.process);
  }
  return processes;
}

// Chooses the leader three times out of four.
Replicas::Replica& Replicas::Choose(Random& random) {
  const std::size_t any = random.Below(replicas_.size());
  const bool wants_leader = random.Below(4) != 0;
  for (Replica& replica : replicas_) {
    if (wants_leader && replica.process && replica.process->IsLeading()) return replica;
  }
  return replicas_[any];
}

void Replicas::Do(const Item& item) {
  Random random(item.dice);
  Replica& replica = Choose(random);
  const Time until = Agenda::kStart + item.until;
  if (item.kind == ItemKind::kClockStep) {
    const Duration step = seconds(1 + random.Below(7200));
    replica.wall_ahead += random.Below(2) == 0 ? step : -step;
    return;
  }
  if (!replica.process) return;
  switch (item.kind) {
    case ItemKind::kReplicaEnds: End(replica); break;
    case ItemKind::kReplicaDies: Drop(replica, "dies"); break;
    case ItemKind::kReplicaStops: Stop(replica, until); break;
    case ItemKind::kReplicaCutOff: CutOffOne(replica, static_cast<CutOff>(random.Below(3)), until); break;
    default: break;
  }
}

void Replicas::End(Replica& replica) {
  // A second signal changes nothing. A stopped process would see the signal only when it goes on, and then end as any
  // other: nothing is lost by leaving that out.
  if (replica.is_ending || agenda_.IsHeld(&replica.process->loop())) return;
  callbacks_.trace(NameOf(*replica.process) + " is told to end");
  replica.is_ending = true;
  replica.has_died = false;
  replica.process->End();
  replica.is_ending = false;
  Drop(replica, replica.has_died ? "died before its end" : "has ended");
}

void Replicas::Drop(Replica& replica, const std::string& why) {
  callbacks_.trace(NameOf(*replica.process) + " " + why);
  if (replica.is_ending) {
    replica.has_died = true;
    replica.process->Die();
    return;
  }
  replica.process.reset();
  StartLater(replica);
}

void Replicas::Stop(Replica& replica, Time until) {
  const void* const loop = &replica.process->loop();
  if (agenda_.IsHeld(loop)) return;
  callbacks_.trace(NameOf(*replica.process) + " is stopped");
  agenda_.Hold(loop);
  agenda_.At(until, this, [this, &replica, loop, life = replica.process->life()] {
    if (!replica.process || replica.process->life() != life) return;
    callbacks_.trace(NameOf(*replica.process) + " goes on");
    agenda_.LetGo(loop);
  });
}

void Replicas::CutOffOne(Replica& replica, CutOff how, Time until) {
  const Life life = replica.process->life();
  callbacks_.trace(NameOf(*replica.process) + " is cut off");
  network_.Cut(life, how);
  agenda_.At(until, this, [this, life] {
    callbacks_.trace("process " + std::to_string(life) + " is no longer cut off");
    network_.MendConnection(life);
  });
}

// Stands for the main thread of a process that is ending: waits while the simulation goes on.
void Replicas::Wait(const Replica& replica, Duration limit, const std::function<bool()>& is_done) {
  const auto is_stopped = [&] { return agenda_.IsHeld(&replica.process->loop()); };
  const auto waits = [&] { return callbacks_.goes_on() && !replica.has_died && (is_stopped() || !is_done()); };
  const Time until = agenda_.Now() + limit;
  while (waits() && (agenda_.Now() < until || is_stopped())) {
    const Time next = agenda_.Now() < until ? until : agenda_.Now() + kStoppedStep;
    if (!agenda_.RunUntil(next, waits)) callbacks_.spins();
  }
}

}  // namespace berth::program_sim
