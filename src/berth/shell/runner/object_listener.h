// SPDX-License-Identifier: Apache-2.0
// ObjectListener: who wants the nodes and pods that the scheduler's informers bring as well, so that nobody has to
// watch them a second time. A plain value.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "berth/api/node.h"
#include "berth/api/pod.h"

namespace berth::runner {

// All are called on the loop's thread, in the order in which the changes came, before the core gets them. They must be
// short: decisions wait for them.
struct ObjectListener {
  std::function<void(const std::shared_ptr<const api::Node>& node)> on_node;
  std::function<void(std::string_view name)> on_node_gone;
  std::function<void(const std::shared_ptr<const api::Pod>& pod)> on_pod;
  std::function<void(std::string_view namespace_name, std::string_view name, std::string_view uid)> on_pod_gone;
};

}  // namespace berth::runner
