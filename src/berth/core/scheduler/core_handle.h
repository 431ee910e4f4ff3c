// SPDX-License-Identifier: Apache-2.0
// CoreHandle: the core as its plugins see it. It is made before the plugins, and joined by the Scheduler that owns
// them. Decide() may be called from any thread; the rest within turns only.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/framework/handle.h"

namespace berth::scheduler {

class BackgroundOperations;
class BindingCycles;
struct CoreState;

class CoreHandle final : public framework::Handle {
 public:
  // Plugins may start operations and emit events before there is a Scheduler. At most this many of each are kept; the
  // rest is dropped.
  static constexpr std::size_t kEarlyMax = 1024;

  // `decide` must be thread-safe: it turns a plugin's decision into an input of the core. `metrics` must outlive the
  // handle. `read_file` is called while plugins are made; empty: they can read no files.
  explicit CoreHandle(std::function<void(framework::PermitDecision)> decide,
                      framework::Metrics& metrics = framework::Metrics::None(),
                      std::function<Expected<framework::FileText>(const std::string&)> read_file = {});
  ~CoreHandle() override;

  void Decide(framework::PermitDecision decision) override { decide_(std::move(decision)); }
  const framework::Objects& objects() const override { return objects_; }
  framework::Metrics& metrics() const override { return metrics_; }
  const framework::NodeTable* node_table() const override;
  const framework::NominatedRows* nominated_rows() const override;
  framework::PodGroups* pod_groups() const override;
  void Start(framework::Operation operation) override;
  void Emit(framework::PodEvent event) override;
  std::vector<framework::PodInfoPtr> NominatedPods(std::string_view node_name) const override;
  std::string NominatedNode(std::string_view uid) const override;
  framework::PodInfoPtr FindAssignedPod(std::string_view uid) const override;
  void ClearNomination(const framework::PodInfo& pod) override;
  bool CancelBinding(std::string_view uid, std::string_view plugin, std::string_view message) override;
  void Activate(std::string_view uid) override;
  Expected<framework::FileText> ReadFile(const std::string& path) const override {
    return read_file_ ? read_file_(path) : Handle::ReadFile(path);
  }

  // --- For the Scheduler ---

  // What plugins reach through the handle, once there is a Scheduler.
  struct Core {
    CoreState& state;
    BackgroundOperations& background;
    BindingCycles& bindings;
  };
  // One core at a time. The core must live until Leave().
  void Join(const Core& core);
  void Leave() { core_.reset(); }
  // Starts and emits what plugins asked for before Join().
  void StartEarly();
  framework::Objects& mutable_objects() { return objects_; }

 private:
  const std::function<void(framework::PermitDecision)> decide_;
  framework::Metrics& metrics_;
  const std::function<Expected<framework::FileText>(const std::string&)> read_file_;
  framework::Objects objects_;
  std::optional<Core> core_;
  std::vector<framework::Operation> early_operations_;
  std::vector<framework::PodEvent> early_events_;
};

}  // namespace berth::scheduler
