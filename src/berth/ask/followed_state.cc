// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/followed_state.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "berth/codec/json_reader.h"
#include "berth/framework/object_kinds.h"
#include "berth/whatif/pod_index.h"
#include "berth/whatif/state_builder.h"

namespace berth::ask {
namespace {

bool IsMeta(const api::ObjectMeta& meta, const StateChange& change) {
  return meta.name == change.name && meta.namespace_name == change.namespace_name;
}

// Where an object of that name is in a sorted list, or belongs. What is listed comes in order, and so at the end.
template <typename List, typename MetaOf>
auto PlaceOf(List& list, const StateChange& change, const MetaOf& meta_of) {
  const auto is_before = [&](const auto& each) {
    const api::ObjectMeta& meta = meta_of(each);
    return whatif::CompareListed(meta.namespace_name, meta.name, change.namespace_name, change.name) < 0;
  };
  if (list.empty() || is_before(list.back())) return list.end();
  return std::partition_point(list.begin(), list.end(), is_before);
}

const api::ObjectMeta& MetaOfPtr(const auto& object) { return object->metadata; }

// An index that the pods and their details share.
struct PodList {
  std::vector<std::shared_ptr<const api::Pod>>& pods;
  std::vector<std::shared_ptr<const api::PodDetails>>& details;

  std::size_t IndexOf(const StateChange& change) const {
    return static_cast<std::size_t>(
        PlaceOf(pods, change, [](const auto& pod) -> const api::ObjectMeta& { return pod->metadata; }) - pods.begin());
  }
  bool Has(std::size_t index, const StateChange& change) const {
    return index < pods.size() && IsMeta(pods[index]->metadata, change);
  }
  void Erase(std::size_t index) const {
    pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(index));
    if (index < details.size()) details.erase(details.begin() + static_cast<std::ptrdiff_t>(index));
  }
  void Set(const StateChange& change, std::shared_ptr<const api::Pod> pod,
           std::shared_ptr<const api::PodDetails> of_pod) const {
    const std::size_t index = IndexOf(change);
    if (Has(index, change)) {
      pods[index] = std::move(pod);
      details[index] = std::move(of_pod);
      return;
    }
    pods.insert(pods.begin() + static_cast<std::ptrdiff_t>(index), std::move(pod));
    details.insert(details.begin() + static_cast<std::ptrdiff_t>(index), std::move(of_pod));
  }
};

}  // namespace

Expected<std::shared_ptr<const whatif::ClusterState>> DecodeForState(std::size_t kind,
                                                                     const simdjson::dom::element& object) {
  whatif::StateBuilder builder({.objects = true, .pod_details = true});
  const bool is_read = builder.Add(kind, object);
  whatif::ClusterState state = std::move(builder).Take();
  if (!is_read) return InvalidError(state.left_out.empty() ? "it cannot be read" : state.left_out.front());
  return std::make_shared<const whatif::ClusterState>(std::move(state));
}

FollowedState::FollowedState(whatif::ClusterState state) : state_(std::move(state)) {
  for (const auto& pod : state_.pods) CountPods(*pod, true);
}

void FollowedState::Apply(const StateChange& change) {
  if (change.kind == whatif::kNodes) {
    ApplyNode(change);
  } else if (change.kind == whatif::kPods) {
    ApplyPod(change);
  } else if (change.kind >= whatif::kAdmissionKinds) {
    ApplyAdmission(change);
  } else {
    ApplyObject(change);
  }
}

std::shared_ptr<const api::Pod> FollowedState::FindPod(const std::string& namespace_name,
                                                       const std::string& name) const {
  return whatif::FindListed(state_.pods, namespace_name, name);
}

void FollowedState::ApplyNode(const StateChange& change) {
  auto& nodes = state_.nodes;
  const auto at = PlaceOf(nodes, change, [](const auto& node) -> const api::ObjectMeta& { return MetaOfPtr(node); });
  const bool is_known = at != nodes.end() && (*at)->metadata.name == change.name;
  if (change.object == nullptr) {
    if (is_known) nodes.erase(at);
  } else if (is_known) {
    *at = change.object->nodes.front();
  } else {
    nodes.insert(at, change.object->nodes.front());
  }
}

