#include "berth/plugins/not_built/not_built.h"

namespace berth::plugins {

using framework::Status;

Status NotBuilt::Check(const framework::PodInfo& pod) const {
  if (!(pod.spec().features.*feature_.flag)) return Status::Success();
  return Status::Error("plugin \"" + std::string(feature_.plugin) +
                       "\" is not built into this version of berth: pod uses " + std::string(feature_.what));
}

framework::PreFilterResult NotBuilt::PreFilter(const framework::Cycle&, const framework::PodInfo& pod) const {
  Status status = Check(pod);
  return {status.IsSuccess() ? Status::Skip() : std::move(status), std::nullopt};
}

Status NotBuilt::Filter(const framework::Cycle&, const framework::PodInfo& pod, const framework::NodeInfo&) const {
  return Check(pod);
}

Status NotBuiltScoring::PreScore(const framework::Cycle&, const framework::PodInfo& pod,
                                 std::span<const framework::NodeIndex>) const {
  Status status = Check(pod);
  return status.IsSuccess() ? Status::Skip() : status;
}

std::int64_t NotBuiltScoring::Score(const framework::Cycle&, const framework::PodInfo& pod, framework::NodeIndex,
                                    const framework::NodeInfo&, Status& status) const {
  status = Check(pod);
  return 0;
}

Status NotBuiltBinding::Reserve(const framework::Cycle&, const framework::PodInfo& pod, std::string_view) {
  return Check(pod);
}

}  // namespace berth::plugins
