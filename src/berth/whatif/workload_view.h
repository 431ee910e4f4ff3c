// SPDX-License-Identifier: Apache-2.0
// WorkloadView: what a pod belongs to (whatif::Workload), without copies of its texts.
#pragma once

#include <string_view>

#include "berth/api/pod.h"

namespace berth::whatif {

struct WorkloadView {
  std::string_view kind;
  std::string_view namespace_name;
  std::string_view name;
};
// Of the pod's own texts: while it is there.
WorkloadView WorkloadViewOf(const api::Pod& pod);

}  // namespace berth::whatif
