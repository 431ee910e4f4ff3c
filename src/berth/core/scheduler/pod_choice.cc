// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/pod_choice.h"

namespace berth::scheduler {

std::string_view AnnotatedScheduler(const PodChoice& choice, const api::Pod& pod) {
  if (!choice.by_annotation) return {};
  const std::string& named = pod.spec.scheduler_name;
  if (!named.empty() && named != api::kDefaultSchedulerName) return {};
  const std::string* annotation = pod.metadata.annotations.Find(kSchedulerNameAnnotation);
  return annotation == nullptr ? std::string_view() : *annotation;
}

}  // namespace berth::scheduler
