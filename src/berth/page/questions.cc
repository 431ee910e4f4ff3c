// SPDX-License-Identifier: Apache-2.0
#include "berth/page/questions.h"

#include <functional>
#include <utility>

#include "berth/ask/asked_cluster.h"
#include "berth/ask/question_fields.h"
#include "berth/ask/question_kinds.h"
#include "berth/ask/questions.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/pending_pods.h"

namespace berth::page {

using codec::json::object, codec::json::value;

namespace {

// The cluster of now, for one question: the core that is kept where that will do.
class ClusterForQuestion final : public ask::AskedCluster {
 public:
  using CoreOfNow = std::function<Expected<whatif::OfflineCluster*>()>;
  ClusterForQuestion(std::shared_ptr<const whatif::ClusterState> state, CoreOfNow core, const ClusterSource& source)
      : state_(std::move(state)), core_(std::move(core)), once_(*state_, CoreFor(source)) {}

  const whatif::ClusterState& state() const override { return *state_; }
  Expected<whatif::OfflineCluster*> Core(ask::OtherSchedulers) override { return core_(); }
  Expected<void> Try(const ask::Pods& added,
                     const std::function<Expected<void>(whatif::OfflineCluster&)>& trial) override {
    return once_.Try(added, trial);
  }
  std::vector<std::string> TakeNotes() override { return {}; }

 private:
  static ask::CoreFor CoreFor(const ClusterSource& source) {
    return [&source](const whatif::ClusterState& state, const ask::Pods& added,
                     ask::OtherSchedulers) -> Expected<ask::CoreToMake> {
      BERTH_ASSIGN_OR_RETURN(whatif::OfflineOptions options, source.core_for(state, added));
      return ask::CoreToMake{std::move(options), {}};
    };
  }

  const std::shared_ptr<const whatif::ClusterState> state_;
  const CoreOfNow core_;
  ask::OnceCluster once_;
};

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

Expected<object> Questions::Ask(std::string_view question, const value& body) {
  BERTH_ASSIGN_OR_RETURN(const object* const fields, ask::ObjectOf(body));
  if (const value* const manifests = fields->if_contains("manifests");
      manifests != nullptr && manifests->is_string() && manifests->as_string().size() > kManifestBytesMax)
    return Error{ErrorCode::kTooLarge, "manifests should have at most 5 MiB, and have " +
                                           std::to_string(manifests->as_string().size()) +
                                           " bytes; the command `berth simulate -f` takes more"};
  BERTH_ASSIGN_OR_RETURN(const auto state, StateOfNow(kObjectsAgeMax));
  ClusterForQuestion cluster(state, [this] { return ClusterOfNow(kObjectsAgeMax); }, source_);
  BERTH_ASSIGN_OR_RETURN(ask::Reply reply, ask::FindQuestion(question)->answer(*fields, {}, cluster, {}));
  object json = std::move(reply.document.as_object());
  json["cluster"] = ask::ClusterJson(*state);
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

Expected<whatif::OfflineCluster*> Questions::ClusterOfNow(Duration objects_age_max) {
  BERTH_ASSIGN_OR_RETURN(const auto state, StateOfNow(objects_age_max));
  if (cluster_ != nullptr) return cluster_.get();
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineOptions options, source_.core_for(*state, {}));
  options.now = state->read_at;
  BERTH_ASSIGN_OR_RETURN(cluster_, whatif::OfflineCluster::Make(std::move(options)));
  cluster_->Load(*state);
  return cluster_.get();
}

}  // namespace berth::page
