// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/node_info.h"

#include <algorithm>

namespace berth::framework {

void NodeInfo::SetNode(std::shared_ptr<const api::Node> node) {
  node_ = std::move(node);
  allocatable_ = Resource::FromList(node_->allocatable);
}

void NodeInfo::ClearNode() {
  node_.reset();
  allocatable_ = {};
}

void NodeInfo::AddPod(PodInfoPtr pod) {
  Account(*pod, +1);
  pods_.push_back(std::move(pod));
}

bool NodeInfo::RemovePod(std::string_view uid) {
  return Erase(std::find_if(pods_.begin(), pods_.end(), [uid](const PodInfoPtr& p) { return p->uid == uid; }))
      .has_value();
}

std::optional<std::size_t> NodeInfo::RemovePod(const PodInfoPtr& pod) {
  return Erase(std::find(pods_.begin(), pods_.end(), pod));
}

std::optional<std::size_t> NodeInfo::Erase(std::vector<PodInfoPtr>::iterator at) {
  if (at == pods_.end()) return std::nullopt;
  Account(**at, -1);
  *at = std::move(pods_.back());
  pods_.pop_back();
  return static_cast<std::size_t>(at - pods_.begin());
}

bool NodeInfo::UpdatePod(PodInfoPtr pod) {
  const auto at = std::find_if(pods_.begin(), pods_.end(), [&](const PodInfoPtr& p) { return p->uid == pod->uid; });
  return Replace(at, std::move(pod)).has_value();
}

std::optional<std::size_t> NodeInfo::UpdatePod(const PodInfoPtr& before, PodInfoPtr pod) {
  return Replace(std::find(pods_.begin(), pods_.end(), before), std::move(pod));
}

std::optional<std::size_t> NodeInfo::Replace(std::vector<PodInfoPtr>::iterator at, PodInfoPtr pod) {
  if (at == pods_.end()) return std::nullopt;
  if ((*at)->pod_class != pod->pod_class) {
    Account(**at, -1);
    Account(*pod, +1);
  }
  *at = std::move(pod);
  return static_cast<std::size_t>(at - pods_.begin());
}

void NodeInfo::Account(const PodInfo& pod, int sign) {
  const PodClass& c = *pod.pod_class;
  if (sign > 0) {
    AddPriority(pod.priority());
    requested_.Add(c.requests);
    nonzero_cpu_milli_ = WrappingAdd(nonzero_cpu_milli_, c.nonzero_cpu_milli);
    nonzero_memory_bytes_ = WrappingAdd(nonzero_memory_bytes_, c.nonzero_memory_bytes);
    for (const HostPort& port : c.host_ports) {
      if (std::find(used_ports_.begin(), used_ports_.end(), port) == used_ports_.end()) used_ports_.push_back(port);
    }
    return;
  }
  RemovePriority(pod);
  requested_.Subtract(c.requests);
  nonzero_cpu_milli_ = WrappingSub(nonzero_cpu_milli_, c.nonzero_cpu_milli);
  nonzero_memory_bytes_ = WrappingSub(nonzero_memory_bytes_, c.nonzero_memory_bytes);
  for (const HostPort& port : c.host_ports) {
    const auto it = std::find(used_ports_.begin(), used_ports_.end(), port);
    if (it != used_ports_.end()) used_ports_.erase(it);
  }
}

void NodeInfo::AddPriority(std::int32_t priority) {
  if (priority > lowest_priority_) return;
  if (priority < lowest_priority_) lowest_priority_count_ = 0;
  lowest_priority_ = priority;
  ++lowest_priority_count_;
}

void NodeInfo::RemovePriority(const PodInfo& pod) {
  if (pod.priority() != lowest_priority_ || --lowest_priority_count_ > 0) return;
  lowest_priority_ = std::numeric_limits<std::int32_t>::max();
  for (const PodInfoPtr& other : pods_) {
    if (other.get() != &pod) AddPriority(other->priority());
  }
}

bool HostPortsConflict(const HostPort& a, const HostPort& b) {
  constexpr std::string_view kAnyIp = "0.0.0.0";
  return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || a.ip == kAnyIp || b.ip == kAnyIp);
}

}  // namespace berth::framework
