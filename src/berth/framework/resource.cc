// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/resource.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace berth::framework {
namespace {

auto LowerBound(auto& scalars, std::string_view name) {
  return std::lower_bound(scalars.begin(), scalars.end(), name,
                          [](const auto& entry, std::string_view n) { return entry.first < n; });
}

// Applies `change` to each of `scalars` with the amount in `from`; absent ones count as 0. Linear, because a pod may
// have tens of thousands of scalars.
template <typename Change>
void ChangeScalars(std::vector<std::pair<std::string, std::int64_t>>& scalars,
                   const std::vector<std::pair<std::string, std::int64_t>>& from, const Change& change) {
  std::vector<std::pair<std::string, std::int64_t>> added;
  for (const auto& [name, amount] : from) {
    const auto it = LowerBound(scalars, name);
    if (it != scalars.end() && it->first == name) {
      it->second = change(it->second, amount);
    } else if (!added.empty() && added.back().first == name) {
      added.back().second = change(added.back().second, amount);
    } else {
      added.emplace_back(name, change(0, amount));
    }
  }
  const auto middle = static_cast<std::ptrdiff_t>(scalars.size());
  scalars.insert(scalars.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  std::inplace_merge(scalars.begin(), scalars.begin() + middle, scalars.end());
}

}  // namespace

Resource Resource::FromList(const api::ResourceList& list) {
  Resource resource;
  for (const auto& [name, quantity] : list) {
    if (name == resources::kCpu) {
      resource.cpu_milli = quantity.MilliValue();
    } else if (name == resources::kMemory) {
      resource.memory_bytes = quantity.Value();
    } else if (name == resources::kEphemeralStorage) {
      resource.ephemeral_storage_bytes = quantity.Value();
    } else if (name == resources::kPods) {
      resource.pods = quantity.Value();
    } else {
      resource.scalars.emplace_back(name, quantity.Value());
    }
  }
  std::sort(resource.scalars.begin(), resource.scalars.end());
  return resource;
}

std::int64_t Resource::Scalar(std::string_view name) const {
  const auto it = LowerBound(scalars, name);
  return it != scalars.end() && it->first == name ? it->second : 0;
}

std::int64_t Resource::Get(std::string_view name) const {
  if (name == resources::kCpu) return cpu_milli;
  if (name == resources::kMemory) return memory_bytes;
  if (name == resources::kEphemeralStorage) return ephemeral_storage_bytes;
  if (name == resources::kPods) return pods;
  return Scalar(name);
}

void Resource::Add(const Resource& other) {
  cpu_milli = WrappingAdd(cpu_milli, other.cpu_milli);
  memory_bytes = WrappingAdd(memory_bytes, other.memory_bytes);
  ephemeral_storage_bytes = WrappingAdd(ephemeral_storage_bytes, other.ephemeral_storage_bytes);
  ChangeScalars(scalars, other.scalars, WrappingAdd);
}

void Resource::Subtract(const Resource& other) {
  cpu_milli = WrappingSub(cpu_milli, other.cpu_milli);
  memory_bytes = WrappingSub(memory_bytes, other.memory_bytes);
  ephemeral_storage_bytes = WrappingSub(ephemeral_storage_bytes, other.ephemeral_storage_bytes);
  ChangeScalars(scalars, other.scalars, WrappingSub);
}

}  // namespace berth::framework
