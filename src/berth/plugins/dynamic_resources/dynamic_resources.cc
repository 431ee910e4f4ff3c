#include "berth/plugins/dynamic_resources/dynamic_resources.h"

#include <memory>
#include <string>

namespace berth::plugins {
namespace {

using framework::Status;

constexpr std::string_view kStateKey = "DynamicResources";

// Says that PreFilter was here.
struct State final : framework::StateData {};

Status RefuseClaims(const framework::PodInfo& pod) {
  if (!pod.spec().features.resource_claims) return Status::Success();
  return Status::Error(
      "plugin \"DynamicResources\" does not allocate devices in this version of berth: pod uses resource claims");
}

}  // namespace

framework::PreFilterResult DynamicResources::PreFilter(const framework::Cycle& cycle,
                                                       const framework::PodInfo& pod) const {
  cycle.state.Write(kStateKey, std::make_shared<State>());
  Status status = RefuseClaims(pod);
  return {status.IsSuccess() ? Status::Skip() : std::move(status), std::nullopt};
}

Status DynamicResources::Filter(const framework::Cycle&, const framework::PodInfo& pod,
                                const framework::NodeInfo&) const {
  return RefuseClaims(pod);
}

framework::PostFilterResult DynamicResources::PostFilter(const framework::Cycle& cycle, const framework::PodInfo&,
                                                         const framework::NodeStatuses&,
                                                         framework::FilterRunner&) const {
  framework::PostFilterResult result;
  result.status = cycle.state.Read<State>(kStateKey) == nullptr ? Status::Error("not found")
                                                                : Status::Unschedulable("no new claims to deallocate");
  return result;
}

void DynamicResources::ScoreRows(const framework::Cycle&, const framework::PodInfo&,
                                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                                 Status&) const {
  for (const framework::NodeIndex row : rows) scores[row] = 0;
}

Status DynamicResources::Reserve(const framework::Cycle&, const framework::PodInfo& pod, std::string_view) {
  return RefuseClaims(pod);
}

framework::Operation DynamicResources::PreBind(const framework::PodInfo& pod) {
  return framework::Operation::Done(RefuseClaims(pod));
}

}  // namespace berth::plugins
