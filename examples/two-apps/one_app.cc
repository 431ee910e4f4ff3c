// SPDX-License-Identifier: Apache-2.0
// OneApp: a node runs the pods of one app, and the pods of an app run on one node as long as it has room. Which app a
// pod is of, its label "app" says; pods without it are nobody's business.
#include <algorithm>

#include <berth/plugin.h>

namespace {

constexpr std::string_view kLabel = "app";

class OneApp final : public berth::FilterPlugin, public berth::ScorePlugin, public berth::EnqueueExtensions {
 public:
  static std::unique_ptr<berth::Plugin> Create(berth::PluginArgs&, berth::Handle&) {
    return std::make_unique<OneApp>();
  }
  std::string_view Name() const override { return "OneApp"; }

  // Both rest on the node and the pods on it alone: they are asked again when one of these changes.
  berth::Dependency FilterDependsOn() const override { return berth::Dependency::kNode; }
  berth::Dependency ScoreDependsOn() const override { return berth::Dependency::kNode; }

  berth::Status Filter(const berth::Cycle&, const berth::PodInfo& pod, const berth::NodeInfo& node) const override {
    const std::string* own = pod.labels().Find(kLabel);
    const bool is_taken = std::any_of(node.pods().begin(), node.pods().end(), [&](const berth::PodInfoPtr& other) {
      const std::string* app = other->labels().Find(kLabel);
      return own != nullptr && app != nullptr && *app != *own;
    });
    return is_taken ? berth::Status::Unschedulable("node(s) run another app") : berth::Status();
  }

  // How many of its own it finds there: the node with most of them gets 100.
  std::int64_t Score(const berth::Cycle&, const berth::PodInfo& pod, berth::NodeIndex, const berth::NodeInfo& node,
                     berth::Status&) const override {
    const std::string* own = pod.labels().Find(kLabel);
    return std::count_if(node.pods().begin(), node.pods().end(), [&](const berth::PodInfoPtr& other) {
      const std::string* app = other->labels().Find(kLabel);
      return own != nullptr && app != nullptr && *app == *own;
    });
  }
  berth::Normalization ScoreNormalization() const override { return berth::Normalization::kMax; }

  // A pod that it refused is tried again when a node comes, or a pod goes.
  std::vector<berth::ClusterEventWithHint> EventsToRegister() const override {
    return {{{berth::EventResource::kNode, berth::action::kAdd}, {}},
            {{berth::EventResource::kAssignedPod, berth::action::kDelete}, {}}};
  }
};

}  // namespace

BERTH_PLUGIN("OneApp", OneApp::Create);
