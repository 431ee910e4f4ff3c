// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/default_selector.h"

#include <algorithm>
#include <utility>

#include "berth/plugins/helper/label_buckets.h"
#include "berth/plugins/helper/label_selector.h"

namespace berth::plugins {
namespace {

using framework::Objects;
using framework::PodClass;

enum class Controller { kNone, kReplicationController, kReplicaSet, kStatefulSet };

Controller ControllerOf(const PodClass& pod_class) {
  if (!pod_class.controller) return Controller::kNone;
  const api::OwnerReference& owner = *pod_class.controller;
  if (owner.api_version == "v1" && owner.kind == "ReplicationController") return Controller::kReplicationController;
  if (owner.api_version == "apps/v1" && owner.kind == "ReplicaSet") return Controller::kReplicaSet;
  if (owner.api_version == "apps/v1" && owner.kind == "StatefulSet") return Controller::kStatefulSet;
  return Controller::kNone;
}

std::uint64_t ControllersVersion(const PodClass& pod_class, const Objects& objects) {
  switch (ControllerOf(pod_class)) {
    case Controller::kReplicationController: return objects.Of<api::ReplicationController>().version();
    case Controller::kReplicaSet: return objects.Of<api::ReplicaSet>().version();
    case Controller::kStatefulSet: return objects.Of<api::StatefulSet>().version();
    case Controller::kNone: break;
  }
  return 0;
}

// Adds the selector of a service that selects the pod. Those of several cannot contradict each other.
void AddIfSelects(const api::Service& service, const PodClass& pod_class, api::StringMap& labels) {
  if (!service.selector || service.metadata.namespace_name != pod_class.namespace_name) return;
  const bool selects = std::all_of(service.selector->begin(), service.selector->end(), [&](const auto& entry) {
    const std::string* value = pod_class.labels.Find(entry.first);
    return value != nullptr && *value == entry.second;
  });
  if (!selects) return;
  for (const auto& [label, value] : *service.selector) labels.Set(label, value);
}

template <typename Kind>
const Kind* FindController(const PodClass& pod_class, const Objects& objects) {
  return objects.Of<Kind>().Find(pod_class.namespace_name, pod_class.controller->name);
}

// A selector that is not valid adds nothing, as one that is absent.
void AddValid(const std::optional<api::LabelSelector>& from, api::LabelSelector& to) {
  if (!from || !LabelSelectorError(*from).empty()) return;
  to.requirements.insert(to.requirements.end(), from->requirements.begin(), from->requirements.end());
}

api::LabelSelector MakeSelector(const PodClass& pod_class, const Objects& objects, api::StringMap labels) {
  const Controller controller = ControllerOf(pod_class);
  if (controller == Controller::kReplicationController) {
    if (const auto* found = FindController<api::ReplicationController>(pod_class, objects)) {
      for (const auto& [label, value] : found->selector) labels.Set(label, value);
    }
  }
  api::LabelSelector selector;
  for (const auto& [label, value] : labels) {
    selector.requirements.push_back({label, api::SelectorOperator::kIn, {value}, {}});
  }
  if (controller == Controller::kReplicaSet) {
    if (const auto* found = FindController<api::ReplicaSet>(pod_class, objects)) AddValid(found->selector, selector);
  }
  if (controller == Controller::kStatefulSet) {
    if (const auto* found = FindController<api::StatefulSet>(pod_class, objects)) AddValid(found->selector, selector);
  }
  return selector;
}

}  // namespace

void ServiceIndex::Sort(const framework::ObjectStore<api::Service>& services) {
  by_label_.clear();
  for (const auto& [name, service] : services) {
    // An empty selector adds nothing.
    if (!service->selector || service->selector->empty()) continue;
    const auto& [label, value] = *service->selector->begin();
    SetBucket(key_, service->metadata.namespace_name, label, value);
    by_label_[key_].push_back(service.get());
  }
}

api::StringMap ServiceIndex::LabelsFor(const PodClass& pod_class,
                                       const framework::ObjectStore<api::Service>& services) {
  if (version_ != services.version()) {
    version_ = services.version();
    walks_ = 0;
    by_label_.clear();
  }
  api::StringMap labels;
  if (walks_ < kWalksMax) {
    ++walks_;
    for (const auto& [name, service] : services) AddIfSelects(*service, pod_class, labels);
    return labels;
  }
  if (walks_ == kWalksMax) {
    ++walks_;
    Sort(services);
  }
  for (const auto& [label, value] : pod_class.labels) {
    SetBucket(key_, pod_class.namespace_name, label, value);
    const auto it = by_label_.find(key_);
    if (it == by_label_.end()) continue;
    for (const api::Service* service : it->second) AddIfSelects(*service, pod_class, labels);
  }
  return labels;
}

const api::LabelSelector& DefaultSelector::Get(const PodClass& pod_class, const Objects& objects,
                                               ServiceIndex& service_index) {
  const std::uint64_t services = objects.Of<api::Service>().version();
  const std::uint64_t controllers = ControllersVersion(pod_class, objects);
  if (has_answer_ && services == services_version_ && controllers == controllers_version_) return selector_;
  // Controllers change with each of their pods; services seldom do.
  if (!has_answer_ || services != services_version_) {
    service_labels_ = service_index.LabelsFor(pod_class, objects.Of<api::Service>());
  }
  services_version_ = services;
  controllers_version_ = controllers;
  api::LabelSelector selector = MakeSelector(pod_class, objects, service_labels_);
  if (!has_answer_ || selector != selector_) {
    selector_ = std::move(selector);
    ++version_;
  }
  has_answer_ = true;
  return selector_;
}

}  // namespace berth::plugins
