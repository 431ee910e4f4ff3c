// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/allocator.h"

#include <algorithm>
#include <limits>

#include "berth/plugins/dynamic_resources/consumable_capacity.h"
#include "berth/plugins/helper/device_taints.h"
#include "berth/plugins/helper/node_selector.h"

namespace berth::plugins {
namespace {

// AllocateOne() calls itself for each claim, request and device: what a stack of 8 MiB has room for many times over.
constexpr std::int64_t kDepthMax = 4096;

enum Match : std::uint8_t { kNotAsked, kDiffers, kMatches };

std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// What the error of a selector ends with.
std::string SelectorError(const std::string& error, const std::string& device_id, bool names_device) {
  if (!names_device || !error.starts_with("CEL runtime error")) return ": " + error;
  std::string text = " on device " + device_id + ": " + error;
  if (error.find("no such key:") != std::string::npos) {
    text +=
        ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for "
        "optional fields";
  }
  return text;
}

// Why a request may not ask for shares, where there are none; empty when it does not.
std::string CheckCapacityRequests(const framework::DeviceRules& rules, const std::string& claim_key,
                                  const ResolvedClaim::Request& wanted) {
  if (rules.has_consumable_capacity || rules.HasSmallAllocator()) return {};
  for (const ResolvedRequest& alternative : wanted.alternatives) {
    if (!alternative.request->capacity_requests) continue;
    const bool is_named = wanted.is_prioritized && rules.names_alternative_in_capacity_errors;
    return "claim " + claim_key +
           (is_named ? ", subrequest " + alternative.own_name : ", request " + alternative.request_name) +
           ": has capacity requests, but the DRAConsumableCapacity feature is disabled";
  }
  return {};
}

// Which pool from `first` on, up to `last`, is in the way of the search, and why; empty: none is.
std::string InvalidPoolUpTo(const NodePools& pools, std::uint32_t& first, std::uint32_t last) {
  for (; first <= last; ++first) {
    const DevicePool& met = pools.pools[first];
    if (met.is_invalid) return "pool " + met.name + " is invalid: duplicate device name " + met.duplicate;
  }
  return {};
}

// Where the search for a request's next device begins after this one, which is at `row`. Which of two devices comes
// first makes no difference, so that ascending orders are all that matter: a shared device may come again in older
// releases. Only their distinctAttribute, which compares with the last device of a request, depends on the order.
std::uint32_t NextStart(const framework::DeviceRules& rules, const ResolvedClaim& claim, const ReachableDevice& device,
                        std::uint32_t row) {
  if (rules.takes_devices_in_order || rules.HasSmallAllocator()) return row + 1;
  const auto is_distinct = [](const api::DeviceConstraint& constraint) { return !constraint.match_attribute; };
  const auto& constraints = claim.claim->spec.constraints;
  if (!rules.distinct_is_always_met && std::ranges::any_of(constraints, is_distinct)) return 0;
  return rules.has_consumable_capacity && device.device().allow_multiple_allocations ? row : row + 1;
}

}  // namespace

void DeviceAllocator::Begin(const NodePools& pools, std::vector<const ResolvedClaim*> claims) {
  pools_ = &pools;
  const bool are_same = claims == claims_;
  claims_ = std::move(claims);
  marked_.clear();
  allocating_capacity_.clear();
  consumed_counters_.clear();
  constraints_.assign(claims_.size(), {});
  picked_.assign(claims_.size(), {});
  error_.clear();
  is_error_of_node_ = false;
  if (!are_same) {
    wanted_.assign(claims_.size(), {});
    for (std::size_t c = 0; c < claims_.size(); ++c) {
      for (const ResolvedClaim::Request& request : claims_[c]->requests) {
        std::vector<Wanted>& alternatives = wanted_[c].emplace_back();
        for (const ResolvedRequest& resolved : request.alternatives) alternatives.emplace_back().resolved = &resolved;
      }
    }
  }
  for (auto& requests : wanted_) {
    for (auto& alternatives : requests) {
      for (Wanted& wanted : alternatives) {
        wanted.all_devices.clear();
        wanted.matches.assign(pools.devices.size(), kNotAsked);
        wanted.chosen = 0;
      }
    }
  }
}

DeviceAllocator::Answer DeviceAllocator::Allocate(const NodePools& pools, std::vector<const ResolvedClaim*> claims,
                                                  bool use_verdicts) {
  if (!pools.error.empty()) return {Result::kError, pools.error};
  use_verdicts_ = use_verdicts;
  Begin(pools, std::move(claims));
  // What an older release remembers under another alternative's name counts for the check of requests alone.
  const auto forget = [this] {
    for (auto& requests : wanted_) {
      for (auto& alternatives : requests) {
        for (Wanted& wanted : alternatives) std::fill(wanted.matches.begin(), wanted.matches.end(), kNotAsked);
      }
    }
  };
  if (!rules_.keeps_to_alternative) forget();
  for (std::size_t c = 0; c < claims_.size(); ++c) {
    if (std::string error = CheckClaim(c); !error.empty())
      return {is_error_of_node_ ? Result::kFailedOnNode : Result::kError, std::move(error)};
    if (selector_budget_.IsSpent()) return {Result::kOutOfSteps, {}};
  }
  if (!rules_.keeps_to_alternative) forget();
  if (DepthMax() > kDepthMax) return {Result::kOutOfSteps, {}};
  switch (AllocateOne({}, false, 0)) {
    case Search::kFound: break;
    case Search::kNone:
      if (pools.has_invalid && !rules_.fails_on_invalid_pools)
        return {Result::kFailedOnNode, "invalid resource pools were encountered"};
      return {Result::kNotAllocated, {}};
    case Search::kTooManyDevices: return {Result::kError, "allocation max size exceeded"};
    case Search::kError: return {Result::kError, error_};
    case Search::kOutOfSteps: return {Result::kOutOfSteps, {}};
  }
  for (std::size_t c = 0; c < claims_.size(); ++c) {
    std::string error = NodeSelectorError(*pools_, *claims_[c], picked_[c], rules_);
    if (!error.empty()) return {Result::kError, std::move(error)};
  }
  return {Result::kAllocated, {}};
}

std::int64_t DeviceAllocator::DepthMax() const {
  std::int64_t depth = 0;
  for (const auto& requests : wanted_) {
    ++depth;
    for (const std::vector<Wanted>& alternatives : requests) {
      std::int64_t device_count = 0;
      for (const Wanted& wanted : alternatives) device_count = std::max(device_count, wanted.device_count);
      depth = SaturatingAdd(depth, SaturatingAdd(device_count, 2));
    }
  }
  return depth;
}

std::string DeviceAllocator::CheckClaim(std::size_t claim) {
  const ResolvedClaim& resolved = *claims_[claim];
  std::int64_t device_count = 0;  // at least
  for (std::size_t r = 0; r < resolved.requests.size(); ++r) {
    std::int64_t request_count = std::numeric_limits<std::int64_t>::max();
    if (std::string error = CheckCapacityRequests(rules_, resolved.key, resolved.requests[r]); !error.empty())
      return error;
    std::vector<Wanted>& alternatives = wanted_[claim][r];
    for (std::size_t a = 0; a < alternatives.size(); ++a) {
      Wanted& wanted = alternatives[a];
      // Older releases remember what selectors say under the alternative before this one.
      Wanted& remembering = rules_.keeps_to_alternative || a == 0 ? wanted : alternatives[a - 1];
      if (std::string error = CheckRequest(claim, wanted, remembering.matches); !error.empty()) return error;
      request_count = std::min(request_count, wanted.device_count);
    }
    if (rules_.checks_limit_by_request && request_count > kDevicesPerClaimMax - device_count) {
      return "claim " + resolved.key + ", request " + resolved.requests[r].alternatives.front().request_name +
             ": adding " + std::to_string(request_count) + " devices exceeds the claim limit of " +
             std::to_string(kDevicesPerClaimMax) + ", with " + std::to_string(device_count) + " already accounted for";
    }
    device_count = SaturatingAdd(device_count, request_count);
  }
  if (device_count > kDevicesPerClaimMax) {
    return "claim " + resolved.key + ": number of requested devices " + std::to_string(device_count) +
           " exceeds the claim limit of " + std::to_string(kDevicesPerClaimMax);
  }
  const auto& constraints = resolved.claim->spec.constraints;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const bool is_distinct = constraints[i].distinct_attribute && !rules_.HasSmallAllocator();
    if (!constraints[i].match_attribute && !is_distinct) {
      return "claim " + resolved.key + ", constraint #" + std::to_string(i) +
             ": empty constraint (unsupported constraint type?)";
    }
    constraints_[claim].emplace_back(constraints[i], rules_.are_distinct_in_request, rules_.distinct_is_always_met);
  }
  return {};
}

