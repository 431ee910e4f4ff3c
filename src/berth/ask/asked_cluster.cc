// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/asked_cluster.h"

#include <utility>

namespace berth::ask {

OnceCluster::OnceCluster(const whatif::ClusterState& state, CoreFor core_for, std::function<bool()> is_interrupted,
                         std::string configuration)
    : state_(state),
      core_for_(std::move(core_for)),
      is_interrupted_(std::move(is_interrupted)),
      configuration_(std::move(configuration)) {}

OnceCluster::~OnceCluster() = default;

Expected<void> OnceCluster::MakeCore(const Pods& added, OtherSchedulers others) {
  core_.reset();
  BERTH_ASSIGN_OR_RETURN(CoreToMake made, core_for_(state_, added, others, configuration_));
  made.options.now = state_.read_at;
  made.options.is_interrupted = is_interrupted_;
  notes_ = std::move(made.notes);
  BERTH_ASSIGN_OR_RETURN(core_, whatif::OfflineCluster::Make(std::move(made.options)));
  core_->Load(state_);
  others_ = others;
  return {};
}

Expected<whatif::OfflineCluster*> OnceCluster::Core(OtherSchedulers others) {
  if (core_ == nullptr || others_ != others) BERTH_RETURN_IF_ERROR(MakeCore({}, others));
  return core_.get();
}

Expected<void> OnceCluster::Try(const Pods& added,
                                const std::function<Expected<void>(whatif::OfflineCluster&)>& trial) {
  BERTH_RETURN_IF_ERROR(MakeCore(added, OtherSchedulers::kByDefaults));
  const auto tried = trial(*core_);
  core_.reset();
  return tried;
}

}  // namespace berth::ask
