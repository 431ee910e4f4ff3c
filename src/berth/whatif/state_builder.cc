// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/state_builder.h"

#include <iterator>
#include <utility>

#include "berth/api/decode.h"

namespace berth::whatif {
namespace {

constexpr framework::ObjectKindInfo kNodeInfo{"Node", "v1", "nodes"};
constexpr framework::ObjectKindInfo kPodInfo{"Pod", "v1", "pods"};

framework::ObjectKind ObjectKindOf(std::size_t kind) { return static_cast<framework::ObjectKind>(kind - 2); }

template <typename T, typename Kept>
const Error* Keep(Expected<T>& decoded, bool keeps, std::vector<Kept>& out) {
  if (!decoded.ok()) return &decoded.error();
  if (keeps) out.push_back(std::move(*decoded));
  return nullptr;
}

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
  const auto counted = [&](auto decoded, auto& out) {
    const Error* error = Keep(decoded, keeps_objects_, out);
    if (error != nullptr) {
      AddUnreadable(kind, *error);
    } else {
      ++kinds_.at(kind).count;
    }
    return error == nullptr;
  };
  if (kind == kNodes) return counted(api::DecodeNode(object), nodes_);
  if (kind == kPods) return counted(api::DecodePod(object), pods_);
  return counted(framework::DecodeObject(ObjectKindOf(kind), object), kinds_.at(kind).objects);
}

void StateBuilder::AddUnreadable(std::size_t kind, const Error& error) {
  OfKind& of_kind = kinds_.at(kind);
  if (of_kind.unreadable++ < kUnreadableToldMax)
    of_kind.left_out.push_back(std::string(KindInfo(kind).resource) + ": " + error.message);
}

void StateBuilder::Forget(std::size_t kind) {
  kinds_.at(kind) = {};
  if (kind == kNodes) nodes_.clear();
  if (kind == kPods) pods_.clear();
}

void StateBuilder::LeaveOut(std::size_t kind, std::string_view why) {
  kinds_.at(kind).left_out.push_back(std::string(KindInfo(kind).resource).append(": ").append(why));
}

ClusterState StateBuilder::Take() && {
  ClusterState state;
  state.nodes = std::move(nodes_);
  state.pods = std::move(pods_);
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
