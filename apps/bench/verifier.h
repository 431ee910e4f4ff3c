// SPDX-License-Identifier: Apache-2.0
// Verifier: evaluates pods a second time without any kept data: with a node table built from the current nodes and
// pods, new plugins, and the plain form, which calls each plugin for each node. The scheduler's choice must be among
// the best nodes of that evaluation, with the same score, and its refusals must be equal. Where it preempts, the node
// must be as good as that of the plain form.
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
  // Verifies one cycle of each `every`, which is at least 1.
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
  framework::Objects objects_;  // copied, because listeners are not needed
  int cycle_ = 0;
  int checked_ = 0;
  int violations_ = 0;
  std::string first_violation_;

  // State of the cycle that is being verified.
  std::unique_ptr<cache::Cache> cache_;
  Nominated nominated_;
  Time now_{};
};

}  // namespace berth::bench
