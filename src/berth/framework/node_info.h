// SPDX-License-Identifier: Apache-2.0
// NodeInfo: a node, its pods and the sums of their requests. A value: what-if trials (preemption, nominated pods) work
// on copies. Not thread-safe. Upstream: framework.NodeInfo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/node.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/resource.h"

namespace berth::framework {

class NodeInfo {
 public:
  NodeInfo() = default;
  explicit NodeInfo(std::shared_ptr<const api::Node> node) { SetNode(std::move(node)); }

  // False if pods name the node but its object is unknown; node() and name() must not be called then.
  bool has_node() const { return node_ != nullptr; }
  const api::Node& node() const { return *node_; }
  const std::shared_ptr<const api::Node>& node_ptr() const { return node_; }
  const std::string& name() const { return node_->metadata.name; }

  const std::vector<PodInfoPtr>& pods() const { return pods_; }
  const Resource& requested() const { return requested_; }
  const Resource& allocatable() const { return allocatable_; }
  std::int64_t nonzero_cpu_milli() const { return nonzero_cpu_milli_; }
  std::int64_t nonzero_memory_bytes() const { return nonzero_memory_bytes_; }
  const std::vector<HostPort>& used_ports() const { return used_ports_; }
  // The lowest priority of its pods; the maximum of the type when it has none.
  std::int32_t lowest_priority() const { return lowest_priority_; }

  void SetNode(std::shared_ptr<const api::Node> node);
  void ClearNode();  // keeps the pods
  void AddPod(PodInfoPtr pod);
  // Removes the pod with this uid; as upstream, the last pod takes its place. Returns false when it is not on the node.
  bool RemovePod(std::string_view uid);
  // The same, by address. Returns its former index in pods(); nullopt when it is not on the node.
  std::optional<std::size_t> RemovePod(const PodInfoPtr& pod);
  // Replaces the pod with this uid in place.
  bool UpdatePod(PodInfoPtr pod);
  // The same, by the address of `before`.
  std::optional<std::size_t> UpdatePod(const PodInfoPtr& before, PodInfoPtr pod);

 private:
  void Account(const PodInfo& pod, int sign);
  void AddPriority(std::int32_t priority);
  void RemovePriority(const PodInfo& pod);  // the pod is still in pods_
  std::optional<std::size_t> Erase(std::vector<PodInfoPtr>::iterator at);
  std::optional<std::size_t> Replace(std::vector<PodInfoPtr>::iterator at, PodInfoPtr pod);

  std::shared_ptr<const api::Node> node_;
  std::vector<PodInfoPtr> pods_;
  Resource requested_;
  Resource allocatable_;
  std::int64_t nonzero_cpu_milli_ = 0;
  std::int64_t nonzero_memory_bytes_ = 0;
  // A set, as upstream's: if two pods have the same port on an overcommitted node, the first one to leave frees it.
  std::vector<HostPort> used_ports_;
  std::int32_t lowest_priority_ = std::numeric_limits<std::int32_t>::max();
  std::uint32_t lowest_priority_count_ = 0;  // number of pods with that priority
};

// Whether two host ports conflict on a node: same protocol and port, and equal IPs or one of them 0.0.0.0.
bool HostPortsConflict(const HostPort& a, const HostPort& b);

}  // namespace berth::framework
