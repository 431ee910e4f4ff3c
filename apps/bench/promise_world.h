// SPDX-License-Identifier: Apache-2.0
// PromiseWorld: a cluster in which ProvisioningRequests are answered: the controller that answers and the core that
// keeps the room are real, the API server is played. It keeps books of its own of what is used and promised on each
// node, and notes every promise that is broken. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/provisioning/controller.h"

namespace berth::bench {

struct PromiseShape {
  int nodes = 5000;
  int existing = 10;  // pods on each node
  int requests = 1000;
  std::uint64_t seed = 1;
};

// What one answer cost, from the request's JSON to the body of the patch that has its conditions.
struct AnswerCost {
  double wall_us = 0;
  double cpu_us = 0;  // of the process
  bool is_promised = false;
};

class PromiseWorld final : public provisioning::ControllerOutside {
 public:
  explicit PromiseWorld(const PromiseShape& shape);

  // A request and its PodTemplates are made. The answer comes with Settle().
  void Create(int request);
  void Delete(int request);
  // The core and the controller do what is to be done, and the API server answers.
  void Settle();
  // The time passes.
  void Pass(Duration time);
  // Pods that name no request, or those of the request, are made and scheduled.
  void AddOthers(int count, const std::string& cpu);
  void AddPods(std::vector<int> requests);
  // They are deleted.
  void RemoveOthers();
  void RemovePods(int request);

  // Forgets the costs so far and begins to count. Returns those since the last call.
  std::vector<AnswerCost> TakeCosts();
  // CPU microseconds of each pod that came for promised room since the last call, from its arrival to its binding.
  std::vector<double> TakePodCosts() { return std::exchange(pod_costs_, {}); }
  // Requests that have room promised now, ascending.
  std::vector<int> Promised() const;
  // Requests without room whose conditions do not say why.
  std::size_t unexplained() const;
  std::uint64_t pods_promised() const { return pods_promised_; }
  std::uint64_t pods_bound() const { return pods_bound_; }
  // One line for each thing that may not happen; at most the first ten.
  const std::vector<std::string>& broken() const { return broken_; }
  std::size_t others_bound() const;

  void Push(scheduler::Input input) override { inputs_.push_back(std::move(input)); }
  void PatchStatus(const provisioning::ProvisioningRequest& request, std::string body) override;
  void RecordEvent(const provisioning::ProvisioningRequest&, bool, std::string, std::string) override {}

 private:
  // What a request is in the books.
  struct Promise {
    codec::json::object object;
    std::vector<std::shared_ptr<const api::Pod>> templates;    // by pod set
    std::vector<std::map<std::string, std::uint64_t>> unused;  // by pod set: node, and how many pods; promised now
    std::map<std::string, std::pair<std::shared_ptr<api::Pod>, int>>
        pods;  // that have come, and their pod set, by name
    bool is_promised = false;
  };
  struct Mark {
    double wall_us = 0;
    double cpu_us = 0;
  };

  static Mark Now();
  void AddNode(int i);
  void Show(int request);
  void Schedule();
  void Take(scheduler::Output& output);
  void Take(const scheduler::BookingReport& report);
  void Bind(const framework::BindWrite& bind);
  void ApplyPatches();
  void Use(const std::string& node_name, std::int64_t cpu_milli);
  void Break(std::string what);

  const PromiseShape shape_;
  Time now_{std::chrono::seconds(1'800'000'000)};
  scheduler::CoreHandle handle_;
  std::unique_ptr<scheduler::Scheduler> core_;
  std::deque<scheduler::Input> inputs_;
  provisioning::Controller controller_;
  std::map<int, Promise> promises_;
  std::map<std::string, std::pair<std::shared_ptr<api::Pod>, bool>> others_;  // whether it is bound, by name
  std::map<std::string, std::int64_t> free_milli_;  // by node: what is neither used nor promised
  std::vector<std::pair<int, std::string>> patches_;
  Mark mark_;
  std::vector<AnswerCost> costs_;
  std::vector<double> pod_costs_;
  std::uint64_t pods_promised_ = 0;  // in all
  std::uint64_t pods_bound_ = 0;     // that came for promised room
  std::uint64_t version_ = 0;
  std::vector<std::string> broken_;
};

// A number of CPUs as it is written in a pod, in thousandths.
std::int64_t CpuMilli(const api::Pod& pod);

}  // namespace berth::bench
