// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: objects as an API server would tell of them, by another scheduler's hand.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "berth/core/scheduler/io.h"
#include "berth/testing/builders.h"

namespace berth::shadow {

inline scheduler::Input SetOf(const testing::PodBuilder& pod) {
  return scheduler::PodSet{std::make_shared<const api::Pod>(pod.Build())};
}
inline scheduler::Input SetOf(const testing::NodeBuilder& node) { return scheduler::NodeSet{node.Build()}; }
inline scheduler::Input Gone(const testing::PodBuilder& pod) {
  const api::ObjectMeta& meta = pod.Build().metadata;
  return scheduler::PodGone{meta.namespace_name, meta.name, meta.uid};
}
inline testing::PodBuilder Bound(testing::PodBuilder pod, std::string node) { return pod.Node(std::move(node)); }
inline testing::PodBuilder Refused(testing::PodBuilder pod, std::string message, std::string reason = "Unschedulable") {
  return pod.Condition({"PodScheduled", "False", std::move(reason), std::move(message)});
}

}  // namespace berth::shadow
