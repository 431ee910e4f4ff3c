// SPDX-License-Identifier: Apache-2.0
// FakeHandle: stands for the scheduler of a plugin under test. The test adds objects, and reads what the plugin has
// requested.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/testing/fake_metrics.h"

namespace berth::testing {

class FakeHandle final : public framework::Handle {
 public:
  void Decide(framework::PermitDecision decision) override { decisions.push_back(std::move(decision)); }
  const framework::Objects& objects() const override { return store; }
  framework::Metrics& metrics() const override { return *counted; }
  const framework::NodeTable* node_table() const override { return table; }
  const framework::NominatedRows* nominated_rows() const override { return nominations; }
  framework::PodGroups* pod_groups() const override { return groups; }
  void Start(framework::Operation operation) override { started.push_back(std::move(operation)); }
  void Emit(framework::PodEvent event) override { events.push_back(std::move(event)); }
  std::vector<framework::PodInfoPtr> NominatedPods(std::string_view node_name) const override {
    const auto it = nominated.find(node_name);
    return it == nominated.end() ? std::vector<framework::PodInfoPtr>() : it->second;
  }
  std::string NominatedNode(std::string_view uid) const override {
    for (const auto& [node, pods] : nominated) {
      for (const framework::PodInfoPtr& pod : pods) {
        if (pod->uid == uid) return node;
      }
    }
    return {};
  }
  framework::PodInfoPtr FindAssignedPod(std::string_view uid) const override {
    const auto it = assigned.find(uid);
    return it == assigned.end() ? nullptr : it->second;
  }
  void ClearNomination(const framework::PodInfo& pod) override {
    cleared.push_back(pod.uid);
    for (auto& [node, pods] : nominated) std::erase_if(pods, [&](const auto& other) { return other->uid == pod.uid; });
  }
  bool CancelBinding(std::string_view uid, std::string_view, std::string_view) override {
    cancelled.emplace_back(uid);
    return is_binding_cancellable;
  }
  void Activate(std::string_view uid) override { activated.emplace_back(uid); }
  Expected<framework::FileText> ReadFile(const std::string& path) const override {
    const auto it = files.find(path);
    if (it == files.end()) return Error{ErrorCode::kNotFound, path + ": no such file or directory"};
    return framework::FileText{path, it->second};
  }

  framework::Objects store;
  const framework::NodeTable* table = nullptr;
  const framework::NominatedRows* nominations = nullptr;
  framework::PodGroups* groups = nullptr;
  std::map<std::string, std::vector<framework::PodInfoPtr>, std::less<>> nominated;  // by node
  std::map<std::string, framework::PodInfoPtr, std::less<>> assigned;                // by uid
  bool is_binding_cancellable = false;
  std::map<std::string, std::string> files;

  std::shared_ptr<FakeMetrics> counted = std::make_shared<FakeMetrics>();
  std::vector<framework::PermitDecision> decisions;
  std::vector<framework::Operation> started;
  std::vector<framework::PodEvent> events;
  std::vector<std::string> cleared, cancelled, activated;  // uids
};

}  // namespace berth::testing
