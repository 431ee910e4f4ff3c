// DefaultSelector: which pods belong together with a pod, by the services that select it and by its controller. Default
// constraints spread those. Upstream: plugins/helper.DefaultSelector. Core's thread only.
#pragma once

#include <cstdint>

#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"

namespace berth::plugins {

// For one pod class; remembers the answer until an object changes that it can rest on.
class DefaultSelector {
 public:
  // Matches what all services of the pod's namespace that select the pod, and its ReplicationController, ReplicaSet or
  // StatefulSet, select; empty when there is none of them. A change of the answer grows version().
  const api::LabelSelector& Get(const framework::PodClass& pod_class, const framework::Objects& objects);
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
