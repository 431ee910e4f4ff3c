// SPDX-License-Identifier: Apache-2.0
// What must hold in a simulated cluster: never (a node has more than it can hold) and in the end (a pod that fits is
// bound). Looks at the API server's objects with code that shares nothing with the scheduler's. One thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "berth/core/scheduler/scheduler.h"
#include "berth/proof/core_sim/model_api_server.h"

namespace berth::core_sim {

// What happened that the objects do not show. Pods go by their uids, schedulers by the number of their start.
struct History {
  std::map<std::string, int> bound_by;                         // the instance whose binding took effect
  std::map<std::string, std::map<int, int>> scheduled_events;  // how many Scheduled events each instance sent
  std::set<std::string> bound_to_nothing;                      // the node was gone when the binding arrived
  std::set<std::string> bound_by_others;
  std::set<std::string> crowded;  // nodes that somebody else bound pods to
};

class Checker {
 public:
  using Violate = std::function<void(const std::string& what)>;

  // `server` and `history` must outlive it.
  Checker(const ModelApiServer& server, const History& history, Violate violate);

  // At any time.
  void CheckRoom(const api::Node& node) const;

  // Once everything has worked for a while.
  void CheckNothingForgotten(const scheduler::Scheduler& core) const;
  void CheckEvents(int newest_instance) const;

  // And once all pods are gone.
  void CheckNothingLeft(const scheduler::Scheduler& core) const;

 private:
  const ModelApiServer& server_;
  const History& history_;
  const Violate violate_;
};

}  // namespace berth::core_sim
