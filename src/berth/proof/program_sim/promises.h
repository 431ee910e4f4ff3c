// SPDX-License-Identifier: Apache-2.0
// Promises: a job queue in a simulated cluster. It makes ProvisioningRequests, lets the pods of each come some time
// after it is provisioned, as a queue does, and says whether one of them waits although its promise holds. Its requests
// arrive at once and are never lost. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/proof/program_sim/agenda.h"
#include "berth/proof/program_sim/ledger.h"
#include "berth/proof/program_sim/plan.h"
#include "berth/proof/program_sim/sim_server.h"

namespace berth::program_sim {

class Promises final {
 public:
  // All must outlive it.
  Promises(Agenda& agenda, SimServer& server, const Ledger& ledger)
      : agenda_(agenda), server_(server), ledger_(ledger) {}
  ~Promises() { agenda_.Forget(this); }
  Promises(const Promises&) = delete;
  Promises& operator=(const Promises&) = delete;

  // Makes a PodTemplate and a request.
  void Ask(const Item& item);
  // All pods of promises that hold come now.
  void BringAll();
  // Deletes the requests.
  void DeleteAll();

  // A pod that waits although its promise holds; empty: there is none.
  std::string Broken() const;
  // The pods that have come.
  std::int64_t count() const { return count_; }

 private:
  struct Request {
    std::string namespace_name;
    std::string name;
    std::string spec;  // of a pod, in JSON
    int missing = 0;   // pods that have not come
    std::uint64_t dice = 0;
    std::set<std::string> pods{};  // keys of those that have come
  };

  void Tick();
  void Bring(Request& request);
  bool Holds(const Request& request) const;

  Agenda& agenda_;
  SimServer& server_;
  const Ledger& ledger_;
  std::map<std::string, Request> requests_;  // by key
  std::int64_t count_ = 0;
  bool is_ticking_ = false;
};

}  // namespace berth::program_sim
