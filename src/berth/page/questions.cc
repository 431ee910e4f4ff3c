// SPDX-License-Identifier: Apache-2.0
#include "berth/page/questions.h"

#include <utility>

#include "berth/answers/plan_answer.h"
#include "berth/ask/ask_limits.h"
#include "berth/ask/asked_cluster.h"
#include "berth/ask/question_fields.h"
#include "berth/ask/questions.h"
#include "berth/ask/simulate_question.h"
#include "berth/codec/yaml_lines.h"
#include "berth/rebalance/plan.h"
#include "berth/rebalance/policy_reader.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/pending_pods.h"

namespace berth::page {

using ask::FlagIn, ask::ObjectOf, ask::OfQuestion, ask::TextIn;
using codec::json::object, codec::json::value;

namespace {

constexpr std::string_view kPolicy = "policy";

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

// The cluster as a question sees it.
class Questions::Asked final : public ask::AskedCluster {
 public:
  // `of` must outlive it, and have the cluster of now.
  explicit Asked(Questions& of) : of_(of), state_(of.state_) {}

  const whatif::ClusterState& state() const override { return *state_; }
  Expected<whatif::OfflineCluster*> Core(ask::OtherSchedulers) override { return of_.CoreOfState(Purpose::kChange); }
  Expected<void> Try(const ask::Pods& added,
                     const std::function<Expected<void>(whatif::OfflineCluster&)>& trial) override {
    ask::OnceCluster once(*state_,
                          [this](const whatif::ClusterState& state, const ask::Pods& pods,
                                 ask::OtherSchedulers) -> Expected<ask::CoreToMake> {
                            BERTH_ASSIGN_OR_RETURN(whatif::OfflineOptions options, of_.source_.core_for(state, pods));
                            return ask::CoreToMake{std::move(options), {}};
                          });
    return once.Try(added, trial);
  }
  Expected<void> UseUp(const std::function<Expected<void>(whatif::OfflineCluster&)>& use) override {
    return Try({}, use);
  }
  std::vector<std::string> TakeNotes() override { return {}; }

 private:
  Questions& of_;
  const std::shared_ptr<const whatif::ClusterState> state_;
};

Expected<object> Questions::Simulate(const value& body) {
  BERTH_ASSIGN_OR_RETURN(const object* const asked, ObjectOf(body));
  BERTH_ASSIGN_OR_RETURN(const auto question, ask::SimulateQuestion::Parse(*asked));
  std::size_t bytes = 0;
  for (const whatif::ManifestFile& file : question.files) bytes += file.text.size();
  if (bytes > kManifestBytesMax)
    return Error{ErrorCode::kTooLarge, "manifests should have at most 5 MiB, and have " + std::to_string(bytes) +
                                           " bytes; the command `berth simulate -f` takes more"};
  BERTH_RETURN_IF_ERROR(StateOfNow(kObjectsAgeMax));
  Asked cluster(*this);
  BERTH_ASSIGN_OR_RETURN(const ask::Reply reply, ask::Answer(question, ask::AskLimits(), cluster));
  object json = reply.document.as_object();
  json["cluster"] = ask::ClusterJson(cluster.state());
  return json;
}

Expected<object> Questions::CanDrain(const value& body) {
  BERTH_ASSIGN_OR_RETURN(const object* const asked, ObjectOf(body));
  BERTH_ASSIGN_OR_RETURN(const auto question, ask::DrainQuestion::Parse(*asked));
  BERTH_RETURN_IF_ERROR(StateOfNow(kObjectsAgeMax));
  Asked cluster(*this);
  BERTH_ASSIGN_OR_RETURN(const ask::Reply reply, ask::Answer(question, cluster, {}));
  return reply.document.as_object();
}

Expected<object> Questions::Headroom(const value& body) {
  BERTH_ASSIGN_OR_RETURN(const object* const asked, ObjectOf(body));
  BERTH_ASSIGN_OR_RETURN(const auto question, ask::HeadroomQuestion::Parse(*asked));
  if (question.losses_max > kLossesMax)
    return ask::WrongField("losses", "a number from 0 to " + std::to_string(kLossesMax));
  BERTH_RETURN_IF_ERROR(StateOfNow(kObjectsAgeMax));
  Asked cluster(*this);
  BERTH_ASSIGN_OR_RETURN(const ask::Reply reply, ask::Answer(question, cluster, {}));
  return reply.document.as_object();
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
  json["cluster"] = ask::ClusterJson(state);
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
  BERTH_RETURN_IF_ERROR(StateOfNow(objects_age_max));
  return CoreOfState(purpose);
}

Expected<whatif::OfflineCluster*> Questions::CoreOfState(Purpose purpose) {
  // Without cores of their own all purposes have the same.
  if (!source_.explaining_core_for) purpose = Purpose::kChange;
  if (cluster_ != nullptr && cluster_purpose_ == purpose) return cluster_.get();
  cluster_.reset();
  cluster_purpose_ = purpose;
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineOptions options, purpose == Purpose::kExplain
                                                             ? source_.explaining_core_for(*state_)
                                                             : source_.core_for(*state_, {}));
  options.now = state_->read_at;
  BERTH_ASSIGN_OR_RETURN(cluster_, whatif::OfflineCluster::Make(std::move(options)));
  cluster_->Load(*state_);
  return cluster_.get();
}

}  // namespace berth::page
