// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/allocation_result.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>

#include "berth/base/random.h"
#include "berth/plugins/helper/node_selector.h"

namespace berth::plugins {
namespace {

// Formats the bits as a random UUID.
std::string MakeUuid(Random& random) {
  const std::uint64_t a = random.Next();
  const std::uint64_t b = random.Next();
  char text[40];
  std::snprintf(text, sizeof(text), "%08x-%04x-4%03x-%04x-%012llx", static_cast<unsigned>(a >> 32),
                static_cast<unsigned>(a >> 16 & 0xffff), static_cast<unsigned>(a & 0xfff),
                static_cast<unsigned>(0x8000 | (b >> 48 & 0x3fff)),
                static_cast<unsigned long long>(b & 0xffffffffffffULL));
  return text;
}

bool IsSameRequirement(const api::Requirement& a, const api::Requirement& b) {
  const auto has = [](const std::vector<std::string>& values, const std::string& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  return a.key == b.key && a.op == b.op && a.unknown_op == b.unknown_op &&
         std::all_of(a.values.begin(), a.values.end(), [&](const auto& v) { return has(b.values, v); }) &&
         std::all_of(b.values.begin(), b.values.end(), [&](const auto& v) { return has(a.values, v); });
}

void AddNew(const std::vector<api::Requirement>& from, std::vector<api::Requirement>& to) {
  for (const api::Requirement& requirement : from) {
    const bool is_known = std::any_of(
        to.begin(), to.end(), [&](const api::Requirement& known) { return IsSameRequirement(known, requirement); });
    if (!is_known) to.push_back(requirement);
  }
}

// Where the device may be used: its own word, or that of its slice.
const api::DeviceNodes& NodesOf(const ReachableDevice& device) {
  const api::ResourceSlice& slice = *device.slice->object;
  return slice.per_device_node_selection ? device.device().nodes : slice.nodes;
}

bool IsTiedToNode(const ReachableDevice& device, const framework::DeviceRules& rules) {
  return NodesOf(device).node_name.has_value() || (device.device().binds_to_node && !rules.HasSmallAllocator());
}

api::NodeSelectorTerm OnlyNode(std::string_view node_name) {
  api::NodeSelectorTerm term;
  api::Requirement& requirement = term.match_fields.emplace_back();
  requirement.key = kNodeNameField;
  requirement.op = api::SelectorOperator::kIn;
  requirement.values.emplace_back(node_name);
  return term;
}

bool Concerns(const std::vector<std::string>& requests, const ResolvedRequest& resolved) {
  return std::find(requests.begin(), requests.end(), resolved.request_name) != requests.end() ||
         std::find(requests.begin(), requests.end(), resolved.full_name) != requests.end();
}

// The configurations of the classes in use, each once, then those of the claim that concern a request in use.
void AddConfigs(const FoundClaim& found, bool shortens, api::AllocationResult& result) {
  struct Range {
    std::size_t begin, end;
  };
  std::map<std::string, Range> by_class;
  for (const ResolvedRequest* request : found.chosen) {
    const ResolvedRequest& resolved = *request;
    const api::DeviceClass& device_class = *resolved.device_class;
    const auto known = by_class.find(device_class.metadata.name);
    if (known != by_class.end()) {
      for (std::size_t i = known->second.begin; i < known->second.end; ++i) {
        result.configs[i].requests.push_back(resolved.full_name);
      }
      continue;
    }
    const std::size_t begin = result.configs.size();
    for (const std::string& config : device_class.configs) {
      result.configs.push_back({"FromClass", {resolved.full_name}, config});
    }
    by_class.emplace(device_class.metadata.name, Range{begin, result.configs.size()});
  }
  for (const api::DeviceClaimConfiguration& config : found.claim.claim->spec.configs) {
    // As upstream, once for each request that the configuration names.
    std::size_t count = config.requests.empty() ? 1 : 0;
    for (const ResolvedRequest* resolved : found.chosen) {
      if (Concerns(config.requests, *resolved)) ++count;
    }
    if (shortens) count = std::min<std::size_t>(count, 1);
    for (; count > 0; --count) result.configs.push_back({"FromClaim", config.requests, config.config});
  }
  if (!shortens) return;
  // A configuration that names no request is for all of them.
  for (auto& config : result.configs) {
    const bool is_for_all = std::all_of(found.chosen.begin(), found.chosen.end(), [&](const ResolvedRequest* resolved) {
      return Concerns(config.requests, *resolved);
    });
    if (is_for_all) config.requests.clear();
  }
}

}  // namespace

std::int64_t PriorityScoreOf(const ResolvedClaim& claim, const std::vector<PickedDevice>& picked) {
  std::int64_t score = 0;
  for (const ResolvedClaim::Request& request : claim.requests) {
    if (!request.is_prioritized) continue;
    for (std::size_t i = 0; i < request.alternatives.size(); ++i) {
      const bool is_picked = std::any_of(picked.begin(), picked.end(), [&](const PickedDevice& device) {
        return device.resolved == &request.alternatives[i];
      });
      if (is_picked) score += kAlternativesMax - static_cast<std::int64_t>(i);
    }
  }
  return score;
}

std::string NodeSelectorError(const NodePools& pools, const ResolvedClaim& claim,
                              const std::vector<PickedDevice>& picked, const framework::DeviceRules& rules) {
  for (const PickedDevice& each : picked) {
    const ReachableDevice& device = pools.devices[each.device];
    if (IsTiedToNode(device, rules)) break;
    const auto& selector = NodesOf(device).node_selector;
    if (selector && selector->size() > 1) {
      return "create NodeSelector for claim " + claim.claim->metadata.name +
             ": unsupported ResourceSlice.NodeSelector with " + std::to_string(selector->size()) + " terms";
    }
  }
  return {};
}

api::AllocationResult MakeAllocationResult(const FoundClaim& found, std::string_view node_name, std::uint64_t seed,
                                           const framework::DeviceRules& rules) {
  api::AllocationResult result;
  Random random(seed ^ std::hash<std::string>{}(found.claim.claim->metadata.uid));
  api::NodeSelectorTerm merged;
  bool is_tied = false;
  for (const PickedDevice& picked : found.picked) {
    const ReachableDevice& reachable = found.pools.devices[picked.device];
    const api::ResourceSlice& slice = *reachable.slice->object;
    api::DeviceAllocationResult& device = result.results.emplace_back();
    device.request = picked.resolved->full_name;
    device.driver = slice.driver;
    device.pool = slice.pool_name;
    device.device = reachable.device().name;
    device.admin_access = picked.resolved->request->admin_access;
    device.tolerations = picked.resolved->request->tolerations;
    if (rules.has_binding_conditions) {
      device.binding_conditions = reachable.device().binding_conditions;
      device.binding_failure_conditions = reachable.device().binding_failure_conditions;
    }
    if (picked.is_share) device.share_id = MakeUuid(random);
    device.consumed_capacity = picked.consumed;
    is_tied |= IsTiedToNode(reachable, rules);
    const auto& selector = NodesOf(reachable).node_selector;
    if (selector && selector->size() == 1) {
      AddNew(selector->front().match_fields, merged.match_fields);
      AddNew(selector->front().match_expressions, merged.match_expressions);
    }
  }
  AddConfigs(found, rules.shortens_configurations, result);
  if (is_tied) {
    result.node_selector.emplace({OnlyNode(node_name)});
  } else if (!merged.match_fields.empty() || !merged.match_expressions.empty()) {
    result.node_selector.emplace({std::move(merged)});
  }
  return result;
}

}  // namespace berth::plugins
