// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_binder/default_binder.h"

#include <utility>
#include <variant>

namespace berth::plugins {

framework::Operation DefaultBinder::Bind(const framework::PodInfo& pod) {
  framework::Operation operation;
  operation.writes.emplace_back(std::in_place_type<framework::BindWrite>,
                                framework::PodRef{pod.namespace_name(), pod.name, pod.uid, pod.resource_version},
                                pod.node_name);
  return operation;
}

}  // namespace berth::plugins
