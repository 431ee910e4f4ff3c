// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance/rebalance_cluster.h"

#include <future>
#include <memory>
#include <utility>

#include "berth/answers/plan_answer.h"
#include "berth/base/log.h"
#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/whatif/cluster_reader.h"

namespace berth::app {
namespace {

using codec::json::object;
using rebalance::MoveChange;
using rebalance::PlannedMove;

constexpr char kLedgerKey[] = "moves";
constexpr char kConfigMaps[] = "configmaps";

// "node-3", "node-3 or node-4, which is as good".
std::string WhereTo(const PlannedMove& move) {
  if (move.to.empty()) return "nowhere";
  const std::size_t ties = move.ties.size();
  if (ties == 0) return move.to;
  if (ties == 1) return move.to + " or " + move.ties.front() + ", which is as good";
  return move.to + " or another node that is as good";
}

client::ObjectReference ReferenceTo(const api::Pod& pod) {
  return {"v1", "Pod", pod.metadata.namespace_name, pod.metadata.name, pod.metadata.uid, {}};
}

// Whether the answer is a node that is cordoned.
bool IsCordoned(const net::Response& response) {
  codec::JsonReader reader({.bytes_max = std::size_t{3} << 20});
  const auto document = reader.Parse(response.body);
  if (!document.ok()) return false;
  const auto spec = codec::FindMember(*document, "spec");
  return spec && codec::FindBool(*spec, "unschedulable").value_or(false);
}

client::EventRecorderOptions RecorderOptions(const std::string& hostname) {
  client::EventRecorderOptions options;
  options.hostname = hostname;
  return options;
}

void LogMove(std::string_view message, const PlannedMove& move) {
  log::Info("rebalance", message,
            {{"pod", move.key},
             {"uid", move.uid},
             {"owner", move.owner},
             {"from", move.from},
             {"to", WhereTo(move)},
             {"strategy", move.strategy},
             {"why", move.reason},
             {"gain", answers::GainText(move)}});
}

}  // namespace

RebalanceCluster::RebalanceCluster(Server server, const Clock& clock, framework::Metrics& metrics,
                                   RebalanceClusterOptions options)
    : server_(std::move(server)),
      clock_(clock),
      options_(std::move(options)),
      core_(options_.core),
      writer_(server_.rest),
      events_(server_.events, RecorderOptions(options_.hostname)),
      metrics_(metrics),
      answers_(clock_, options_.is_ending),
      sources_(server_.rest, server_.io, answers_, options_.policy.prometheus) {}

Expected<whatif::ClusterState> RebalanceCluster::Read() {
  whatif::ClusterReadOptions how;
  how.source = server_.name;
  how.keeps_pod_details = true;
  how.is_interrupted = options_.is_ending;
  return whatif::ReadCluster(server_.rest, clock_, how);
}

Expected<rebalance::Measurements> RebalanceCluster::Measure(Time now) {
  return rebalance::ReadMeasurements(options_.policy, sources_, now);
}

Expected<rebalance::RebalancePlan> RebalanceCluster::Plan(const whatif::ClusterState& state,
                                                          const rebalance::PlanOptions& options) {
  if (options_.core_for && state.kubernetes_version != core_version_) {
    BERTH_ASSIGN_OR_RETURN(core_, options_.core_for(state.kubernetes_version));
    core_version_ = state.kubernetes_version;
  }
  whatif::OfflineOptions core = core_;
  core.now = options.now;
  BERTH_ASSIGN_OR_RETURN(const auto cluster, whatif::OfflineCluster::Make(std::move(core)));
  cluster->Load(state);
  rebalance::PlanOptions how = options;
  how.chooses_target = options_.reserve != nullptr;
  return rebalance::PlanRebalance(*cluster, state, options_.policy, how);
}

Expected<std::string> RebalanceCluster::LoadLedger() {
  net::Request request;
  request.target = client::ObjectPath("/api/v1", options_.namespace_name, kConfigMaps, options_.name);
  const auto response = answers_.Do(server_.rest, std::move(request));
  if (!response.ok() && response.error().code == ErrorCode::kNotFound) {
    version_.clear();
    return std::string();
  }
  if (!response.ok()) return response.error();
  std::string text;
  BERTH_RETURN_IF_ERROR(KeepVersion(*response, &text));
  return text;
}

Expected<void> RebalanceCluster::SaveLedger(const std::string& text) {
  const std::string whole = client::ObjectPath("/api/v1", options_.namespace_name, kConfigMaps);
  const bool is_new = version_.empty();
  object metadata{{"name", options_.name}, {"namespace", options_.namespace_name}};
  if (!is_new) metadata["resourceVersion"] = version_;
  const auto response =
      SendLedger(is_new ? "POST" : "PATCH", is_new ? whole : whole + "/" + options_.name, std::move(metadata), text);
  if (!response.ok()) return response.error();
  return KeepVersion(*response, nullptr);
}

// A patch leaves alone what others have put there: labels of an installer.
Expected<net::Response> RebalanceCluster::SendLedger(const char* method, std::string target, object metadata,
                                                     const std::string& text) {
  net::Request request;
  request.method = method;
  request.target = std::move(target);
  const bool is_patch = request.method == "PATCH";
  request.headers.push_back({"Content-Type", is_patch ? "application/merge-patch+json" : "application/json"});
  request.body = codec::WriteJson(object{{"apiVersion", "v1"},
                                         {"kind", "ConfigMap"},
                                         {"metadata", std::move(metadata)},
                                         {"data", object{{kLedgerKey, text}}}});
  return answers_.Do(server_.rest, std::move(request));
}

Expected<void> RebalanceCluster::KeepVersion(const net::Response& response, std::string* text) {
  codec::JsonReader reader({.bytes_max = std::size_t{3} << 20});
  BERTH_ASSIGN_OR_RETURN(const auto document, reader.Parse(response.body));
  const auto find = [&document](std::string_view part, std::string_view key) {
    const auto member = codec::FindMember(document, part);
    return member ? std::string(codec::StringOrEmpty(*member, key)) : std::string();
  };
  version_ = find("metadata", "resourceVersion");
  if (version_.empty()) return Error{ErrorCode::kInternal, "the answer is no ConfigMap: it has no resourceVersion"};
  if (text != nullptr) *text = find("data", kLedgerKey);
  return {};
}

Expected<void> RebalanceCluster::Evict(const PlannedMove& move) {
  const bool reserves = options_.reserve != nullptr && !move.to.empty();
  if (reserves && !options_.reserve(move))
    return Error{ErrorCode::kTooLarge, "no place on " + move.to + " can be kept for its replacement"};
  const auto evicted = EvictNow(move);
  if (reserves && !evicted.ok() && !evicted.error().outcome_unknown) options_.cancel(move.uid);
  return evicted;
}

Expected<void> RebalanceCluster::EvictNow(const PlannedMove& move) {
  const auto promise = std::make_shared<std::promise<Expected<void>>>();
  const api::ObjectMeta& pod = move.pod->metadata;
  writer_.EvictPod({pod.namespace_name, pod.name, pod.uid}, options_.policy.grace_period_seconds,
                   [promise](Expected<void> done) { promise->set_value(std::move(done)); });
  auto evicted = promise->get_future();
  if (!answers_.Await(evicted)) {
    has_open_eviction_ = true;
    return AnswerWait::BrokenOff();
  }
  return evicted.get();
}

// By server-side apply, which removes only what nobody else owns: if somebody has uncordoned and cordoned the node
// between two reads, their cordon stays when berth's mark goes. The resourceVersion is a precondition: the node is
// still the one that was read. The uid is one, too: without it, an apply would create a node that is gone.
Expected<void> RebalanceCluster::MarkNode(const api::Node& node, const rebalance::NodeMark& mark) {
  const std::string& name = node.metadata.name;
  object metadata{{"name", name}, {"uid", node.metadata.uid}, {"resourceVersion", node.metadata.resource_version}};
  if (!mark.consolidating.empty())
    metadata["annotations"] = object{{rebalance::kConsolidatingAnnotation, mark.consolidating}};
  object wanted{{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", std::move(metadata)}};
  if (mark.is_cordoned) wanted["spec"] = object{{"unschedulable", true}};
  net::Request request;
  request.method = "PATCH";
  // Forced: berth has read this version, so nothing is overwritten that it does not know.
  request.target = client::WithQuery(client::ObjectPath("/api/v1", "", "nodes", name),
                                     {{"fieldManager", kComponent}, {"force", "true"}});
  request.headers.push_back({"Content-Type", "application/apply-patch+yaml"});
  request.body = codec::WriteJson(wanted);
  const auto response = answers_.Do(server_.rest, std::move(request));
  if (!response.ok()) {
    log::Warning("rebalance", "A node could not be marked", {{"node", name}, {"error", response.error().message}});
    return response.error();
  }
  if (mark.is_cordoned) {
    log::Info("rebalance", "Cordoned, to be emptied", {{"node", name}});
  } else if (!mark.consolidating.empty()) {
    log::Info("rebalance", "Somebody else has uncordoned it: it is not emptied for a while",
              {{"node", name}, {"emptied", mark.consolidating}});
  } else if (IsCordoned(*response)) {
    log::Info("rebalance", "It is not emptied any more, and stays cordoned: somebody else has cordoned it, too",
              {{"node", name}});
  } else {
    log::Info("rebalance", "Uncordoned: it is not emptied any more", {{"node", name}});
  }
  return {};
}

// On the pod, and on its owner, which outlives it.
void RebalanceCluster::OnEvicted(const PlannedMove& move) {
  LogMove("Evicted", move);
  metrics_.OnEviction(move.strategy, "evicted");
  client::Event event;
  event.reason = "Rebalanced";
  event.action = "Evicting";
  event.scheduler_name = kComponent;
  event.note =
      move.strategy + ": " + move.reason + " (" + answers::GainText(move) + "). " +
      (move.to.empty() ? "It was removed from " + move.from
                       : "Evicted from " + move.from + "; its replacement was proved to go to " + WhereTo(move));
  event.regarding = ReferenceTo(*move.pod);
  if (const auto& owner = move.pod->metadata.controller) {
    client::Event of_owner = event;
    of_owner.note = "Pod " + move.pod->metadata.name + ": " + event.note;
    of_owner.related = event.regarding;
    of_owner.regarding = {owner->api_version, owner->kind, move.pod->metadata.namespace_name,
                          owner->name,        owner->uid,  {}};
    event.related = of_owner.regarding;
    events_.Record(std::move(of_owner));
  }
  events_.Record(std::move(event));
}

void RebalanceCluster::OnNotEvicted(const PlannedMove& move, const Error& error) {
  const bool is_refused = error.code == ErrorCode::kTooManyRequests;
  log::Warning("rebalance", is_refused ? "The API server refused an eviction" : "An eviction failed",
               {{"pod", move.key}, {"strategy", move.strategy}, {"error", error.message}});
  metrics_.OnEviction(move.strategy, is_refused ? "refused" : error.outcome_unknown ? "unknown" : "failed");
}

void RebalanceCluster::OnChange(const MoveChange& change) {
  metrics_.OnChange(change);
  const rebalance::MoveRecord& record = change.record;
  const auto tell = [&](log::Level level, std::string_view message) {
    log::Write(level, "rebalance", message,
               {{"pod", record.key},
                {"workload", record.workload},
                {"proved", record.to},
                {"node", change.node},
                {"strategy", record.strategy}});
  };
  switch (change.kind) {
    case MoveChange::Kind::kFoundEvicted: return tell(log::Level::kInfo, "An eviction that had no answer took effect");
    case MoveChange::Kind::kNotEvicted: return tell(log::Level::kInfo, "An eviction did not take effect");
    case MoveChange::Kind::kAsProved:
      return tell(log::Level::kInfo, "The replacement is ready where it was proved to go");
    case MoveChange::Kind::kElsewhere:
      return tell(log::Level::kWarning, "The replacement is ready on another node than was proved");
    case MoveChange::Kind::kGone: return tell(log::Level::kInfo, "A finished pod is gone");
    case MoveChange::Kind::kNotPlaced:
      return tell(log::Level::kWarning, "The replacement was not ready in time: nothing else of its owner moves");
  }
}

// Once for each cause, on the ConfigMap of the moves: no other object stands for the rebalancer.
void RebalanceCluster::ReportWaiting(const rebalance::Hold& wait) {
  const bool is_new = waits_for_ != wait.cause;
  waits_for_ = wait.cause;
  if (!is_new || wait.cause.empty() || !options_.writes_events) return;
  client::Event event;
  event.is_warning = true;
  event.reason = "RebalancePaused";
  event.action = "Planning";
  event.scheduler_name = kComponent;
  event.note = "Nothing is moved: " + wait.why;
  event.regarding = {"v1", "ConfigMap", options_.namespace_name, options_.name, {}, {}};
  events_.Record(std::move(event));
}

void RebalanceCluster::OnRound(const rebalance::RoundReport& report, Duration took) {
  metrics_.OnRound(report, took);
  ReportWaiting(report.wait);
  const bool would = report.result == rebalance::RoundReport::Result::kWouldMove;
  for (const PlannedMove& move : report.moves) {
    if (would) LogMove("Would evict", move);
  }
  std::size_t held = 0;
  for (const rebalance::StayingPod& pod : report.staying) held += pod.hold.empty() ? 0 : 1;
  log::Info("rebalance", "Round",
            {{"result", rebalance::ToString(report.result)},
             {"waitsFor", report.wait.why},
             {would ? "wouldMove" : "moved", report.moves.size()},
             {"later", report.later},
             {"held", held},
             {"stay", report.staying.size() - held},
             {"took", FormatGoDuration(took)},
             {"next", FormatGoDuration(report.next)}});
}

}  // namespace berth::app
