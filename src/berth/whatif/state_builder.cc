// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/state_builder.h"

#include <array>
#include <iterator>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/decode_admission.h"
#include "berth/api/decode_pod_details.h"
#include "berth/api/prune_json.h"

namespace berth::whatif {
namespace {

constexpr framework::ObjectKindInfo kNodeInfo{"Node", "v1", "nodes"};
constexpr framework::ObjectKindInfo kPodInfo{"Pod", "v1", "pods"};
constexpr std::array<framework::ObjectKindInfo, kKindCount - kAdmissionKinds> kAdmissionInfos = {{
    {"PriorityClass", "scheduling.k8s.io/v1", "priorityclasses"},
    {"RuntimeClass", "node.k8s.io/v1", "runtimeclasses"},
    {"ResourceClaimTemplate", "resource.k8s.io/v1", "resourceclaimtemplates"},
    {"ResourceQuota", "v1", "resourcequotas"},
}};
static_assert(kResourceQuotas == kAdmissionKinds + 3);

framework::ObjectKind ObjectKindOf(std::size_t kind) { return static_cast<framework::ObjectKind>(kind - 2); }

// The object's metadata, and whether it can be read as its kind.
Expected<api::ObjectMeta> CheckAdmission(std::size_t kind, const simdjson::dom::element& object) {
  const auto metadata_of = [](const auto& decoded) -> Expected<api::ObjectMeta> {
    if (!decoded.ok()) return decoded.error();
    return (*decoded)->metadata;
  };
  switch (kind - kAdmissionKinds) {
    case 0: return metadata_of(api::DecodePriorityClass(object));
    case 1: return metadata_of(api::DecodeRuntimeClass(object));
    case 2: return metadata_of(api::DecodeResourceClaimTemplate(object));
    default: return metadata_of(api::DecodeResourceQuota(object));
  }
}

}  // namespace

const framework::ObjectKindInfo& KindInfo(std::size_t kind) {
  if (kind == kNodes) return kNodeInfo;
  if (kind == kPods) return kPodInfo;
  if (kind >= kAdmissionKinds) return kAdmissionInfos.at(kind - kAdmissionKinds);
  return framework::InfoOf(ObjectKindOf(kind));
}

std::string KindPath(std::size_t kind, int release_minor) {
  if (kind == kNodes) return "/api/v1/nodes";
  if (kind == kPods) return "/api/v1/pods";
  if (kind == kResourceQuotas) return "/api/v1/resourcequotas";
  if (kind >= kAdmissionKinds)
    return "/apis/" + std::string(KindInfo(kind).group_version) + '/' + std::string(KindInfo(kind).resource);
  return framework::ListPath(ObjectKindOf(kind), release_minor);
}

bool IsServedByAll(std::size_t kind) {
  const bool is_object = kind != kNodes && kind != kPods && kind < kAdmissionKinds;
  return !is_object || framework::IsServedByAll(ObjectKindOf(kind));
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
  } else if (kind >= kAdmissionKinds) {
    return KeepAdmission(kind, object);
  } else {
    BERTH_ASSIGN_OR_RETURN(auto decoded, framework::DecodeObject(ObjectKindOf(kind), object));
    if (keeps_.objects && ObjectKindOf(kind) == framework::ObjectKind::kPodDisruptionBudget) {
      BERTH_ASSIGN_OR_RETURN(auto details, api::DecodeBudgetDetails(object));
      state_.budget_details[framework::KeyOf(decoded)] = std::move(details);
    }
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

Expected<void> StateBuilder::KeepAdmission(std::size_t kind, const simdjson::dom::element& object) {
  BERTH_ASSIGN_OR_RETURN(const api::ObjectMeta metadata, CheckAdmission(kind, object));
  if (!keeps_.objects) return {};
  const std::string_view name = KindInfo(kind).name;
  std::string text;
  api::JsonPruner(name, {}).Append(object, text);
  kinds_.at(kind).admission.push_back(
      {std::string(name), metadata.namespace_name, metadata.name, std::move(codec::json::parse(text).as_object())});
  return {};
}

void StateBuilder::AddUnreadable(std::size_t kind, const Error& error) {
  OfKind& of_kind = kinds_.at(kind);
  if (of_kind.unreadable++ < kUnreadableReportedMax)
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
    std::move(of_kind.admission.begin(), of_kind.admission.end(), std::back_inserter(state.admission));
    if (of_kind.unreadable > kUnreadableReportedMax) {
      LeaveOut(kind, std::to_string(of_kind.unreadable - kUnreadableReportedMax) + " more that could not be read");
    }
    std::move(of_kind.left_out.begin(), of_kind.left_out.end(), std::back_inserter(state.left_out));
  }
  return state;
}

}  // namespace berth::whatif
