// SPDX-License-Identifier: Apache-2.0
// DeviceSelectors: CEL expressions that pick devices, compiled once, and what they said about published devices. Within
// turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>

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

struct DeviceSelector {
  std::uint64_t id = 0;  // never reused
  Expected<cel::DeviceSelector> program;

  // The error's message is "CEL compile error: ..." or "CEL runtime error: ...".
  Expected<bool> Matches(std::string_view driver, const api::Device& device) const;
  // The same with the memory of the slice that has the device at `index`. Errors are not remembered.
  Expected<bool> Matches(const api::ResourceSlice& slice, std::size_t index, SelectorMemory& memory) const;
};

class DeviceSelectors {
 public:
  using Ptr = std::shared_ptr<const DeviceSelector>;

  // Upstream keeps the 10 that were used last; compiling again is all that one more costs.
  static constexpr std::size_t kSelectorsMax = 1024;

  Ptr Get(std::string_view expression);
  std::vector<Ptr> Get(const std::vector<std::string>& expressions);

 private:
  StringHashMap<Ptr> by_expression_;
  std::uint64_t next_id_ = 1;
};

}  // namespace berth::plugins
