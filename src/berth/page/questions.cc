// SPDX-License-Identifier: Apache-2.0
#include "berth/page/questions.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "berth/answers/drain_answer.h"
#include "berth/answers/headroom_answer.h"
#include "berth/answers/plan_answer.h"
#include "berth/answers/simulation_answer.h"
#include "berth/ask/question_fields.h"
#include "berth/ask/simulate_question.h"
#include "berth/codec/yaml_lines.h"
#include "berth/rebalance/plan.h"
#include "berth/rebalance/policy_reader.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/drain.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/headroom.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/pending_pods.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/simulation.h"

namespace berth::page {

using ask::AddReplicas, ask::MoreReplicas, ask::OfQuestion, ask::ReplicasIn;
using ask::FlagIn, ask::NumberIn, ask::ObjectOf, ask::TextIn, ask::TextsIn;
using codec::json::array, codec::json::object, codec::json::value;

namespace {

// What the page calls the manifests in messages.
constexpr std::string_view kPasted = "manifests";
constexpr std::string_view kPolicy = "policy";

// As `berth explain -o json` and the others say of which cluster the answer is.
object ClusterJson(const whatif::ClusterState& state) {
  return {{"source", state.source},
          {"version", state.kubernetes_version},
          {"readAt", FormatRfc3339(state.read_at)},
          {"leftOut", array(state.left_out.begin(), state.left_out.end())}};
}

}  // namespace

Questions::Questions(ClusterSource source, const Fleet& fleet, const Clock& clock)
    : source_(std::move(source)), fleet_(fleet), clock_(clock) {}

Questions::~Questions() = default;

Expected<whatif::Explanation> Questions::Explain(const std::string& namespace_name, const std::string& name) {
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const cluster, ClusterOfNow(Purpose::kExplain, kObjectsAgeMax));
  return whatif::ExplainPod(*cluster, *state_, namespace_name, name);
}

Expected<PendingView> Questions::Pending() {
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const cluster, ClusterOfNow(Purpose::kExplain, kPendingObjectsAgeMax));
  return FromEvaluation(whatif::FindPendingPods(*cluster, *state_, ""), *state_, state_->read_at);
}

Expected<object> Questions::Simulate(const value& body) {
  BERTH_ASSIGN_OR_RETURN(const object* const question, ObjectOf(body));
  BERTH_ASSIGN_OR_RETURN(std::string text, TextIn(*question, "manifests"));
  if (text.size() > kManifestBytesMax)
    return Error{ErrorCode::kTooLarge, "manifests should have at most 5 MiB, and have " + std::to_string(text.size()) +
                                           " bytes; the command `berth simulate -f` takes more"};
  BERTH_ASSIGN_OR_RETURN(std::string namespace_name, TextIn(*question, "namespace"));
  if (namespace_name.empty()) namespace_name = "default";
  whatif::AdditionOptions adding;
  BERTH_ASSIGN_OR_RETURN(adding.node_copies, NumberIn(*question, "addNodes", 0, whatif::kNodeCopiesMax));
  BERTH_ASSIGN_OR_RETURN(adding.node_like, TextIn(*question, "nodeLike"));
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> removed, TextsIn(*question, "removeNodes"));
  BERTH_ASSIGN_OR_RETURN(const std::vector<MoreReplicas> replicas, ReplicasIn(*question));
  if (adding.node_copies > 0 && adding.node_like.empty())
    return InvalidError("nodeLike should name the node that the added ones are like");
  whatif::Manifests manifests;
  if (!text.empty()) {
    BERTH_ASSIGN_OR_RETURN(manifests, whatif::ReadManifests({{std::string(kPasted), std::move(text)}}, namespace_name));
  }
  if (manifests.documents.empty() && adding.node_copies == 0 && removed.empty() && replicas.empty())
    return InvalidError("nothing to simulate: want manifests, replicas, addNodes or removeNodes");

  BERTH_ASSIGN_OR_RETURN(const auto state, StateOfNow(kObjectsAgeMax));
  adding.now = state->read_at;
  adding.removed_nodes = {removed.begin(), removed.end()};
  auto additions = whatif::MakeAdditions(manifests, *state, adding);
  if (!additions.ok()) return OfQuestion(additions.error());
  for (const MoreReplicas& more : replicas) BERTH_RETURN_IF_ERROR(AddReplicas(*state, more, *additions));
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineOptions options, source_.core_for(*state, additions->pods));
  options.now = state->read_at;
  const auto simulation = whatif::Simulate({*state, *additions, removed}, std::move(options));
  if (!simulation.ok()) return OfQuestion(simulation.error());
  object json = answers::SimulationJson(*simulation, manifests.left_out);
  json["cluster"] = ClusterJson(*state);
  return json;
}

Expected<object> Questions::CanDrain(const value& body) {
  BERTH_ASSIGN_OR_RETURN(const object* const question, ObjectOf(body));
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> nodes, TextsIn(*question, "nodes"));
  if (nodes.empty()) return InvalidError("nodes should name at least one node");
  whatif::DrainOptions options;
  BERTH_ASSIGN_OR_RETURN(options.is_forced, FlagIn(*question, "force"));
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const cluster, ClusterOfNow(Purpose::kChange, kObjectsAgeMax));
  if (const auto unknown = whatif::UnknownNodes(*state_, nodes); !unknown.empty()) return InvalidError(unknown.front());
  object json = answers::DrainJson(whatif::PlanDrain(*cluster, *state_, nodes, options));
  json["cluster"] = ClusterJson(*state_);
  return json;
}

