// SPDX-License-Identifier: Apache-2.0
// LeaseKeeper: makes and renews the leases of simulated nodes, at a bounded rate. On the loop's thread, apart from
// renewals().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/devcluster/kubelet/context.h"
#include "berth/devcluster/kubelet/simulated_nodes.h"

namespace berth::kubelet {

class LeaseKeeper {
 public:
  // Keys of leases in the work queue begin with this.
  static constexpr std::string_view kKey = "lease/";

  // The queue hands keys of leases to Sync(). All must outlive it.
  LeaseKeeper(Context& context, SimulatedNodes& nodes, client::WorkQueue& queue);

  // Begins the renewals of a node that has none under way.
  void RenewSoon(SimulatedNode& node);
  // Renews the lease of a node, or makes it.
  void Sync(int number, client::WorkQueue::Done done);

  std::uint64_t renewals() const { return renewals_; }

 private:
  Duration NextSlot();
  Duration Validity() const;
  void Create(int number, const client::WorkQueue::Done& done);
  void CreateNamespace(const client::WorkQueue::Done& done);
  void OnRenewed(int number, const client::WorkQueue::Done& done);
  static std::string KeyOf(const SimulatedNode& node) { return std::string(kKey) + node.shape.name; }

  Context& context_;
  SimulatedNodes& nodes_;
  client::WorkQueue& queue_;
  const Duration heartbeat_;  // longer than the options say where there are very many nodes
  Time next_slot_;
  std::atomic<std::uint64_t> renewals_{0};
};

}  // namespace berth::kubelet
