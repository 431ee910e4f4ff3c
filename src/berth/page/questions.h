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

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/page/fleet.h"
#include "berth/page/pending_view.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {
struct Explanation;
class OfflineCluster;
struct OfflineOptions;
}  // namespace berth::whatif

namespace berth::page {

struct ClusterSource {
  using Pods = std::vector<std::shared_ptr<const api::Pod>>;

  // Reads the whole cluster; blocks, and ends soon when `is_interrupted` returns true. Empty: `fixed` is all there is.
  std::function<Expected<whatif::ClusterState>(const std::function<bool()>& is_interrupted)> read;
  // A snapshot; null: the cluster is a live one.
  std::shared_ptr<const whatif::ClusterState> fixed;
  // The time of day in the cluster; empty: the clock's.
  std::function<Time()> now{};
  // By what pods are decided; `added` are pods that the cluster does not have. The core's time is set by the caller.
  std::function<Expected<whatif::OfflineOptions>(const whatif::ClusterState& state, const Pods& added)> core_for;
  // By what pods are explained, which says where no profile is for a pod's scheduler; empty: as `core_for`.
  std::function<Expected<whatif::OfflineOptions>(const whatif::ClusterState& state)> explaining_core_for{};
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
  Expected<codec::json::object> Simulate(const codec::json::value& body);
  Expected<codec::json::object> CanDrain(const codec::json::value& body);
  Expected<codec::json::object> Headroom(const codec::json::value& body);
  // Reads the cluster anew: what a plan goes by is not in the fleet.
  Expected<codec::json::object> Rebalance(const codec::json::value& body);
  bool CanPlan() const { return source_.read_detailed != nullptr; }

  // Ends a reading of the cluster that is under way, and lets none begin. Any thread.
  void Interrupt() { is_interrupted_ = true; }

  // What could not be read last time. On the thread of the questions.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  class Asked;

  // The cluster of now, without a core on it.
  Expected<std::shared_ptr<const whatif::ClusterState>> StateOfNow(Duration objects_age_max);
  enum class Purpose : std::uint8_t { kExplain, kChange };
  // With the core on it.
  Expected<whatif::OfflineCluster*> ClusterOfNow(Purpose purpose, Duration objects_age_max);
  // The core on `state_`, as it is.
  Expected<whatif::OfflineCluster*> CoreOfState(Purpose purpose);

  const ClusterSource source_;
  const Fleet& fleet_;
  const Clock& clock_;
  std::atomic<bool> is_interrupted_{false};
  std::shared_ptr<const whatif::ClusterState> read_;   // as it was read last
  Time read_at_{};                                     // by Clock::Now()
  std::shared_ptr<const whatif::ClusterState> state_;  // with the fleet's nodes and pods
  std::uint32_t state_revision_ = 0;                   // of the fleet
  std::unique_ptr<whatif::OfflineCluster> cluster_;    // loaded with `state_`; null: not made yet
  Purpose cluster_purpose_ = Purpose::kExplain;        // what `cluster_` has been made for
  std::vector<std::string> left_out_;
};

}  // namespace berth::page
