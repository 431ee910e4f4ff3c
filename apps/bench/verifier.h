// SPDX-License-Identifier: Apache-2.0
// Verifier: evaluates pods a second time, with nothing that berth keeps: a node table built from the nodes and pods as
// they are, new plugins, and the plain form, which asks each plugin about each node. The scheduler's choice has to be
// among the best nodes of that evaluation, with the same score, and its refusals have to be the same; where it preempts
// has to be as good as where the plain form would.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/core/cache/cache.h"
#include "driver.h"

namespace berth::bench {

// Nominated pods by node.
using Nominated = std::map<std::string, std::vector<framework::PodInfoPtr>, std::less<>>;

class Verifier final : public Observer {
 public:
  // Looks at one cycle of each `every`, which is at least 1.
  explicit Verifier(int every) : every_(every) {}

  void BeforeCycle(const scheduler::Scheduler& core, Time now) override;
  void AfterCycle(const scheduler::Scheduler& core) override;
  void ObjectChanged(const framework::AnyObject& object) override { objects_.Set(object); }
  void ObjectRemoved(framework::ObjectKind kind, const std::string& key) override { objects_.Remove(kind, key); }

  int checked() const { return checked_; }
  int violations() const { return violations_; }
  const std::string& first_violation() const { return first_violation_; }

 private:
  const int every_;
  framework::Objects objects_;  // nobody listens to these: they are copied
  int cycle_ = 0;
  int checked_ = 0;
  int violations_ = 0;
  std::string first_violation_;

  // Of the cycle that is being looked at.
  std::unique_ptr<cache::Cache> cache_;
  Nominated nominated_;
  Time now_{};
};

}  // namespace berth::bench