std::string DeviceAllocator::CheckRequest(std::size_t claim, Wanted& wanted, std::vector<std::uint8_t>& matches) {
  const ResolvedRequest& resolved = *wanted.resolved;
  if (!resolved.error.empty()) return resolved.error;
  if (!resolved.wants_all()) {
    wanted.device_count = resolved.request->count;
    return {};
  }
  return CollectAll("claim " + claims_[claim]->key + ", request " + resolved.own_name + ": ", claim, wanted, matches);
}

// Finds out which devices "all" are. Taints and what is in use do not matter here: a device that cannot be had makes
// the request impossible.
std::string DeviceAllocator::CollectAll(const std::string& prefix, std::size_t claim, Wanted& wanted,
                                        std::vector<std::uint8_t>& matches) {
  std::uint32_t device = 0;
  for (std::size_t p = 0; p < pools_->pools.size(); ++p) {
    const DevicePool& pool = pools_->pools[p];
    if (pool.is_incomplete || pool.is_invalid) {
      is_error_of_node_ = rules_.rules_out_node_by_pool;
      return prefix + "asks for all devices, but resource pool " + pool.id + " is currently " +
             (pool.is_incomplete ? "being updated" : "invalid");
    }
    for (; device < pools_->devices.size() && pools_->devices[device].pool == p; ++device) {
      const Search selectable = IsSelectable(claim, *wanted.resolved, matches, device);
      if (selectable == Search::kError) return error_;
      if (selectable == Search::kOutOfSteps) return {};
      if (selectable != Search::kFound) continue;
      const Search fits = Fits(claim, *wanted.resolved, device, !rules_.collects_all_by_static_capacity);
      if (fits == Search::kError) return error_;
      if (fits == Search::kFound) wanted.all_devices.push_back(device);
    }
  }
  wanted.device_count = static_cast<std::int64_t>(wanted.all_devices.size());
  return {};
}