Expected<object> Questions::Headroom(const value& body) {
  BERTH_ASSIGN_OR_RETURN(const object* const question, ObjectOf(body));
  whatif::HeadroomOptions options;
  BERTH_ASSIGN_OR_RETURN(options.namespace_name, TextIn(*question, "namespace"));
  BERTH_ASSIGN_OR_RETURN(options.losses_max, NumberIn(*question, "losses", options.losses_max, kLossesMax));
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const cluster, ClusterOfNow(Purpose::kChange, kObjectsAgeMax));
  if (const auto known = whatif::CheckNamespace(*state_, options.namespace_name); !known.ok())
    return InvalidError(known.error().message);
  object json = answers::HeadroomJson(whatif::MeasureHeadroom(*cluster, *state_, options));
  json["cluster"] = ClusterJson(*state_);
  return json;
}

Expected<object> Questions::Rebalance(const value& body) {
  if (!CanPlan()) return InvalidError("no plan can be made here: the details of pods that it goes by are not known");
  BERTH_ASSIGN_OR_RETURN(const object* const question, ObjectOf(body));
  BERTH_ASSIGN_OR_RETURN(const std::string text, TextIn(*question, "policy"));
  if (text.empty()) return InvalidError("policy should be a DeschedulerPolicy");
  if (text.size() > kPolicyBytesMax)
    return Error{ErrorCode::kTooLarge,
                 "policy should have at most 1 MiB, and has " + std::to_string(text.size()) + " bytes"};
  rebalance::PlanOptions how;
  BERTH_ASSIGN_OR_RETURN(how.chooses_target, FlagIn(*question, "withinScheduler"));
  auto policy = rebalance::ReadPolicy(text);
  if (!policy.ok()) return codec::InFile(kPolicy, text, policy.error());
  if (!rebalance::MetricsNeedsOf(*policy).empty())
    return InvalidError("the policy goes by measured use, which is not read here: berth rebalance plan reads it");
  const auto is_interrupted = [this] { return is_interrupted_.load(); };
  BERTH_ASSIGN_OR_RETURN(const whatif::ClusterState state, source_.read_detailed(is_interrupted));
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineOptions options, source_.core_for(state, {}));
  options.now = state.read_at;
  BERTH_ASSIGN_OR_RETURN(const auto cluster, whatif::OfflineCluster::Make(std::move(options)));
  cluster->Load(state);
  how.now = state.read_at;
  how.is_interrupted = is_interrupted;
  const auto plan = rebalance::PlanRebalance(*cluster, state, *policy, how);
  if (!plan.ok()) return OfQuestion(plan.error());
  object json = answers::PlanJson(*plan);
  json["cluster"] = ClusterJson(state);
  return json;
}

Expected<std::shared_ptr<const whatif::ClusterState>> Questions::StateOfNow(Duration objects_age_max) {
  if (source_.fixed != nullptr) {
    state_ = source_.fixed;
    return state_;
  }
  const bool is_read_anew = read_ == nullptr || clock_.Now() - read_at_ > objects_age_max;
  if (is_read_anew) {
    BERTH_ASSIGN_OR_RETURN(whatif::ClusterState read, source_.read([this] { return is_interrupted_.load(); }));
    left_out_ = read.left_out;
    // The fleet has them.
    read.nodes.clear();
    read.pods.clear();
    read_ = std::make_shared<const whatif::ClusterState>(std::move(read));
    read_at_ = clock_.Now();
  }
  FleetCopy fleet = fleet_.Copy();
  if (!is_read_anew && state_ != nullptr && fleet.revision == state_revision_) return state_;
  auto state = std::make_shared<whatif::ClusterState>(*read_);
  state->nodes = std::move(fleet.nodes);
  state->pods = std::move(fleet.pods);
  state->read_at = source_.now ? source_.now() : clock_.WallNow();
  cluster_.reset();
  state_revision_ = fleet.revision;
  state_ = std::move(state);
  return state_;
}

Expected<whatif::OfflineCluster*> Questions::ClusterOfNow(Purpose purpose, Duration objects_age_max) {
  BERTH_ASSIGN_OR_RETURN(const auto state, StateOfNow(objects_age_max));
  // Without cores of their own all purposes have the same.
  if (!source_.explaining_core_for) purpose = Purpose::kChange;
  if (cluster_ != nullptr && cluster_purpose_ == purpose) return cluster_.get();
  cluster_.reset();
  cluster_purpose_ = purpose;
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineOptions options, purpose == Purpose::kExplain
                                                             ? source_.explaining_core_for(*state)
                                                             : source_.core_for(*state, {}));
  options.now = state->read_at;
  BERTH_ASSIGN_OR_RETURN(cluster_, whatif::OfflineCluster::Make(std::move(options)));
  cluster_->Load(*state);
  return cluster_.get();
}

}  // namespace berth::page
