// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/state_builder.h"

#include <iterator>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/decode_pod_details.h"

namespace berth::whatif {
namespace {

constexpr framework::ObjectKindInfo kNodeInfo{"Node", "v1", "nodes"};
constexpr framework::ObjectKindInfo kPodInfo{"Pod", "v1", "pods"};

framework::ObjectKind ObjectKindOf(std::size_t kind) { return static_cast<framework::ObjectKind>(kind - 2); }

}  // namespace

const framework::ObjectKindInfo& KindInfo(std::size_t kind) {
  if (kind == kNodes) return kNodeInfo;
  if (kind == kPods) return kPodInfo;
  return framework::InfoOf(ObjectKindOf(kind));
}

std::string KindPath(std::size_t kind) {
  if (kind == kNodes) return "/api/v1/nodes";
  if (kind == kPods) return "/api/v1/pods";
  return framework::ListPath(ObjectKindOf(kind));
}

std::optional<std::size_t> KindNamed(std::string_view name) {
  for (std::size_t kind = 0; kind < kKindCount; ++kind) {
    if (KindInfo(kind).name == name) return kind;
  }
  return std::nullopt;
}

bool StateBuilder::Add(std::size_t kind, const simdjson::dom::element& object) {
  const Expected<void> added = Keep(kind, object);
  if (!added.ok()) {
    AddUnreadable(kind, added.error());
  } else {
    ++kinds_.at(kind).count;
  }
  return added.ok();
}

Expected<void> StateBuilder::Keep(std::size_t kind, const simdjson::dom::element& object) {
  if (kind == kNodes) {
    BERTH_ASSIGN_OR_RETURN(auto node, api::DecodeNode(object));
    if (keeps_.objects) state_.nodes.push_back(std::move(node));
  } else if (kind == kPods) {
    return KeepPod(object);
  } else {
    BERTH_ASSIGN_OR_RETURN(auto decoded, framework::DecodeObject(ObjectKindOf(kind), object));
    if (keeps_.objects) kinds_.at(kind).objects.push_back(std::move(decoded));
  }
  return {};
}

Expected<void> StateBuilder::KeepPod(const simdjson::dom::element& object) {
  BERTH_ASSIGN_OR_RETURN(auto pod, api::DecodePod(object));
  const bool is_finished =
      pod->status.phase == api::PodPhase::kSucceeded || pod->status.phase == api::PodPhase::kFailed;
  if (!keeps_.objects || (is_finished && !keeps_.pod_details)) return {};
  if (keeps_.pod_details) {
    BERTH_ASSIGN_OR_RETURN(auto details, api::DecodePodDetails(object));
    (is_finished ? state_.finished_pod_details : state_.pod_details).push_back(std::move(details));
  }
  (is_finished ? state_.finished_pods : state_.pods).push_back(std::move(pod));
  return {};
}

void StateBuilder::AddUnreadable(std::size_t kind, const Error& error) {
  OfKind& of_kind = kinds_.at(kind);
  if (of_kind.unreadable++ < kUnreadableToldMax)
    of_kind.left_out.push_back(std::string(KindInfo(kind).resource) + ": " + error.message);
}

void StateBuilder::Forget(std::size_t kind) {
  kinds_.at(kind) = {};
  if (kind == kNodes) state_.nodes.clear();
  if (kind != kPods) return;
  state_.pods.clear();
  state_.pod_details.clear();
  state_.finished_pods.clear();
  state_.finished_pod_details.clear();
}

void StateBuilder::LeaveOut(std::size_t kind, std::string_view why) {
  kinds_.at(kind).left_out.push_back(std::string(KindInfo(kind).resource).append(": ").append(why));
}

ClusterState StateBuilder::Take() && {
  ClusterState state = std::move(state_);
  for (std::size_t kind = 0; kind < kKindCount; ++kind) {
    OfKind& of_kind = kinds_[kind];
    std::move(of_kind.objects.begin(), of_kind.objects.end(), std::back_inserter(state.objects));
    if (of_kind.unreadable > kUnreadableToldMax) {
      LeaveOut(kind, std::to_string(of_kind.unreadable - kUnreadableToldMax) + " more that could not be read");
    }
    std::move(of_kind.left_out.begin(), of_kind.left_out.end(), std::back_inserter(state.left_out));
  }
  return state;
}

}  // namespace berth::whatif
