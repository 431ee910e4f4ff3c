// SPDX-License-Identifier: Apache-2.0
// DeviceAllocator: finds devices on one node for all claims of a pod. It goes through claims, requests and devices in
// their order, depth first, and takes the first solution. Serves one scheduling cycle; within turns only.
// Upstream: structured/internal/incubating, which the default feature gates select.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/framework/release.h"
#include "berth/plugins/dynamic_resources/allocation_result.h"
#include "berth/plugins/dynamic_resources/constraints.h"
#include "berth/plugins/dynamic_resources/resolved_claim.h"
#include "berth/plugins/helper/device_claims.h"
#include "berth/plugins/helper/device_slices.h"

namespace berth::plugins {

class DeviceAllocator {
 public:
  enum class Result : std::uint8_t {
    kAllocated,
    kNotAllocated,  // these claims do not fit this node
    kFailedOnNode,  // the node's devices are not in order; others may do
    kError,         // a claim, a class or the slices cannot be understood: scheduling the pod ends
    kOutOfSteps,    // gave up after steps_max devices or the selectors' budget, or there is too much to allocate
  };
  struct Answer {
    Result result = Result::kNotAllocated;
    std::string message;  // of kFailedOnNode and kError
  };

  // `usage` must outlive it. A search that looks at more than `steps_max` devices is given up, on all nodes together.
  DeviceAllocator(const DeviceClaims& usage, std::int64_t steps_max,
                  const framework::DeviceRules& rules = framework::DeviceRules())
      : usage_(usage), steps_max_(steps_max), rules_(rules) {}

  // `claims` and `pools` must live until the next call. With `use_verdicts`, what selectors said before is not asked
  // again.
  Answer Allocate(const NodePools& pools, std::vector<const ResolvedClaim*> claims, bool use_verdicts = true);

  // After kAllocated. Prefers alternatives that come first: 8 for the first of a prioritised list, 7 for the second ...
  // Of the claim at that position.
  std::int64_t PriorityScore(std::size_t claim) const;
  // Parallel to the claims. `seed` makes the ids of shares, which are unique as long as seeds and claims' uids are.
  std::vector<api::AllocationResult> Results(std::string_view node_name, std::uint64_t seed) const;

 private:
  enum class Search : std::uint8_t { kFound, kNone, kTooManyDevices, kError, kOutOfSteps };
  enum class Taking : std::uint8_t { kTaken, kRefused, kError };

  // A request or an alternative, on the node that is being tried.
  struct Wanted {
    const ResolvedRequest* resolved = nullptr;
    std::int64_t device_count = 0;
    std::vector<std::uint32_t> all_devices;  // allocation mode All: which they are
    std::vector<std::uint8_t> matches;       // what IsSelectable said, by device
    std::size_t chosen = 0;                  // of the first alternative: which one was
  };
  struct Position {
    std::size_t claim = 0;
    std::size_t request = 0;
    std::size_t alternative = 0;
    std::int64_t device = 0;  // how many the request has already
  };
  using Picked = PickedDevice;
  // What taking a device changed, to be undone.
  struct Change {
    bool has_counters = false;
    std::size_t constraint_count = 0;
    bool is_marked = false;
    bool has_capacity = false;
    bool had_capacity_before = false;
    bool is_picked = false;
  };
  // Amounts by name of the counter, by name of the set.
  using CounterAmounts = std::map<std::string, DeviceAmounts, std::less<>>;

  FoundClaim Found(std::size_t claim) const;
  void Begin(const NodePools& pools, std::vector<const ResolvedClaim*> claims);
  // An error's text, or nothing.
  std::string CheckClaim(std::size_t claim);
  // `matches` remembers what IsSelectable says meanwhile.
  std::string CheckRequest(std::size_t claim, Wanted& wanted, std::vector<std::uint8_t>& matches);
  std::string CollectAll(const std::string& prefix, std::size_t claim, Wanted& wanted,
                         std::vector<std::uint8_t>& matches);

  // How deep AllocateOne() may call itself for the claims of this call.
  std::int64_t DepthMax() const;
  Search AllocateOne(const Position& at, bool in_alternative, std::uint32_t start);
  Search AllocateAlternatives(Position at);
  Search AllocateAll(const Position& at, bool in_alternative);
  Search AllocateAny(const Position& at, bool in_alternative, std::uint32_t start);

  // An error's text is put into error_.
  Search IsSelectable(std::size_t claim, const ResolvedRequest& resolved, std::vector<std::uint8_t>& matches,
                      std::uint32_t device);
  Search SelectorsMatch(const std::vector<DeviceSelectors::Ptr>& selectors, std::string_view kind,
                        const std::string& owner, const ReachableDevice& device);
  Taking Take(const Position& at, std::uint32_t device, bool is_must, Change& change);
  void Undo(const Position& at, std::uint32_t device, const Change& change);

  bool IsInUse(std::uint32_t device) const;
  bool IsAllocatingFor(std::uint32_t device, std::size_t claim) const;
  bool IsCapacityInUse(std::uint32_t device) const;
  // Whether the device fits the request. Without `counts_use` it is asked as if nobody used any of the device. The text
  // of an error is put into error_.
  Search Fits(std::size_t claim, const ResolvedRequest& request, std::uint32_t device, bool counts_use = true);
  const std::string& CountersKey(const DevicePool& pool) const { return rules_.counts_by_driver ? pool.id : pool.name; }
  const CounterAmounts& AvailableCounters(const DevicePool& pool);
  bool ReserveCounters(const ReachableDevice& device);
  void ReturnCounters(const ReachableDevice& device);
  void InsertCapacity(std::uint32_t device, const Picked& picked);
  void RemoveCapacity(std::uint32_t device, const Picked& picked, bool had_capacity_before);

  Wanted& WantedAt(const Position& at) { return wanted_[at.claim][at.request][at.alternative]; }

  const DeviceClaims& usage_;
  const std::int64_t steps_max_;
  const framework::DeviceRules rules_;
  // The counters that are left, by CountersKey(). As in upstream, a set that was met on one node is used for all later
  // nodes of the cycle.
  std::map<std::string, CounterAmounts, std::less<>> available_counters_;

  // This node.
  const NodePools* pools_ = nullptr;
  std::vector<const ResolvedClaim*> claims_;
  std::vector<std::vector<std::vector<Wanted>>> wanted_;        // by claim, request, alternative
  std::vector<std::vector<AttributeConstraint>> constraints_;   // by claim
  std::vector<std::vector<Picked>> picked_;                     // by claim
  std::vector<std::pair<std::uint32_t, std::size_t>> marked_;   // devices that are being taken, and for which claim
  std::map<std::uint32_t, DeviceAmounts> allocating_capacity_;  // by device; an entry says that it is shared already
  std::map<std::string, CounterAmounts, std::less<>> consumed_counters_;  // by CountersKey()
  bool use_verdicts_ = true;
  bool is_error_of_node_ = false;  // what CheckClaim found: other nodes may do
  // On all nodes.
  std::int64_t steps_ = 0;
  SelectorBudget selector_budget_;
  std::string error_;
};

}  // namespace berth::plugins
