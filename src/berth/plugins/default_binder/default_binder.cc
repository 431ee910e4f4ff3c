// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_binder/default_binder.h"

namespace berth::plugins {

framework::Operation DefaultBinder::Bind(const framework::PodInfo& pod) {
  return framework::Operation::Write(
      framework::BindWrite{{pod.namespace_name(), pod.name, pod.uid, pod.resource_version}, pod.node_name});
}

}  // namespace berth::plugins
