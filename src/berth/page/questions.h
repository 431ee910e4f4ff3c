// SPDX-License-Identifier: Apache-2.0
// Questions: answers that take a core on a copy of the cluster in memory: `berth explain`, `simulate`, `can-drain` and
// `headroom` as the page asks them, the last three by the questions of berth serve (ask/questions.h). Nodes and pods of
// the copy are the Fleet's, of this moment; all other objects are as they were read last. It blocks, so it has a thread
// of its own: all calls on one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/ask/asked_cluster.h"
#include "berth/ask/reply.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/page/fleet.h"
#include "berth/page/pending_view.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {
struct Explanation;
}  // namespace berth::whatif

namespace berth::page {

struct ClusterSource {
  // Reads the whole cluster; blocks, and ends soon when `is_interrupted` returns true. Empty: `fixed` is all there is.
  std::function<Expected<whatif::ClusterState>(const std::function<bool()>& is_interrupted)> read;
  // A snapshot; null: the cluster is a live one.
  std::shared_ptr<const whatif::ClusterState> fixed;
  // The time of day in the cluster; empty: the clock's.
  std::function<Time()> now{};
  // By what pods are decided.
  ask::CoreFor core_for;
  // As `read`, with details of pods (ClusterState::pod_details), by which a plan decides; empty: none can be planned.
  std::function<Expected<whatif::ClusterState>(const std::function<bool()>& is_interrupted)> read_detailed{};
};

class Questions {
 public:
  // Bytes of manifests in one question.
  static constexpr std::size_t kManifestBytesMax = std::size_t{5} << 20;
  static constexpr std::size_t kPolicyBytesMax = std::size_t{1} << 20;
  static constexpr std::size_t kLossesMax = 10;
  // What is neither node nor pod is read again when it is older: for somebody's question, and for the page's own.
  static constexpr Duration kObjectsAgeMax = std::chrono::seconds(10);
  static constexpr Duration kPendingObjectsAgeMax = std::chrono::minutes(1);

  // `fleet` and `clock` must outlive it.
  Questions(ClusterSource source, const Fleet& fleet, const Clock& clock);
  ~Questions();

  Expected<whatif::Explanation> Explain(const std::string& namespace_name, const std::string& name);
  Expected<PendingView> Pending();
  // The bodies are those of the contract's POST paths. kInvalid: what is wrong with the question, for its author.
  Expected<codec::json::object> Simulate(codec::json::value body);
  Expected<codec::json::object> CanDrain(codec::json::value body);
  Expected<codec::json::object> Headroom(codec::json::value body);
  // Reads the cluster anew: what a plan goes by is not in the fleet.
  Expected<codec::json::object> Rebalance(codec::json::value body);
  bool CanPlan() const { return source_.read_detailed != nullptr; }

  // Ends a reading of the cluster that is under way, and lets none begin. Any thread.
  void Interrupt() { is_interrupted_ = true; }

  // What could not be read last time. On the thread of the questions.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  using Answerer = std::function<Expected<ask::Reply>(const codec::json::object& asked, ask::AskedCluster& cluster)>;

  // Answers a question that leaves the core as it was: on that of the state, or by the question's own configuration.
  Expected<codec::json::object> Measure(codec::json::value body, const Answerer& answer);
  // Makes `state_` the cluster of now.
  Expected<void> StateOfNow(Duration objects_age_max);
  void SetState(std::shared_ptr<const whatif::ClusterState> state);
  // With the core on it, by which a pod of a scheduler that has no profile is explained as such.
  Expected<whatif::OfflineCluster*> ClusterOfNow(Duration objects_age_max);

  const ClusterSource source_;
  const Fleet& fleet_;
  const Clock& clock_;
  std::atomic<bool> is_interrupted_{false};
  std::shared_ptr<const whatif::ClusterState> read_;   // as it was read last
  Time read_at_{};                                     // by Clock::Now()
  std::shared_ptr<const whatif::ClusterState> state_;  // with the fleet's nodes and pods
  std::uint32_t state_revision_ = 0;                   // of the fleet
  std::unique_ptr<ask::OnceCluster> asked_;            // on `state_`
  std::vector<std::string> left_out_;
};

}  // namespace berth::page