DeviceAllocator::Search DeviceAllocator::AllocateOne(const Position& at, bool in_alternative, std::uint32_t start) {
  if (++steps_ > steps_max_) return Search::kOutOfSteps;
  if (at.claim >= claims_.size()) return Search::kFound;
  if (at.request >= wanted_[at.claim].size()) {
    const Search next = AllocateOne({at.claim + 1, 0, 0, 0}, false, 0);
    // A later claim that gets too large does not end the search: other choices before it may leave it a smaller
    // alternative.
    return next == Search::kTooManyDevices ? Search::kNone : next;
  }
  if (!in_alternative && claims_[at.claim]->requests[at.request].is_prioritized) return AllocateAlternatives(at);
  const Wanted& wanted = WantedAt(at);
  const bool wants_all = wanted.resolved->wants_all();
  if (wants_all && wanted.all_devices.empty()) return Search::kNone;
  if (at.device >= wanted.device_count) return AllocateOne({at.claim, at.request + 1, 0, 0}, false, 0);
  const auto picked = static_cast<std::int64_t>(picked_[at.claim].size());
  if (SaturatingAdd(picked, wanted.device_count - at.device) > kDevicesPerClaimMax) return Search::kTooManyDevices;
  return wants_all ? AllocateAll(at, in_alternative) : AllocateAny(at, in_alternative, start);
}

