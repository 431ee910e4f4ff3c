// SPDX-License-Identifier: Apache-2.0
// Dynamic resource allocation: ResourceSlice, DeviceTaintRule, DeviceClass and ResourceClaim of resource.k8s.io/v1.
// Private to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/resource_claim.h"

namespace berth::api::internal {

// --- Devices ---------------------------------------------------------------------------------------------------------

// A variant: the field that is present determines the attribute's type.
template <>
inline constexpr auto kFields<DeviceAttribute> = Fields{
    Field{"int", 2, Alternative<std::int64_t>{}},
    Field{"bool", 3, Alternative<bool>{}},
    Field{"string", 4, Alternative<std::string>{}},
    Field{"version", 5, Alternative<VersionValue>{}},
    Field{"ints", 6, Alternative<std::vector<std::int64_t>>{}},
    Field{"bools", 7, Alternative<std::vector<bool>>{}},
    Field{"strings", 8, Alternative<std::vector<std::string>>{}},
    Field{"versions", 9, Alternative<std::vector<VersionValue>>{}},
};

template <>
inline constexpr auto kFields<CapacityRequestRange> = Fields{
    Field{"min", 1, &CapacityRequestRange::min},
    Field{"max", 2, &CapacityRequestRange::max},
    Field{"step", 3, &CapacityRequestRange::step},
};
template <>
inline constexpr auto kFields<CapacityRequestPolicy> = Fields{
    Field{"default", 1, &CapacityRequestPolicy::default_value},
    Field{"validValues", 3, &CapacityRequestPolicy::valid_values},
    Field{"validRange", 4, &CapacityRequestPolicy::valid_range},
};
template <>
inline constexpr auto kFields<DeviceCapacity> = Fields{
    Field{"value", 1, &DeviceCapacity::value},
    Field{"requestPolicy", 2, &DeviceCapacity::request_policy},
};

// Stored as its value.
struct Counter;
template <>
inline constexpr auto kFields<Counter> = Fields{Field{"value", 1, Self{}}};
template <>
inline constexpr auto kFields<CounterSet> = Fields{
    Field{"name", 1, &CounterSet::name},
    Field{"counters", 2, MapOf<Counter>(&CounterSet::counters)},
};
// Stored as a CounterSet.
struct DeviceCounterConsumption;
template <>
inline constexpr auto kFields<DeviceCounterConsumption> = Fields{
    Field{"counterSet", 1, &CounterSet::name},
    Field{"counters", 2, MapOf<Counter>(&CounterSet::counters)},
};

template <>
inline constexpr auto kFields<DeviceTaint> = Fields{
    Field{"key", 1, &DeviceTaint::key},
    Field{"value", 2, &DeviceTaint::value},
    Field{"effect", 3, &DeviceTaint::effect},
};
template <>
inline constexpr auto kFields<NodeAllocatableResourceMapping> = Fields{
    Field{"capacityKey", 1, &NodeAllocatableResourceMapping::capacity_key},
    Field{"allocationMultiplier", 2, &NodeAllocatableResourceMapping::allocation_multiplier},
};

template <>
inline constexpr auto kFields<Device> = Fields{
    Field{"name", 1, &Device::name},
    Field{"attributes", 2, &Device::attributes},
    Field{"capacity", 3, &Device::capacity},
    Field{"consumesCounters", 4, ListOf<DeviceCounterConsumption>(&Device::consumes_counters)},
    Field{"nodeName", 5, Via{&Device::nodes, &DeviceNodes::node_name}},
    Field{"nodeSelector", 6, As<NodeSelector>(Via{&Device::nodes, &DeviceNodes::node_selector})},
    Field{"allNodes", 7, Via{&Device::nodes, &DeviceNodes::all_nodes}},
    Field{"taints", 8, &Device::taints},
    Field{"bindsToNode", 9, &Device::binds_to_node},
    Field{"bindingConditions", 10, &Device::binding_conditions},
    Field{"bindingFailureConditions", 11, &Device::binding_failure_conditions},
    Field{"allowMultipleAllocations", 12, &Device::allow_multiple_allocations},
    Field{"nodeAllocatableResourceMappings", 13, &Device::node_allocatable_resource_mappings},
};

template <>
inline constexpr std::string_view kKind<ResourceSlice> = "ResourceSlice";
template <>
inline constexpr auto kFields<ResourceSlice> = Fields{
    Field{"metadata", 1, &ResourceSlice::metadata},
    Field{"spec", 2,
          Fields{
              Field{"driver", 1, &ResourceSlice::driver},
              Field{"pool", 2,
                    Fields{
                        Field{"name", 1, &ResourceSlice::pool_name},
                        Field{"generation", 2, &ResourceSlice::pool_generation},
                        Field{"resourceSliceCount", 3, &ResourceSlice::pool_slice_count},
                    }},
              Field{"nodeName", 3, Via{&ResourceSlice::nodes, &DeviceNodes::node_name}},
              Field{"nodeSelector", 4, As<NodeSelector>(Via{&ResourceSlice::nodes, &DeviceNodes::node_selector})},
              Field{"allNodes", 5, Via{&ResourceSlice::nodes, &DeviceNodes::all_nodes}},
              Field{"devices", 6, &ResourceSlice::devices},
              Field{"perDeviceNodeSelection", 7, &ResourceSlice::per_device_node_selection},
              Field{"sharedCounters", 8, &ResourceSlice::shared_counters},
          }},
};

template <>
inline constexpr auto kFields<DeviceTaintRule::Selector> = Fields{
    Field{"driver", 2, &DeviceTaintRule::Selector::driver},
    Field{"pool", 3, &DeviceTaintRule::Selector::pool},
    Field{"device", 4, &DeviceTaintRule::Selector::device},
};
template <>
inline constexpr std::string_view kKind<DeviceTaintRule> = "DeviceTaintRule";
template <>
inline constexpr auto kFields<DeviceTaintRule> = Fields{
    Field{"metadata", 1, &DeviceTaintRule::metadata},
    Field{"spec", 2,
          Fields{
              Field{"deviceSelector", 1, &DeviceTaintRule::selector},
              Field{"taint", 2, &DeviceTaintRule::taint},
          }},
};

// --- Classes ---------------------------------------------------------------------------------------------------------

// Stored as its CEL expression.
struct DeviceSelector;
template <>
inline constexpr auto kFields<DeviceSelector> = Fields{Field{"cel", 1, Fields{Field{"expression", 1, Self{}}}}};

// Parameters for a driver as JSON, which the scheduler passes on unchanged.
struct OpaqueConfiguration {
  std::string json;
};
inline void SetConfiguration(std::string& out, OpaqueConfiguration&& opaque) {
  out = "{\"opaque\":" + opaque.json + '}';
}

// Stored as the JSON of its DeviceConfiguration.
struct DeviceClassConfiguration;
template <>
inline constexpr auto kBefore<DeviceClassConfiguration> = [](std::string& out) { out = "{}"; };
template <>
inline constexpr auto kFields<DeviceClassConfiguration> =
    Fields{Inlined{1, Fields{Field{"opaque", 1, &SetConfiguration}}}};

template <>
inline constexpr std::string_view kKind<DeviceClass> = "DeviceClass";
template <>
inline constexpr auto kFields<DeviceClass> = Fields{
    Field{"metadata", 1, &DeviceClass::metadata},
    Field{"spec", 2,
          Fields{
              Field{"selectors", 1, ListOf<DeviceSelector>(&DeviceClass::selectors)},
              Field{"config", 2, ListOf<DeviceClassConfiguration>(&DeviceClass::configs)},
              Field{"extendedResourceName", 4, &DeviceClass::extended_resource_name},
          }},
};

// --- Claims ----------------------------------------------------------------------------------------------------------

template <>
inline constexpr auto kFields<DeviceToleration> = Fields{
    Field{"key", 1, &DeviceToleration::key},
    Field{"operator", 2, &DeviceToleration::op},
    Field{"value", 3, &DeviceToleration::value},
    Field{"effect", 4, &DeviceToleration::effect},
    Field{"tolerationSeconds", 5, &DeviceToleration::toleration_seconds},
};

template <>
inline constexpr auto kFields<ExactDeviceRequest> = Fields{
    Field{"deviceClassName", 1, &ExactDeviceRequest::device_class_name},
    Field{"selectors", 2, ListOf<DeviceSelector>(&ExactDeviceRequest::selectors)},
    Field{"allocationMode", 3, &ExactDeviceRequest::allocation_mode},
    Field{"count", 4, &ExactDeviceRequest::count},
    Field{"adminAccess", 5, &ExactDeviceRequest::admin_access},
    Field{"tolerations", 6, &ExactDeviceRequest::tolerations},
    Field{"capacity", 7, Fields{Field{"requests", 1, &ExactDeviceRequest::capacity_requests}}},
};
// Stored as an ExactDeviceRequest.
struct DeviceSubRequest;
template <>
inline constexpr auto kFields<DeviceSubRequest> = Fields{
    Field{"name", 1, &ExactDeviceRequest::name},
    Field{"deviceClassName", 2, &ExactDeviceRequest::device_class_name},
    Field{"selectors", 3, ListOf<DeviceSelector>(&ExactDeviceRequest::selectors)},
    Field{"allocationMode", 4, &ExactDeviceRequest::allocation_mode},
    Field{"count", 5, &ExactDeviceRequest::count},
    Field{"tolerations", 6, &ExactDeviceRequest::tolerations},
    Field{"capacity", 7, Fields{Field{"requests", 1, &ExactDeviceRequest::capacity_requests}}},
};
template <>
inline constexpr auto kFields<DeviceRequest> = Fields{
    Field{"name", 1, &DeviceRequest::name},
    Field{"exactly", 2, &DeviceRequest::exactly},
    Field{"firstAvailable", 3, ListOf<DeviceSubRequest>(&DeviceRequest::first_available)},
};

template <>
inline constexpr auto kFields<DeviceConstraint> = Fields{
    Field{"requests", 1, &DeviceConstraint::requests},
    Field{"matchAttribute", 2, &DeviceConstraint::match_attribute},
    Field{"distinctAttribute", 3, &DeviceConstraint::distinct_attribute},
};

inline void SetClaimConfiguration(DeviceClaimConfiguration& out, OpaqueConfiguration&& opaque) {
  SetConfiguration(out.config, std::move(opaque));
}
inline constexpr auto kWithoutConfiguration = [](DeviceClaimConfiguration& out) { out.config = "{}"; };
template <>
inline constexpr auto kBefore<DeviceClaimConfiguration> = kWithoutConfiguration;
template <>
inline constexpr auto kFields<DeviceClaimConfiguration> = Fields{
    Field{"requests", 1, &DeviceClaimConfiguration::requests},
    Inlined{2, Fields{Field{"opaque", 1, &SetClaimConfiguration}}},
};
// Stored as a DeviceClaimConfiguration.
struct DeviceAllocationConfiguration;
template <>
inline constexpr auto kBefore<DeviceAllocationConfiguration> = kWithoutConfiguration;
template <>
inline constexpr auto kFields<DeviceAllocationConfiguration> = Fields{
    Field{"source", 1, &DeviceClaimConfiguration::source},
    Field{"requests", 2, &DeviceClaimConfiguration::requests},
    Inlined{3, Fields{Field{"opaque", 1, &SetClaimConfiguration}}},
};

template <>
inline constexpr auto kFields<ResourceClaimSpec> =
    Fields{Field{"devices", 1,
                 Fields{
                     Field{"requests", 1, &ResourceClaimSpec::requests},
                     Field{"constraints", 2, &ResourceClaimSpec::constraints},
                     Field{"config", 3, &ResourceClaimSpec::configs},
                 }}};

template <>
inline constexpr auto kFields<DeviceAllocationResult> = Fields{
    Field{"request", 1, &DeviceAllocationResult::request},
    Field{"driver", 2, &DeviceAllocationResult::driver},
    Field{"pool", 3, &DeviceAllocationResult::pool},
    Field{"device", 4, &DeviceAllocationResult::device},
    Field{"adminAccess", 5, &DeviceAllocationResult::admin_access},
    Field{"tolerations", 6, &DeviceAllocationResult::tolerations},
    Field{"bindingConditions", 7, &DeviceAllocationResult::binding_conditions},
    Field{"bindingFailureConditions", 8, &DeviceAllocationResult::binding_failure_conditions},
    Field{"shareID", 9, &DeviceAllocationResult::share_id},
    Field{"consumedCapacity", 10, &DeviceAllocationResult::consumed_capacity},
};
template <>
inline constexpr auto kFields<AllocationResult> = Fields{
    Field{"devices", 1,
          Fields{
              Field{"results", 1, &AllocationResult::results},
              Field{"config", 2, ListOf<DeviceAllocationConfiguration>(&AllocationResult::configs)},
          }},
    Field{"nodeSelector", 3, As<NodeSelector>(&AllocationResult::node_selector)},
    Field{"allocationTimestamp", 5, &AllocationResult::allocation_timestamp},
};

template <>
inline constexpr auto kFields<ClaimConsumer> = Fields{
    Field{"apiGroup", 1, &ClaimConsumer::api_group},
    Field{"resource", 3, &ClaimConsumer::resource},
    Field{"name", 4, &ClaimConsumer::name},
    Field{"uid", 5, &ClaimConsumer::uid},
};

template <>
inline constexpr auto kFields<DeviceCondition> = Fields{
    Field{"type", 1, &DeviceCondition::type},
    Field{"status", 2, &DeviceCondition::status},
    Field{"reason", 5, &DeviceCondition::reason},
    Field{"message", 6, &DeviceCondition::message},
};
template <>
inline constexpr auto kFields<AllocatedDeviceStatus> = Fields{
    Field{"driver", 1, &AllocatedDeviceStatus::driver},    Field{"pool", 2, &AllocatedDeviceStatus::pool},
    Field{"device", 3, &AllocatedDeviceStatus::device},    Field{"conditions", 4, &AllocatedDeviceStatus::conditions},
    Field{"shareID", 7, &AllocatedDeviceStatus::share_id},
};

inline void KeepOwner(ResourceClaim& out, Owner&& owner) { out.owners.push_back(std::move(owner)); }
inline void ForgetOwners(ResourceClaim& out) { out.owners.clear(); }
template <>
inline constexpr std::string_view kKind<ResourceClaim> = "ResourceClaim";
template <>
inline constexpr auto kFields<ResourceClaim> = Fields{
    // The metadata that only writers of claims need.
    Also{Field{"metadata", 1,
               Fields{
                   Field{"ownerReferences", 13, Each{&KeepOwner, &ForgetOwners}},
                   Field{"finalizers", 14, &ResourceClaim::finalizers},
               }}},
    Field{"metadata", 1, &ResourceClaim::metadata},
    Field{"spec", 2, &ResourceClaim::spec},
    Field{"status", 3,
          Fields{
              Field{"allocation", 1, &ResourceClaim::allocation},
              Field{"reservedFor", 2, &ResourceClaim::reserved_for},
              Field{"devices", 4, &ResourceClaim::devices},
          }},
};

}  // namespace berth::api::internal
