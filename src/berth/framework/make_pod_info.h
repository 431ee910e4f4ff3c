// SPDX-License-Identifier: Apache-2.0
// Makes PodClass and PodInfo of an API object: the one place that maps the fields. Pure functions; any thread.
#pragma once

#include <memory>

#include "berth/api/pod.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/release.h"

namespace berth::framework {

// The pod's class with all derived fields, but without ids. `annotations` are those that some plugin reads.
std::shared_ptr<PodClass> MakePodClass(const api::Pod& pod, api::StringMap annotations, const Release& release = {});

// The rest of the object; `pod_class` is the pod's class.
PodInfoPtr MakePodInfo(const api::Pod& pod, std::shared_ptr<const PodClass> pod_class);

// The object again, as far as the core keeps it: to be asked about, with changes. MakePodInfo() of it is the same pod,
// of the same class.
api::Pod PodOf(const PodInfo& info);

// PodClass::is_resize_infeasible.
bool IsResizeInfeasible(const api::Pod& pod);

}  // namespace berth::framework
