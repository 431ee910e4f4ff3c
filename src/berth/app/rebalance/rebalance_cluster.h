// SPDX-License-Identifier: Apache-2.0
// RebalanceCluster: the cluster as the controller of `berth rebalance run` has it. Reads all of it for each round,
// evicts through the Eviction API, keeps the ledger in a ConfigMap, and tells of evictions in the log, as events and as
// metrics. One thread, which is not the loop's.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "berth/app/rebalance/answer_wait.h"
#include "berth/app/rebalance/rebalance_metrics.h"
#include "berth/rebalance/controller.h"
#include "berth/rebalance/controller_metrics.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/event_recorder.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::app {

struct RebalanceClusterOptions {
  rebalance::Policy policy;
  whatif::OfflineOptions core;  // by which moves are proved
  // What takes its place once the cluster's version is known ("v1.37.2"), and when it changes. Empty: `core` holds.
  std::function<Expected<whatif::OfflineOptions>(std::string_view server_version)> core_for = {};
  std::string namespace_name;  // of the ConfigMap
  std::string name;
  std::string hostname;
  std::function<bool()> is_ending;
  bool writes_events = false;  // of why nothing moves, too
  // Keeps a place for the replacement before the pod is evicted, and gives it back if it was not; false: there is none
  // to be had. Empty: the pods are another scheduler's, which sends replacements where it likes.
  std::function<bool(const rebalance::PlannedMove& move)> reserve = {};
  std::function<void(const std::string& uid)> cancel = {};
};

class RebalanceCluster final : public rebalance::ControllerOutside {
 public:
  // Of its events.
  static constexpr char kComponent[] = "berth-rebalancer";

  // The clients of the API server, with the loop that their callbacks come on.
  struct Server {
    client::RestClient& rest;
    client::RestClient& events;
    net::IoContext& io;
    std::string name;  // its address
  };

  // All three, and what `server` refers to, must outlive it.
  RebalanceCluster(Server server, const Clock& clock, framework::Metrics& metrics, RebalanceClusterOptions options);

  Expected<whatif::ClusterState> Read() override;
  Expected<rebalance::Measurements> Measure(Time now) override;
  Expected<rebalance::RebalancePlan> Plan(const whatif::ClusterState& state,
                                          const rebalance::PlanOptions& options) override;
  Expected<std::string> LoadLedger() override;
  Expected<void> SaveLedger(const std::string& text) override;
  Expected<void> Evict(const rebalance::PlannedMove& move) override;
  Expected<void> MarkNode(const api::Node& node, const rebalance::NodeMark& mark) override;
  bool IsEnding() override { return options_.is_ending(); }
  void OnEvicted(const rebalance::PlannedMove& move) override;
  void OnNotEvicted(const rebalance::PlannedMove& move, const Error& error) override;
  void OnChange(const rebalance::MoveChange& change) override;

  // A round is over, or `moves` would be made without --execute.
  void OnRound(const rebalance::RoundReport& report, Duration took);
  // An eviction that was not waited for any longer may still take effect. Once no round is under way.
  bool HasOpenEviction() const { return has_open_eviction_; }
  // Sends the events that wait.
  void Flush(Duration timeout) { events_.Flush(timeout); }

 private:
  void ReportWaiting(const rebalance::Hold& wait);
  Expected<void> EvictNow(const rebalance::PlannedMove& move);
  Expected<net::Response> SendLedger(const char* method, std::string target, codec::json::object metadata,
                                     const std::string& text);
  Expected<void> KeepVersion(const net::Response& response, std::string* text);

  const Server server_;
  const Clock& clock_;
  const RebalanceClusterOptions options_;
  whatif::OfflineOptions core_;
  std::string core_version_;  // of the API server, that core_ is for; empty: it is not known
  client::ApiWriter writer_;
  client::EventRecorder events_;
  rebalance::ControllerMetrics metrics_;
  AnswerWait answers_;
  RebalanceMetrics sources_;
  bool has_open_eviction_ = false;
  std::string waits_for_;  // the cause of the last round; empty: none
  std::string version_;    // resourceVersion of the ConfigMap as it was read or written last; empty: there is none
};

}  // namespace berth::app
