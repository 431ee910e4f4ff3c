// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/device_taints.h"

#include <algorithm>

namespace berth::plugins {
namespace {

bool Tolerates(const api::DeviceToleration& toleration, const api::DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op.empty() || toleration.op == "Equal") return toleration.value == taint.value;
  return toleration.op == "Exists";
}

}  // namespace

bool HasUntoleratedTaint(const api::Device& device, const api::ExactDeviceRequest& request) {
  return std::any_of(device.taints.begin(), device.taints.end(), [&](const api::DeviceTaint& taint) {
    return (taint.effect == "NoSchedule" || taint.effect == "NoExecute") &&
           std::none_of(request.tolerations.begin(), request.tolerations.end(),
                        [&](const api::DeviceToleration& toleration) { return Tolerates(toleration, taint); });
  });
}

}  // namespace berth::plugins