void FollowedState::ApplyPod(const StateChange& change) {
  const PodList lists[] = {{state_.pods, state_.pod_details}, {state_.finished_pods, state_.finished_pod_details}};
  const bool is_finished = change.object != nullptr && change.object->pods.empty();
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t index = lists[i].IndexOf(change);
    if (!lists[i].Has(index, change)) continue;
    const api::Pod& before = *lists[i].pods[index];
    if (change.object == nullptr && !change.uid.empty() && before.metadata.uid != change.uid) continue;
    if (i == 0) CountPods(before, false);
    if (change.object == nullptr || is_finished != (i == 1)) lists[i].Erase(index);
  }
  if (change.object == nullptr) return;
  const whatif::ClusterState& of = *change.object;
  if (is_finished) return lists[1].Set(change, of.finished_pods.front(), of.finished_pod_details.front());
  CountPods(*of.pods.front(), true);
  lists[0].Set(change, of.pods.front(), of.pod_details.front());
}

void FollowedState::ApplyObject(const StateChange& change) {
  auto& objects = state_.objects;
  const auto kind = static_cast<framework::ObjectKind>(change.kind - 2);
  const std::string key = change.Key();
  const auto meta_of = [](const framework::AnyObject& object) -> const api::ObjectMeta& {
    return std::visit([](const auto& each) -> const api::ObjectMeta& { return each->metadata; }, object);
  };
  const auto is_before = [&](const framework::AnyObject& object) {
    if (framework::KindOf(object) != kind) return framework::KindOf(object) < kind;
    const api::ObjectMeta& meta = meta_of(object);
    return whatif::CompareListed(meta.namespace_name, meta.name, change.namespace_name, change.name) < 0;
  };
  const auto at = std::partition_point(objects.begin(), objects.end(), is_before);
  const bool is_known = at != objects.end() && framework::KindOf(*at) == kind && IsMeta(meta_of(*at), change);
  if (kind == framework::ObjectKind::kPodDisruptionBudget) {
    state_.budget_details.erase(key);
    if (change.object != nullptr) {
      for (const auto& [name, details] : change.object->budget_details) state_.budget_details[name] = details;
    }
  }
  if (change.object == nullptr) {
    if (is_known) objects.erase(at);
  } else if (is_known) {
    *at = change.object->objects.front();
  } else {
    objects.insert(at, change.object->objects.front());
  }
}

void FollowedState::ApplyAdmission(const StateChange& change) {
  auto& admission = state_.admission;
  // The kinds stay in their order.
  const auto place = [](const whatif::AdmissionObject& object) { return *whatif::KindNamed(object.kind); };
  const auto is_before = [&](const whatif::AdmissionObject& object) {
    if (place(object) != change.kind) return place(object) < change.kind;
    return whatif::CompareListed(object.namespace_name, object.name, change.namespace_name, change.name) < 0;
  };
  const auto at = std::partition_point(admission.begin(), admission.end(), is_before);
  const bool is_known = at != admission.end() && place(*at) == change.kind && at->name == change.name &&
                        at->namespace_name == change.namespace_name;
  if (change.object == nullptr) {
    if (is_known) admission.erase(at);
  } else if (is_known) {
    *at = change.object->admission.front();
  } else {
    admission.insert(at, change.object->admission.front());
  }
}

void FollowedState::CountPods(const api::Pod& pod, bool is_added) {
  if (is_added) {
    ++scheduler_names_[pod.spec.scheduler_name];
    return;
  }
  const auto at = scheduler_names_.find(pod.spec.scheduler_name);
  if (at != scheduler_names_.end() && --at->second == 0) scheduler_names_.erase(at);
}

}  // namespace berth::ask
