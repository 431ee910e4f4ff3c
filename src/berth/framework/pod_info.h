// SPDX-License-Identifier: Apache-2.0
// PodInfo and PodClass: a pod as the core keeps it. Everything that can influence a decision is in the class, which the
// pods of one ReplicaSet share; the PodInfo holds what differs between them. Both are immutable once made; any thread
// may read them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/framework/resource.h"

namespace berth::framework {

struct HostPort {
  std::string ip;        // "0.0.0.0" when the pod names none
  std::string protocol;  // "TCP" when the pod names none
  std::int32_t port = 0;
  bool operator==(const HostPort&) const = default;
};

struct PodClass {
  std::uint64_t id = 0;  // unique in the process, never reused
  // Equal for classes with the same demands on a single node. They may differ in labels, controller, priority, pod
  // (anti-)affinity and spread constraints, and, without volumes and claims, in the namespace. Never reused; 0: shared
  // with no other class.
  std::uint64_t placement_id = 0;
  std::string namespace_name;
  api::StringMap labels;
  api::StringMap annotations;  // only those that plugins read (AnnotationReader)
  std::optional<api::OwnerReference> controller;
  api::PodSpec spec;  // without node_name and pod_group_name
  // Set only if they change the pod's requests (in-place resize).
  std::vector<api::ContainerStatus> container_statuses;
  std::optional<api::ContainerStatus> pod_resources;
  bool is_resize_infeasible = false;
  // See Release::sums_requests_by_source.
  bool sums_requests_by_source = false;

  // Derived when the class is made (framework/pod_requests.h).
  Resource requests;                   // effective requests: what a node must have free, and what the pod takes of it
  std::int64_t nonzero_cpu_milli = 0;  // with the defaults of resource.h for containers without a request
  std::int64_t nonzero_memory_bytes = 0;
  std::vector<HostPort> host_ports;  // of containers and restartable init containers
  std::size_t bytes = 0;             // approximate size in memory

  std::int32_t priority() const { return spec.priority.value_or(0); }
};

struct PodClaimStatus {
  std::vector<api::PodResourceClaimStatus> resource_claims;
  std::optional<api::PodExtendedResourceClaimStatus> extended_resource_claim;
  bool operator==(const PodClaimStatus&) const = default;
};

struct PodInfo {
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string node_name;            // where it runs or is assumed; empty while pending
  std::string nominated_node_name;  // status.nominatedNodeName
  std::string pod_group_name;       // of the PodGroup in its namespace; empty: none
  std::int64_t generation = 0;
  OptionalTime creation_time;
  OptionalTime start_time;
  OptionalTime deletion_time;
  bool is_terminal = false;   // phase Succeeded or Failed
  bool is_preempted = false;  // condition DisruptionTarget=True, reason PreemptionByScheduler
  std::shared_ptr<const api::PodCondition> scheduled_condition;  // PodScheduled as the API server has it; null: none
  std::shared_ptr<const PodClaimStatus> claim_status;            // null: the status has no claims
  std::shared_ptr<const PodClass> pod_class;

  const api::PodSpec& spec() const { return pod_class->spec; }
  const std::string& namespace_name() const { return pod_class->namespace_name; }
  const api::StringMap& labels() const { return pod_class->labels; }
  std::int32_t priority() const { return pod_class->priority(); }
  // The node on which it runs or is assumed, or for which it is nominated; empty: neither.
  const std::string& node_or_nomination() const { return node_name.empty() ? nominated_node_name : node_name; }
  // "namespace/name"
  std::string Key() const { return pod_class->namespace_name + "/" + name; }
};

using PodInfoPtr = std::shared_ptr<const PodInfo>;

}  // namespace berth::framework
