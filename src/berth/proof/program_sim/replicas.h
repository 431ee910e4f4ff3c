// SPDX-License-Identifier: Apache-2.0
// Replicas: the two schedulers of a simulation with leader election, as those of one Deployment. Starts them, has them
// end, die, be stopped or cut off as the plan says, and starts new ones in their place. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/proof/program_sim/agenda.h"
#include "berth/proof/program_sim/ledger.h"
#include "berth/proof/program_sim/network.h"
#include "berth/proof/program_sim/plan.h"
#include "berth/proof/program_sim/process.h"

namespace berth::program_sim {

class Replicas final {
 public:
  struct Callbacks {
    std::function<void(const std::string& what)> trace;
    std::function<bool()> goes_on;  // nothing has been violated
    std::function<void()> spins;    // the time stands still
  };

  // All must outlive it.
  Replicas(Agenda& agenda, Network& network, Ledger& ledger, const Plan& plan, const std::string& recordings,
           Callbacks callbacks);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  void Start();
  // Does an item of the plan about a process, or a step of a clock. An orderly end takes seconds of simulated time, in
  // which other things happen before this returns.
  void Do(const Item& item);
  // Nothing fails from now on. If both processes are gone for good, both are started. Otherwise one may stay away.
  void Calm();

  // Null: nobody leads.
  Process* Leading();
  // Those that run.
  std::vector<Process*> All();
  std::int64_t lives() const { return lives_; }
  std::int64_t leaders() const { return leaders_; }  // how often one began to lead

 private:
  struct Replica {
    std::optional<Process> process;
    Duration wall_ahead{0};
    Duration boot_ahead{0};
    bool is_ending = false;     // Process::End() is on the stack
    bool has_died = false;      // while it was ending
    bool starts_later = false;  // a new one will be started
  };

  void Start(Replica& replica);
  void StartLater(Replica& replica);
  Replica& Choose(Random& random);
  void End(Replica& replica);
  void Drop(Replica& replica, const std::string& why);
  void Stop(Replica& replica, Time until);
  void CutOffOne(Replica& replica, CutOff how, Time until);
  void Wait(const Replica& replica, Duration limit, const std::function<bool()>& is_done);
  ProcessOptions Options(Replica& replica);

  Agenda& agenda_;
  Network& network_;
  Ledger& ledger_;
  const Plan& plan_;
  const std::string& recordings_;
  const Callbacks callbacks_;
  Random random_;
  bool is_calm_ = false;
  Life lives_ = kOutsider;
  std::int64_t leaders_ = 0;
  std::array<Replica, 2> replicas_;
};

}  // namespace berth::program_sim
