// PodClass and PodInfo of an API object: the one place that says which field goes where. Pure functions, thread-safe.
#pragma once

#include <memory>

#include "berth/api/pod.h"
#include "berth/framework/pod_info.h"

namespace berth::framework {

// The class that the pod is of, with what is derived; `annotations` are those that some plugin reads. It has no ids
// yet.
std::shared_ptr<PodClass> MakePodClass(const api::Pod& pod, api::StringMap annotations);

// What the object says of the pod itself. `pod_class` is the pod's.
PodInfoPtr MakePodInfo(const api::Pod& pod, std::shared_ptr<const PodClass> pod_class);

// PodClass::is_resize_infeasible.
bool IsResizeInfeasible(const api::Pod& pod);

}  // namespace berth::framework
