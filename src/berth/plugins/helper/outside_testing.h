// SPDX-License-Identifier: Apache-2.0
// What the tests of policies that decide by data from outside share. Tests only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/core/config/default.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_table.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/fake_metrics.h"

namespace berth::plugins {

// A handle with a node table, and metrics that can be read.
class MeteredHandle final : public framework::Handle {
 public:
  void Decide(framework::PermitDecision) override {}
  const framework::Objects& objects() const override { return fake_.objects(); }
  const framework::NodeTable* node_table() const override { return table; }
  framework::Metrics& metrics() const override { return *metrics_; }
  void Start(framework::Operation) override {}
  void Emit(framework::PodEvent) override {}
  std::vector<framework::PodInfoPtr> NominatedPods(std::string_view) const override { return {}; }
  std::string NominatedNode(std::string_view) const override { return {}; }
  framework::PodInfoPtr FindAssignedPod(std::string_view) const override { return nullptr; }
  void ClearNomination(const framework::PodInfo&) override {}
  bool CancelBinding(std::string_view, std::string_view, std::string_view) override { return false; }
  void Activate(std::string_view) override {}

  double Value(const std::string& key) const { return metrics_->Value(key); }

  const framework::NodeTable* table = nullptr;

 private:
  testing::FakeHandle fake_;
  const std::unique_ptr<testing::FakeMetrics> metrics_ = std::make_unique<testing::FakeMetrics>();
};

// The default profile with one more plugin.
inline scheduler::Profiles ProfilesWith(std::string_view plugin, std::int64_t weight, std::string args) {
  scheduler::Profiles profiles;
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  config::Profile& profile = configuration.profiles.front();
  profile.plugins.multi_point.enabled.push_back({std::string(plugin), weight});
  profile.plugin_config.push_back({std::string(plugin), config::RawArgs{std::move(args)}});
  auto made = runtime::MakeProfiles(configuration, InTreePlugins(), *profiles.handle);
  BERTH_CHECK(made.ok(), made.error().message);
  static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = std::move(*made);
  return profiles;
}

}  // namespace berth::plugins