DeviceAllocator::Search DeviceAllocator::AllocateAlternatives(Position at) {
  std::vector<Wanted>& alternatives = wanted_[at.claim][at.request];
  bool are_all_too_large = true;
  for (at.alternative = 0; at.alternative < alternatives.size(); ++at.alternative) {
    const Search result = AllocateOne(at, true, 0);
    if (result == Search::kTooManyDevices) continue;
    are_all_too_large = false;
    if (result == Search::kNone) continue;
    if (result == Search::kFound) alternatives.front().chosen = at.alternative;
    return result;
  }
  return are_all_too_large ? Search::kTooManyDevices : Search::kNone;
}

DeviceAllocator::Search DeviceAllocator::AllocateAll(const Position& at, bool in_alternative) {
  const std::uint32_t device = WantedAt(at).all_devices[static_cast<std::size_t>(at.device)];
  Change change;
  switch (Take(at, device, true, change)) {
    case Taking::kTaken: break;
    case Taking::kRefused: return Search::kNone;
    case Taking::kError: return Search::kError;
  }
  Position next = at;
  ++next.device;
  if (!rules_.keeps_to_alternative) next.alternative = 0;
  const Search result = AllocateOne(next, in_alternative, 0);
  if (result != Search::kFound) Undo(at, device, change);
  return result;
}

// Within a request, devices are taken in ascending order only: which of them comes first makes no difference.
DeviceAllocator::Search DeviceAllocator::AllocateAny(const Position& at, bool in_alternative, std::uint32_t start) {
  Wanted& wanted = WantedAt(at);
  const ResolvedRequest& resolved = *wanted.resolved;
  const bool is_admin = resolved.request->admin_access;
  std::uint32_t pool = 0;
  for (std::uint32_t device = start; device < pools_->devices.size(); ++device) {
    if (++steps_ > steps_max_) return Search::kOutOfSteps;
    if (rules_.fails_on_invalid_pools) {
      error_ = InvalidPoolUpTo(*pools_, pool, pools_->devices[device].pool);
      if (!error_.empty()) return Search::kError;
    }
    if (is_admin ? IsAllocatingFor(device, at.claim) : IsInUse(device)) continue;
    const Search selectable = IsSelectable(at.claim, resolved, wanted.matches, device);
    if (selectable == Search::kError || selectable == Search::kOutOfSteps) return selectable;
    if (selectable != Search::kFound) continue;
    const Search fits = Fits(at.claim, resolved, device);
    if (fits == Search::kError) return fits;
    if (fits != Search::kFound) continue;
    Change change;
    const Taking taking = Take(at, device, false, change);
    if (taking == Taking::kError) return Search::kError;
    if (taking == Taking::kRefused) continue;
    Position next = at;
    ++next.device;
    const Search result =
        AllocateOne(next, in_alternative, NextStart(rules_, *claims_[at.claim], pools_->devices[device], device));
    if (result == Search::kFound) return result;
    Undo(at, device, change);
    if (result != Search::kNone) return result;
  }
  if (rules_.fails_on_invalid_pools && !pools_->pools.empty()) {
    error_ = InvalidPoolUpTo(*pools_, pool, static_cast<std::uint32_t>(pools_->pools.size() - 1));
    if (!error_.empty()) return Search::kError;
  }
  return Search::kNone;
}

