// SPDX-License-Identifier: Apache-2.0
// resource.k8s.io/v1, dynamic resource allocation: the fields of ResourceSlice, DeviceTaintRule, DeviceClass and
// ResourceClaim that scheduling reads and writes. Plain values. Names of attributes, capacities and counters are as
// published, sorted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/api/meta.h"
#include "berth/api/selector.h"

namespace berth::api {

struct VersionValue {
  std::string text;
  bool operator==(const VersionValue&) const = default;
};
// std::monostate: an attribute without a known value.
using DeviceAttribute =
    std::variant<std::monostate, std::int64_t, bool, std::string, VersionValue, std::vector<std::int64_t>,
                 std::vector<bool>, std::vector<std::string>, std::vector<VersionValue>>;

struct CapacityRequestRange {
  std::optional<Quantity> min, max, step;
  bool operator==(const CapacityRequestRange&) const = default;
};
struct CapacityRequestPolicy {
  std::optional<Quantity> default_value;
  std::vector<Quantity> valid_values;
  std::optional<CapacityRequestRange> valid_range;
  bool operator==(const CapacityRequestPolicy&) const = default;
};
struct DeviceCapacity {
  Quantity value;
  std::optional<CapacityRequestPolicy> request_policy;
  bool operator==(const DeviceCapacity&) const = default;
};

// Counter name to value.
using Counters = std::vector<std::pair<std::string, Quantity>>;
struct CounterSet {
  std::string name;
  Counters counters;
  bool operator==(const CounterSet&) const = default;
};

struct DeviceTaint {
  std::string key;
  std::string value;
  std::string effect;  // None, NoSchedule, NoExecute
  bool operator==(const DeviceTaint&) const = default;
};

// Where the devices can be used; at most one member is set.
struct DeviceNodes {
  std::optional<std::string> node_name;
  std::optional<std::vector<NodeSelectorTerm>> node_selector;
  bool all_nodes = false;
  bool operator==(const DeviceNodes&) const = default;
};

struct NodeAllocatableResourceMapping {
  std::optional<std::string> capacity_key;
  std::optional<Quantity> allocation_multiplier;
  bool operator==(const NodeAllocatableResourceMapping&) const = default;
};

struct Device {
  std::string name;
  std::vector<std::pair<std::string, DeviceAttribute>> attributes;
  std::vector<std::pair<std::string, DeviceCapacity>> capacity;
  std::vector<CounterSet> consumes_counters;  // by name of the counter set
  DeviceNodes nodes;                          // set with perDeviceNodeSelection
  std::vector<DeviceTaint> taints;
  bool binds_to_node = false;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  bool allow_multiple_allocations = false;
  std::vector<std::pair<std::string, NodeAllocatableResourceMapping>> node_allocatable_resource_mappings;
  bool operator==(const Device&) const = default;
};

struct ResourceSlice {
  ObjectMeta metadata;
  std::string driver;
  std::string pool_name;
  std::int64_t pool_generation = 0;
  std::int64_t pool_slice_count = 0;
  DeviceNodes nodes;
  bool per_device_node_selection = false;
  std::vector<Device> devices;
  std::vector<CounterSet> shared_counters;
  bool operator==(const ResourceSlice&) const = default;
};

// A taint that an administrator gives to devices.
struct DeviceTaintRule {
  // An empty member matches every driver, pool or device.
  struct Selector {
    std::optional<std::string> driver;
    std::optional<std::string> pool;
    std::optional<std::string> device;
    bool operator==(const Selector&) const = default;
  };
  ObjectMeta metadata;
  std::optional<Selector> selector;  // nullopt: selects nothing
  DeviceTaint taint;
  bool operator==(const DeviceTaintRule&) const = default;
};

struct DeviceClass {
  ObjectMeta metadata;
  std::vector<std::string> selectors;  // CEL expressions; a selector without CEL is empty
  std::vector<std::string> configs;    // the JSON of each DeviceConfiguration
  std::optional<std::string> extended_resource_name;
  bool operator==(const DeviceClass&) const = default;
};

struct DeviceToleration {
  std::string key;
  std::string op;  // "", "Equal", "Exists"
  std::string value;
  std::string effect;  // empty: every effect
  std::optional<std::int64_t> toleration_seconds;
  bool operator==(const DeviceToleration&) const = default;
};

// An ExactDeviceRequest, or one of the alternatives of a prioritised request (DeviceSubRequest, which has a name).
struct ExactDeviceRequest {
  std::string name;  // of a subrequest
  std::string device_class_name;
  std::vector<std::string> selectors;  // CEL expressions; a selector without CEL is empty
  std::string allocation_mode;         // ExactCount, All
  std::int64_t count = 0;
  bool admin_access = false;
  std::vector<DeviceToleration> tolerations;
  std::optional<std::vector<std::pair<std::string, Quantity>>> capacity_requests;
  bool operator==(const ExactDeviceRequest&) const = default;
};

struct DeviceRequest {
  std::string name;
  std::optional<ExactDeviceRequest> exactly;
  std::vector<ExactDeviceRequest> first_available;
  bool operator==(const DeviceRequest&) const = default;
};

struct DeviceConstraint {
  std::vector<std::string> requests;  // empty: all requests
  std::optional<std::string> match_attribute;
  std::optional<std::string> distinct_attribute;
  bool operator==(const DeviceConstraint&) const = default;
};

struct DeviceClaimConfiguration {
  std::string source;  // FromClass, FromClaim; empty in a claim's spec
  std::vector<std::string> requests;
  std::string config;  // the JSON of the DeviceConfiguration ({"opaque": {...}})
  bool operator==(const DeviceClaimConfiguration&) const = default;
};

struct ResourceClaimSpec {
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints;
  std::vector<DeviceClaimConfiguration> configs;
  bool operator==(const ResourceClaimSpec&) const = default;
};

struct DeviceAllocationResult {
  std::string request;
  std::string driver;
  std::string pool;
  std::string device;
  bool admin_access = false;
  std::vector<DeviceToleration> tolerations;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  std::optional<std::string> share_id;
  std::vector<std::pair<std::string, Quantity>> consumed_capacity;
  bool operator==(const DeviceAllocationResult&) const = default;
};

struct AllocationResult {
  std::vector<DeviceAllocationResult> results;
  std::vector<DeviceClaimConfiguration> configs;
  std::optional<std::vector<NodeSelectorTerm>> node_selector;  // nullopt: every node
  std::optional<Time> allocation_timestamp;
  bool operator==(const AllocationResult&) const = default;
};

struct ClaimConsumer {
  std::string api_group;
  std::string resource;
  std::string name;
  std::string uid;
  bool operator==(const ClaimConsumer&) const = default;
};

// The parts of an allocated device's condition that binding conditions need.
struct DeviceCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  bool operator==(const DeviceCondition&) const = default;
};
struct AllocatedDeviceStatus {
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<std::string> share_id;
  std::vector<DeviceCondition> conditions;
  bool operator==(const AllocatedDeviceStatus&) const = default;
};

struct ResourceClaim {
  ObjectMeta metadata;
  std::vector<std::string> finalizers;
  std::vector<OwnerReference> owners;
  ResourceClaimSpec spec;
  std::optional<AllocationResult> allocation;
  std::vector<ClaimConsumer> reserved_for;
  std::vector<AllocatedDeviceStatus> devices;
  bool operator==(const ResourceClaim&) const = default;
};

}  // namespace berth::api
