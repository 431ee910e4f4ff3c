// SPDX-License-Identifier: Apache-2.0
// DeviceSelectors: CEL expressions that pick devices, compiled once, and what they said about published devices. Within
// turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "berth/api/resource_claim.h"
#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/languages/cel/device.h"

namespace berth::plugins {

// What is known about the devices of one slice.
struct SelectorMemory {
  absl::flat_hash_map<std::uint64_t, std::vector<std::uint8_t>> verdicts;  // by selector, a verdict for each device
  std::vector<std::unique_ptr<const Expected<cel::DeviceInput>>> inputs;   // by device, made when first asked about
};

// What a selector says of a device. Costs are cel-go's, which are the same on every machine: some ten are a
// microsecond.
struct SelectorAnswer {
  // The error's message is "CEL compile error: ..." or "CEL runtime error: ...".
  Expected<bool> matches;
  // The cost of an expensive evaluation and a hash of all that it read, also when the answer was remembered. Devices
  // with the same attributes and capacities have equal hashes. Both are 0 for a cheap evaluation.
  std::uint64_t cost = 0;
  std::uint64_t read = 0;
};

class DeviceSelector {
 public:
  // An evaluation that costs more is expensive, and its answer is remembered.
  static constexpr std::uint64_t kCheapCostMax = 100;
  // The number of expensive answers that are remembered for each selector. When there are more, all are forgotten.
  static constexpr std::size_t kDearAnswersMax = 4096;

  DeviceSelector(std::uint64_t id, std::string_view expression, const cel::DeviceFeatures& features = {});

  std::uint64_t id() const { return id_; }  // never reused
  SelectorAnswer Matches(std::string_view driver, const api::Device& device) const;
  // As above for the device at `index` of the slice, with the slice's memory of verdicts. Errors are not remembered.
  SelectorAnswer Matches(const api::ResourceSlice& slice, std::size_t index, SelectorMemory& memory) const;

 private:
  struct DearAnswer {
    bool matches = false;
    std::uint64_t cost = 0;
  };

  std::string TextOfRead(std::string_view driver, const api::Device& device) const;

  const std::uint64_t id_;
  const bool is_constant_;  // it does not mention the device
  const cel::DeviceFeatures features_;
  const Expected<cel::DeviceSelector> program_;
  mutable bool is_dear_ = false;                    // an evaluation was
  mutable StringHashMap<DearAnswer> dear_answers_;  // by TextOfRead
};

// What dear evaluations of one scheduling cycle may cost: about half a second on all nodes together. The API server
// admits selectors of which one evaluation takes a tenth of a second.
class SelectorBudget {
 public:
  static constexpr std::uint64_t kCostMax = 5'000'000;

  // Once for each selector and what it reads. What is remembered from earlier cycles is charged too: decisions must not
  // depend on that. False: the budget is spent.
  bool Charge(const DeviceSelector& selector, const SelectorAnswer& answer) {
    if (answer.cost != 0 && charged_.emplace(selector.id(), answer.read).second) cost_ += answer.cost;
    return !IsSpent();
  }
  bool IsSpent() const { return cost_ > kCostMax; }

 private:
  std::uint64_t cost_ = 0;
  absl::flat_hash_set<std::pair<std::uint64_t, std::uint64_t>> charged_;
};

class DeviceSelectors {
 public:
  using Ptr = std::shared_ptr<const DeviceSelector>;

  // Upstream keeps the 10 that were used last; compiling again is all that one more costs.
  static constexpr std::size_t kSelectorsMax = 1024;

  explicit DeviceSelectors(const cel::DeviceFeatures& features = {}) : features_(features) {}

  Ptr Get(std::string_view expression);
  std::vector<Ptr> Get(const std::vector<std::string>& expressions);

 private:
  const cel::DeviceFeatures features_;
  StringHashMap<Ptr> by_expression_;
  std::uint64_t next_id_ = 1;
};

}  // namespace berth::plugins
