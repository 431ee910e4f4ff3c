// SPDX-License-Identifier: Apache-2.0
// Outsiders: everybody but schedulers in a simulated cluster: those who make and change nodes and pods, and what
// kubelets and controllers do about them. Their requests arrive at once and are never lost. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/random.h"
#include "berth/proof/program_sim/agenda.h"
#include "berth/proof/program_sim/ledger.h"
#include "berth/proof/program_sim/plan.h"
#include "berth/proof/program_sim/sim_server.h"

namespace berth::program_sim {

inline constexpr const char* kOurName = "berth";
inline constexpr const char* kOtherName = "other";
inline constexpr std::int64_t kHighPriority = 1000;

class Outsiders final {
 public:
  // All must outlive it. `roomy_cpu` is the size of nodes that have room for all pods; 0: nodes are small, as usual.
  Outsiders(Agenda& agenda, SimServer& server, const Ledger& ledger, int roomy_cpu);
  ~Outsiders();
  Outsiders(const Outsiders&) = delete;
  Outsiders& operator=(const Outsiders&) = delete;

  // Does an item of the plan. Kinds that are about processes or the network do nothing.
  void Do(const Item& item);
  // The keys of the pods that Do() has made since the last call.
  std::vector<std::string> TakeNewPods() { return std::exchange(new_pods_, {}); }

  void AddNode(Random& random);
  void DeleteAllPods();

 private:
  void Tick();
  void AddPod(Random& random, const std::string& namespace_name);
  void ChangeNode(ItemKind kind, Random& random);
  void ChangePod(ItemKind kind, Random& random);
  void ChangeBudget(Random& random);
  void UpdateBudgets();
  void Delete(const LedgerPod& pod, bool at_once);

  struct Budget {
    std::string namespace_name;
    std::string app;
    int min_available = 0;
    int allowed = -1;
  };

  Agenda& agenda_;
  SimServer& server_;
  const Ledger& ledger_;
  const int roomy_cpu_;
  int next_pod_ = 0;
  int next_budget_ = 0;
  std::uint64_t ticks_ = 0;
  std::vector<std::string> new_pods_;
  std::map<std::string, Budget> budgets_;  // by name
};

}  // namespace berth::program_sim
