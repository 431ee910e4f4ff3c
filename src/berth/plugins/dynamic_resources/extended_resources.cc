// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/extended_resources.h"

#include <algorithm>
#include <optional>
#include <set>

#include "berth/framework/pod_requests.h"

namespace berth::plugins {
namespace {

using api::ContainerExtendedResourceRequest;

constexpr api::Quantity::Nanos kNanosPerUnit = 1'000'000'000;

// A container's amount of a resource in whole units; 0 for fractions.
std::int64_t WholeAmount(const api::Container& container, std::string_view resource) {
  const api::Quantity* amount = api::FindResource(container.requests, resource);
  return amount == nullptr || amount->nanos() % kNanosPerUnit != 0 ? 0 : amount->Value();
}

// The requests of all containers for one resource.
class ResourceRequests {
 public:
  ResourceRequests(const std::vector<const api::Container*>& containers, std::size_t init_count, std::string resource,
                   std::string class_name)
      : containers_(containers),
        init_count_(init_count),
        resource_(std::move(resource)),
        class_name_(std::move(class_name)),
        long_lived_(containers.size()) {}

  void AddTo(ExtendedResourceRequests& out) {
    std::vector<ContainerExtendedResourceRequest> long_lived_mappings;
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      if (!IsShortLived(i)) long_lived_[i] = Make(i, false, long_lived_mappings);
    }
    // Containers that run one after the other share the largest request of them.
    std::vector<ContainerExtendedResourceRequest> short_lived_mappings;
    std::optional<api::DeviceRequest> largest;
    std::set<std::string> short_lived_names;
    for (std::size_t i = 0; i < init_count_; ++i) {
      if (!IsShortLived(i)) continue;
      std::optional<api::DeviceRequest> made = Make(i, true, short_lived_mappings);
      if (!made) continue;
      short_lived_names.insert(made->name);
      if (!largest || largest->exactly->count < made->exactly->count) largest = std::move(made);
    }
    for (ContainerExtendedResourceRequest& mapping : short_lived_mappings) {
      if (short_lived_names.contains(mapping.request_name)) mapping.request_name = largest->name;
    }
    if (largest) out.requests.push_back(std::move(*largest));
    for (std::optional<api::DeviceRequest>& request : long_lived_) {
      if (request) out.requests.push_back(std::move(*request));
    }
    std::move(long_lived_mappings.begin(), long_lived_mappings.end(), std::back_inserter(out.mappings));
    std::move(short_lived_mappings.begin(), short_lived_mappings.end(), std::back_inserter(out.mappings));
  }

 private:
  bool IsShortLived(std::size_t i) const { return i < init_count_ && !containers_[i]->restart_always; }

  // The request of a container, less what it can use again of containers that start later; absent when that is all.
  std::optional<api::DeviceRequest> Make(std::size_t i, bool reuses,
                                         std::vector<ContainerExtendedResourceRequest>& mappings) const {
    const api::Container& container = *containers_[i];
    const std::int64_t wanted = WholeAmount(container, resource_);
    if (wanted == 0) return std::nullopt;
    std::int64_t reused = 0;
    for (std::size_t later = i; reuses && later < long_lived_.size(); ++later) {
      if (!long_lived_[later]) continue;
      reused += long_lived_[later]->exactly->count;
      mappings.push_back({container.name, resource_, long_lived_[later]->name});
      if (reused >= wanted) return std::nullopt;
    }
    // The position among all the container's requests, which are sorted by name.
    const auto at = std::find_if(container.requests.begin(), container.requests.end(),
                                 [this](const auto& request) { return request.first == resource_; });
    api::DeviceRequest request;
    request.name = "container-" + std::to_string(i) + "-request-" + std::to_string(at - container.requests.begin());
    api::ExactDeviceRequest& exactly = request.exactly.emplace();
    exactly.device_class_name = class_name_;
    exactly.allocation_mode = "ExactCount";
    exactly.count = wanted - reused;
    mappings.push_back({container.name, resource_, request.name});
    return request;
  }

  const std::vector<const api::Container*>& containers_;  // init containers first
  std::size_t init_count_;
  std::string resource_;
  std::string class_name_;
  std::vector<std::optional<api::DeviceRequest>> long_lived_;  // by container
};

}  // namespace

std::vector<std::pair<std::string, std::int64_t>> DeviceBackedRequests(const framework::PodInfo& pod,
                                                                       const DeviceClasses& classes) {
  // Nearly all pods end here.
  if (classes.empty() || pod.pod_class->requests.scalars.empty()) return {};
  auto requests = framework::PodRequestsFromSpec(*pod.pod_class).scalars;
  std::erase_if(requests,
                [](const auto& request) { return request.second == 0 || !IsDeviceBackedResourceName(request.first); });
  const bool has_class = std::any_of(requests.begin(), requests.end(),
                                     [&](const auto& request) { return classes.Find(request.first) != nullptr; });
  if (!has_class) requests.clear();
  return requests;
}

std::shared_ptr<api::ResourceClaim> MakeInMemoryClaim(const framework::PodInfo& pod) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.namespace_name = pod.namespace_name();
  claim->metadata.name = kInMemoryClaimName;
  claim->metadata.uid = pod.uid + "/" + std::string(kInMemoryClaimName);
  claim->metadata.annotations = {{"resource.kubernetes.io/extended-resource-claim", "true"}};
  const api::OwnerReference owner{"v1", "Pod", pod.name, pod.uid};
  claim->metadata.controller = owner;
  claim->owners = {owner};
  return claim;
}

ExtendedResourceRequests MakeExtendedResourceRequests(const api::PodSpec& pod,
                                                      const std::vector<std::string>& resources,
                                                      const DeviceClasses& classes) {
  std::vector<const api::Container*> containers;
  for (const api::Container& container : pod.init_containers) containers.push_back(&container);
  for (const api::Container& container : pod.containers) containers.push_back(&container);
  ExtendedResourceRequests out;
  std::vector<std::string> sorted = resources;
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& resource : sorted) {
    const DeviceClasses::Ptr device_class = classes.Find(resource);
    if (device_class == nullptr) continue;
    ResourceRequests(containers, pod.init_containers.size(), resource, device_class->metadata.name).AddTo(out);
  }
  std::stable_sort(out.requests.begin(), out.requests.end(),
                   [](const api::DeviceRequest& a, const api::DeviceRequest& b) { return a.name < b.name; });
  return out;
}

}  // namespace berth::plugins
