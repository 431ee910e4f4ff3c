// SPDX-License-Identifier: Apache-2.0
// PodChoice: which pods are a scheduler's own, beside spec.schedulerName. Pure functions on values.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "berth/api/pod.h"

namespace berth::scheduler {

// How pods named their scheduler before Kubernetes 1.6 had a field for it.
inline constexpr std::string_view kSchedulerNameAnnotation = "scheduler.alpha.kubernetes.io/name";

struct PodChoice {
  // A pod whose spec names no scheduler, or the default one, belongs to the scheduler that its annotation names. API
  // servers of today fill in the default one where a pod names none, so that the two cannot be told apart.
  bool by_annotation = false;
  // Pending pods of other namespaces are left alone; empty: every namespace is served. Pods that are on nodes count
  // wherever they come from.
  std::set<std::string, std::less<>> namespaces;

  // Uids of pods that an earlier failure of ours is laid to: they are not scheduled, and told so.
  std::set<std::string, std::less<>> set_aside{};

  bool Serves(std::string_view namespace_name) const {
    return namespaces.empty() || namespaces.contains(namespace_name);
  }
};

// The scheduler that the pod's annotation names, where that is what counts for it; empty: spec.schedulerName counts.
std::string_view AnnotatedScheduler(const PodChoice& choice, const api::Pod& pod);

}  // namespace berth::scheduler