DeviceAllocator::Search DeviceAllocator::IsSelectable(std::size_t claim, const ResolvedRequest& resolved,
                                                      std::vector<std::uint8_t>& matches, std::uint32_t device) {
  const ReachableDevice& reachable = pools_->devices[device];
  if (!rules_.has_binding_conditions && !reachable.device().binding_conditions.empty()) return Search::kNone;
  std::uint8_t& known = matches[device];
  if (known != kNotAsked) return known == kMatches ? Search::kFound : Search::kNone;
  Search result = SelectorsMatch(resolved.class_selectors, "class ", resolved.device_class->metadata.name, reachable);
  if (result == Search::kFound) result = SelectorsMatch(resolved.selectors, "claim ", claims_[claim]->key, reachable);
  if (result == Search::kError || result == Search::kOutOfSteps) return result;
  if (result == Search::kFound && reachable.has_selector_error) {
    error_ = "failed to parse node selector: " + NodeSelectorErrors(*reachable.device().nodes.node_selector);
    return Search::kError;
  }
  if (!reachable.is_for_node) result = Search::kNone;
  known = result == Search::kFound ? kMatches : kDiffers;
  return result;
}

DeviceAllocator::Search DeviceAllocator::SelectorsMatch(const std::vector<DeviceSelectors::Ptr>& selectors,
                                                        std::string_view kind, const std::string& owner,
                                                        const ReachableDevice& device) {
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    const api::ResourceSlice& slice = *device.slice->object;
    const SelectorAnswer answer = use_verdicts_ ? selectors[i]->Matches(slice, device.index, device.slice->memory)
                                                : selectors[i]->Matches(slice.driver, device.device());
    if (!answer.matches.ok()) {
      error_ = std::string(kind) + owner + ": selector #" + std::to_string(i) +
               SelectorError(answer.matches.error().message, device.id(), rules_.names_device_in_selector_errors);
      return Search::kError;
    }
    if (!selector_budget_.Charge(*selectors[i], answer)) return Search::kOutOfSteps;
    if (!*answer.matches) return Search::kNone;
  }
  return Search::kFound;
}

// The device is selectable. With `is_must` a constraint that it does not satisfy is an error: nothing else will do.
DeviceAllocator::Taking DeviceAllocator::Take(const Position& at, std::uint32_t device, bool is_must, Change& change) {
  const ReachableDevice& reachable = pools_->devices[device];
  const api::Device& published = reachable.device();
  const ResolvedRequest& resolved = *WantedAt(at).resolved;
  const bool is_shared = rules_.has_consumable_capacity && published.allow_multiple_allocations;
  if (resolved.request->admin_access) {
    if (!is_shared && IsAllocatingFor(device, at.claim)) return Taking::kRefused;
  } else if (IsInUse(device) || (rules_.keeps_shared_devices && !is_shared && IsCapacityInUse(device))) {
    return Taking::kRefused;
  }
  if (!published.consumes_counters.empty() && !rules_.has_partitionable_devices) return Taking::kRefused;
  // A shared device takes its counters once, with the first of its shares.
  if (!published.consumes_counters.empty() && !(is_shared && IsCapacityInUse(device))) {
    if (!ReserveCounters(reachable)) return Taking::kRefused;
    change.has_counters = true;
  }
  const auto refuse = [&] {
    change.has_counters &= rules_.returns_all_counters;
    Undo(at, device, change);
    return Taking::kRefused;
  };
  if (rules_.has_device_taints && HasUntoleratedTaint(published, *resolved.request)) return refuse();
  const AttributeConstraint::Request name{resolved.request_name, resolved.full_name};
  for (AttributeConstraint& constraint : constraints_[at.claim]) {
    if (constraint.Add(name, reachable.slice->object->driver, published)) {
      ++change.constraint_count;
      continue;
    }
    refuse();
    if (!is_must) return Taking::kRefused;
    error_ = "claim " + claims_[at.claim]->key + ", request " + resolved.own_name + ": cannot add device " +
             reachable.id() + " because a claim constraint would not be satisfied";
    return Taking::kError;
  }
  if (!is_shared) {
    marked_.emplace_back(device, at.claim);
    change.is_marked = true;
  }
  if (const Search fits = Fits(at.claim, resolved, device); fits != Search::kFound) {
    Undo(at, device, change);
    return fits == Search::kError ? Taking::kError : Taking::kRefused;
  }
  Picked picked{&resolved, device, is_shared, {}};
  if (is_shared) {
    picked.consumed =
        ConsumedCapacities(resolved.request->capacity_requests, reachable.slice->object->driver, published, rules_);
    change.had_capacity_before = allocating_capacity_.contains(device);
    InsertCapacity(device, picked);
    change.has_capacity = true;
    change.has_counters &= rules_.returns_all_counters;
  }
  picked_[at.claim].push_back(std::move(picked));
  change.is_picked = true;
  return Taking::kTaken;
}

