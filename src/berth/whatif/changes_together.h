// SPDX-License-Identifier: Apache-2.0
// Several changes at once that let a pod fit a node where no single change does. Tried on an overlay; everything is
// taken back. Within turns only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/status.h"

namespace berth::whatif {

// "Insufficient cpu": how NodeResourcesFit tells what a node has too little of.
inline constexpr std::string_view kInsufficientPrefix = "Insufficient ";

// The least number in (no, yes] that `fits` agrees to, where it agrees to `yes` and to all between it and the least.
std::int64_t Least(std::int64_t no, std::int64_t yes, const std::function<bool(std::int64_t)>& fits);

struct ChangedTogether {
  std::vector<std::string> what;  // a line for each field
  api::Pod pod;
  std::shared_ptr<const api::Node> node;
};

// For the node in `row`, which `statuses` refused the pod: labels, no cordon, tolerations, and requests cut to what is
// free. Of these none can be left out, and no request need be cut less. nullopt: the pod would not fit with all of
// them.
std::optional<ChangedTogether> ChangesTogether(scheduler::Overlay& overlay, const api::Pod& pod,
                                               framework::NodeIndex row,
                                               const std::vector<framework::Status>& statuses);

}  // namespace berth::whatif
