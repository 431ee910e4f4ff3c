// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_binder/default_binder.h"

#include <utility>
#include <variant>

#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

class DefaultBinder final : public BindPlugin {
 public:
  std::string_view Name() const override { return names::kDefaultBinder; }
  Operation Bind(const PodInfo& pod) override {
    Operation operation;
    operation.writes.emplace_back(std::in_place_type<framework::BindWrite>,
                                  framework::PodRef{pod.namespace_name(), pod.name, pod.uid, pod.resource_version},
                                  pod.node_name);
    return operation;
  }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateDefaultBinder() { return std::make_unique<DefaultBinder>(); }

}  // namespace berth::plugins
