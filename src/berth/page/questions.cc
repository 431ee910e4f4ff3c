// SPDX-License-Identifier: Apache-2.0
#include "berth/page/questions.h"

#include <optional>
#include <utility>

#include "berth/answers/plan_answer.h"
#include "berth/ask/ask_limits.h"
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
using codec::json::array, codec::json::object, codec::json::value;

namespace {

constexpr std::string_view kPolicy = "policy";

// The answer, with what its reader should know of it.
object DocumentOf(ask::Reply reply) {
  object json = std::move(reply.document.as_object());
  if (!reply.warnings.empty()) json["warnings"] = array(reply.warnings.begin(), reply.warnings.end());
  return json;
}

}  // namespace

Questions::Questions(ClusterSource source, const Fleet& fleet, const Clock& clock)
    : source_(std::move(source)), fleet_(fleet), clock_(clock) {}

Questions::~Questions() = default;

Expected<whatif::Explanation> Questions::Explain(const std::string& namespace_name, const std::string& name) {
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const cluster, ClusterOfNow(kObjectsAgeMax));
  return whatif::ExplainPod(*cluster, *state_, namespace_name, name);
}

Expected<PendingView> Questions::Pending() {
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const cluster, ClusterOfNow(kPendingObjectsAgeMax));
  return FromEvaluation(whatif::FindPendingPods(*cluster, *state_, ""), *state_, state_->read_at);
}

Expected<object> Questions::Simulate(value body) {
  BERTH_RETURN_IF_ERROR(ObjectOf(body));
  BERTH_ASSIGN_OR_RETURN(std::string configuration, ask::TakeConfiguration(body.as_object()));
  BERTH_ASSIGN_OR_RETURN(const auto question, ask::SimulateQuestion::Parse(body.as_object()));
  std::size_t bytes = 0;
  for (const whatif::ManifestFile& file : question.files) bytes += file.text.size();
  if (bytes > kManifestBytesMax)
    return Error{ErrorCode::kTooLarge, "manifests should have at most 5 MiB, and have " + std::to_string(bytes) +
                                           " bytes; the command `berth simulate -f` takes more"};
  BERTH_RETURN_IF_ERROR(StateOfNow(kObjectsAgeMax));
  // A core of its own, which it changes.
  ask::OnceCluster once(*state_, source_.core_for, {}, std::move(configuration));
  BERTH_ASSIGN_OR_RETURN(ask::Reply reply, ask::Answer(question, ask::AskLimits(), once));
  object json = DocumentOf(std::move(reply));
  json["cluster"] = ask::ClusterJson(*state_);
  return json;
}

Expected<object> Questions::CanDrain(value body) {
  return Measure(std::move(body), [](const object& asked, ask::AskedCluster& cluster) -> Expected<ask::Reply> {
    BERTH_ASSIGN_OR_RETURN(const auto question, ask::DrainQuestion::Parse(asked));
    return ask::Answer(question, cluster, {});
  });
}

Expected<object> Questions::Headroom(value body) {
  return Measure(std::move(body), [](const object& asked, ask::AskedCluster& cluster) -> Expected<ask::Reply> {
    BERTH_ASSIGN_OR_RETURN(const auto question, ask::HeadroomQuestion::Parse(asked));
    if (question.losses_max > kLossesMax)
      return ask::WrongField("losses", "a number from 0 to " + std::to_string(kLossesMax));
    return ask::Answer(question, cluster, {});
  });
}

Expected<object> Questions::Measure(value body, const Answerer& answer) {
  BERTH_RETURN_IF_ERROR(ObjectOf(body));
  BERTH_ASSIGN_OR_RETURN(std::string configuration, ask::TakeConfiguration(body.as_object()));
  BERTH_RETURN_IF_ERROR(StateOfNow(kObjectsAgeMax));
  std::optional<ask::OnceCluster> once;
  if (!configuration.empty()) once.emplace(*state_, source_.core_for, nullptr, std::move(configuration));
  BERTH_ASSIGN_OR_RETURN(ask::Reply reply, answer(body.as_object(), once ? *once : *asked_));
  return DocumentOf(std::move(reply));
}

Expected<object> Questions::Rebalance(value body) {
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
  ask::OnceCluster once(state, source_.core_for);
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const cluster, once.Core(ask::OtherSchedulers::kByDefaults));
  how.now = state.read_at;
  how.is_interrupted = is_interrupted;
  const auto plan = rebalance::PlanRebalance(*cluster, state, *policy, how);
  if (!plan.ok()) return OfQuestion(plan.error());
  object json = answers::PlanJson(*plan);
  json["cluster"] = ask::ClusterJson(state);
  return json;
}

Expected<void> Questions::StateOfNow(Duration objects_age_max) {
  if (source_.fixed != nullptr) {
    if (state_ == nullptr) SetState(source_.fixed);
    return {};
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
  if (!is_read_anew && state_ != nullptr && fleet.revision == state_revision_) return {};
  auto state = std::make_shared<whatif::ClusterState>(*read_);
  state->nodes = std::move(fleet.nodes);
  state->pods = std::move(fleet.pods);
  state->read_at = source_.now ? source_.now() : clock_.WallNow();
  state_revision_ = fleet.revision;
  SetState(std::move(state));
  return {};
}

void Questions::SetState(std::shared_ptr<const whatif::ClusterState> state) {
  asked_.reset();
  state_ = std::move(state);
  asked_ = std::make_unique<ask::OnceCluster>(*state_, source_.core_for);
}

Expected<whatif::OfflineCluster*> Questions::ClusterOfNow(Duration objects_age_max) {
  BERTH_RETURN_IF_ERROR(StateOfNow(objects_age_max));
  return asked_->Core(ask::OtherSchedulers::kHaveNoProfile);
}

}  // namespace berth::page
