// SPDX-License-Identifier: Apache-2.0
// Makes PodClass and PodInfo from an API object: the only place that maps the fields. Pure functions; any thread.
#pragma once

#include <memory>

#include "berth/api/pod.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/release.h"

namespace berth::framework {

// The pod's class with all derived fields, but without ids. `annotations` are those that plugins read.
std::shared_ptr<PodClass> MakePodClass(const api::Pod& pod, api::StringMap annotations, const Release& release = {});

// The PodInfo of the object; `pod_class` must be the pod's class.
PodInfoPtr MakePodInfo(const api::Pod& pod, std::shared_ptr<const PodClass> pod_class);

// Reconstructs the object, as far as the core keeps it, so that a changed copy can be evaluated. MakePodInfo() of the
// result gives the same pod of the same class.
api::Pod PodOf(const PodInfo& info);

// Computes PodClass::is_resize_infeasible.
bool IsResizeInfeasible(const api::Pod& pod);

}  // namespace berth::framework
