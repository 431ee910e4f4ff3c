// SPDX-License-Identifier: Apache-2.0
// DefaultBinder: binds a pod to its node with the binding subresource.
#pragma once

#include "berth/framework/plugin.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class DefaultBinder final : public framework::BindPlugin {
 public:
  std::string_view Name() const override { return names::kDefaultBinder; }
  framework::Operation Bind(const framework::PodInfo& pod) override;
};

}  // namespace berth::plugins