void DeviceAllocator::Undo(const Position& at, std::uint32_t device, const Change& change) {
  if (change.has_capacity) RemoveCapacity(device, picked_[at.claim].back(), change.had_capacity_before);
  if (change.is_picked) picked_[at.claim].pop_back();
  // What was marked later has been undone before.
  if (change.is_marked) marked_.pop_back();
  const ResolvedRequest& resolved = *WantedAt(at).resolved;
  for (std::size_t i = change.constraint_count; i-- > 0;) {
    constraints_[at.claim][i].Remove({resolved.request_name, resolved.full_name});
  }
  if (change.has_counters) ReturnCounters(pools_->devices[device]);
}

bool DeviceAllocator::IsInUse(std::uint32_t device) const {
  if (std::any_of(marked_.begin(), marked_.end(), [device](const auto& mark) { return mark.first == device; })) {
    return true;
  }
  const DeviceUsage* usage = usage_.UsageOf(pools_->devices[device].id());
  return usage != nullptr && usage->exclusive_count > 0;
}

bool DeviceAllocator::IsAllocatingFor(std::uint32_t device, std::size_t claim) const {
  return std::find(marked_.begin(), marked_.end(), std::pair(device, claim)) != marked_.end();
}

bool DeviceAllocator::IsCapacityInUse(std::uint32_t device) const {
  if (allocating_capacity_.contains(device)) return true;
  const DeviceUsage* usage = usage_.UsageOf(pools_->devices[device].id());
  if (usage == nullptr) return false;
  return rules_.counts_shares_without_capacity ? usage->share_count > 0 : usage->consuming_share_count > 0;
}

DeviceAllocator::Search DeviceAllocator::Fits(std::size_t claim, const ResolvedRequest& request, std::uint32_t device,
                                              bool counts_use) {
  const ReachableDevice& reachable = pools_->devices[device];
  const auto& requests = request.request->capacity_requests;
  if (!rules_.has_consumable_capacity) return Search::kFound;
  if (!requests && reachable.device().capacity.empty()) return Search::kFound;
  const DeviceUsage* usage = counts_use ? usage_.UsageOf(reachable.id()) : nullptr;
  const auto allocating = counts_use ? allocating_capacity_.find(device) : allocating_capacity_.end();
  const auto fits = FitsCapacity(requests, reachable.slice->object->driver, reachable.device(),
                                 usage == nullptr ? nullptr : &usage->consumed,
                                 allocating == allocating_capacity_.end() ? nullptr : &allocating->second, rules_);
  if (fits.ok()) return *fits ? Search::kFound : Search::kNone;
  error_ = "claim " + claims_[claim]->key + ", request " + request.own_name + ": checking capacity for device " +
           (counts_use ? reachable.id() : reachable.device().name) + ": " + fits.error().message;
  return Search::kError;
}

