// SPDX-License-Identifier: Apache-2.0
// DefaultSelector: which pods belong together with a pod, by the services that select it and by its controller. Default
// constraints spread those. Upstream: plugins/helper.DefaultSelector. Within turns only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"

namespace berth::plugins {

// Finds the services that select a pod. Shared by all pod classes: where many ask between two changes, it looks
// services up by a label of their selectors instead of walking over all.
class ServiceIndex {
 public:
  // This many walks over all services cost less than sorting them.
  static constexpr int kWalksMax = 4;

  // The union of the selectors of all services of the pod's namespace that select the pod.
  api::StringMap LabelsFor(const framework::PodClass& pod_class, const framework::ObjectStore<api::Service>& services);

 private:
  void Sort(const framework::ObjectStore<api::Service>& services);

  std::uint64_t version_ = 0;  // of the store
  int walks_ = 0;              // since it changed; more than kWalksMax: they are sorted
  // The services by "namespace\0label\0value" of their selector's first label, while the store's version stays the
  // same.
  StringHashMap<std::vector<const api::Service*>> by_label_;
  std::string key_;  // scratch
};

// The selector of default constraints for one pod class. It is remembered until an object changes that it can rest on.
class DefaultSelector {
 public:
  // Matches what all services of the pod's namespace that select the pod, and its ReplicationController, ReplicaSet or
  // StatefulSet, select; empty when there is none of them. A change of the answer grows version().
  const api::LabelSelector& Get(const framework::PodClass& pod_class, const framework::Objects& objects,
                                ServiceIndex& services);
  std::uint64_t version() const { return version_; }

 private:
  bool has_answer_ = false;
  std::uint64_t services_version_ = 0;
  std::uint64_t controllers_version_ = 0;  // of the store of the controller's kind
  api::StringMap service_labels_;
  api::LabelSelector selector_;
  std::uint64_t version_ = 0;
};

}  // namespace berth::plugins
