// SPDX-License-Identifier: Apache-2.0
// PodChoice: which pods belong to this scheduler, beside spec.schedulerName. Pure functions on values.
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
  // Whether a pod whose spec names no scheduler, or the default one, belongs to the scheduler named by its annotation.
  // The two cannot be distinguished, because the API server fills in the default name.
  bool by_annotation = false;
  // Pending pods of other namespaces are ignored; empty: all namespaces are served. Pods on nodes count whatever their
  // namespace.
  std::set<std::string, std::less<>> namespaces;

  // Uids of pods that were being decided when an earlier process failed a check. They are not scheduled, and their
  // condition says so.
  std::set<std::string, std::less<>> set_aside{};

  bool Serves(std::string_view namespace_name) const {
    return namespaces.empty() || namespaces.contains(namespace_name);
  }
};

// The scheduler named by the pod's annotation, if the annotation applies; empty: spec.schedulerName applies.
std::string_view AnnotatedScheduler(const PodChoice& choice, const api::Pod& pod);

}  // namespace berth::scheduler