const DeviceAllocator::CounterAmounts& DeviceAllocator::AvailableCounters(const DevicePool& pool) {
  const auto known = available_counters_.find(CountersKey(pool));
  if (known != available_counters_.end()) return known->second;
  CounterAmounts& available = available_counters_[CountersKey(pool)];
  for (const auto& [name, set] : pool.counter_sets) {
    DeviceAmounts& amounts = available[name];
    for (const auto& [counter, amount] : set->counters) amounts[counter] = amount.nanos();
  }
  for (const auto* slices : {&pool.slices, &pool.other_slices}) {
    for (const PublishedSlicePtr& slice : *slices) {
      for (std::size_t i = 0; i < slice->object->devices.size(); ++i) {
        const DeviceUsage* usage = usage_.UsageOf(slice->device_ids[i]);
        if (usage == nullptr || !usage->IsAllocated()) continue;
        if (usage->exclusive_count == 0 && !rules_.counts_counters_of_shares) continue;
        for (const api::CounterSet& consumed : slice->object->devices[i].consumes_counters) {
          // Less than nothing may be left: then there is nothing.
          const auto amounts = available.find(consumed.name);
          if (amounts == available.end()) continue;
          for (const auto& [counter, amount] : consumed.counters) {
            const auto left = amounts->second.find(counter);
            if (left != amounts->second.end()) left->second -= amount.nanos();
          }
        }
      }
    }
  }
  return available;
}

// Takes the device's counters if all of the pool's are enough then, those that the device does not consume as well.
bool DeviceAllocator::ReserveCounters(const ReachableDevice& device) {
  const DevicePool& pool = pools_->pools[device.pool];
  const CounterAmounts& available = AvailableCounters(pool);
  CounterAmounts& consumed = consumed_counters_[CountersKey(pool)];
  for (const api::CounterSet& set : device.device().consumes_counters) {
    for (const auto& [counter, amount] : set.counters) consumed[set.name][counter] += amount.nanos();
  }
  for (const auto& [set, amounts] : available) {
    const auto taken = consumed.find(set);
    for (const auto& [counter, amount] : amounts) {
      api::Quantity::Nanos used = 0;
      if (taken != consumed.end()) {
        const auto it = taken->second.find(counter);
        if (it != taken->second.end()) used = it->second;
      }
      if (amount >= used) continue;
      ReturnCounters(device);
      return false;
    }
  }
  return true;
}

void DeviceAllocator::ReturnCounters(const ReachableDevice& device) {
  CounterAmounts& consumed = consumed_counters_[CountersKey(pools_->pools[device.pool])];
  for (const api::CounterSet& set : device.device().consumes_counters) {
    for (const auto& [counter, amount] : set.counters) consumed[set.name][counter] -= amount.nanos();
  }
}

void DeviceAllocator::InsertCapacity(std::uint32_t device, const Picked& picked) {
  DeviceAmounts& amounts = allocating_capacity_[device];
  for (const auto& [name, amount] : picked.consumed) amounts[name] += amount.nanos();
}

// An entry goes when nothing is left of it, but stays while another share of the device is being taken.
void DeviceAllocator::RemoveCapacity(std::uint32_t device, const Picked& picked, bool had_capacity_before) {
  const auto entry = allocating_capacity_.find(device);
  if (entry == allocating_capacity_.end()) return;
  for (const auto& [name, amount] : picked.consumed) entry->second[name] -= amount.nanos();
  if (!had_capacity_before) allocating_capacity_.erase(entry);
}

FoundClaim DeviceAllocator::Found(std::size_t claim) const {
  FoundClaim found{*pools_, *claims_[claim], picked_[claim], {}};
  for (const std::vector<Wanted>& alternatives : wanted_[claim]) {
    found.chosen.push_back(alternatives[alternatives.front().chosen].resolved);
  }
  return found;
}

std::int64_t DeviceAllocator::PriorityScore(std::size_t claim) const {
  return PriorityScoreOf(*claims_[claim], picked_[claim]);
}

std::vector<api::AllocationResult> DeviceAllocator::Results(std::string_view node_name, std::uint64_t seed) const {
  std::vector<api::AllocationResult> results;
  for (std::size_t c = 0; c < claims_.size(); ++c)
    results.push_back(MakeAllocationResult(Found(c), node_name, seed, rules_));
  return results;
}

}  // namespace berth::plugins
