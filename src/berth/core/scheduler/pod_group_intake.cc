// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/pod_group_intake.h"

#include <memory>
#include <string>
#include <variant>

#include "berth/framework/guarded.h"

namespace berth::scheduler {

using framework::AnyObject;
using framework::PodGroupKey;

namespace {

// The parent and the identity of a group's object.
using GroupView = cache::PodGroupStates::GroupView;

template <typename Group>
std::optional<GroupView> ViewAs(const AnyObject& object, bool is_composite) {
  const auto* const group = std::get_if<std::shared_ptr<const Group>>(&object);
  if (group == nullptr || *group == nullptr) return std::nullopt;
  const api::ObjectMeta& meta = (*group)->metadata;
  return GroupView{{meta.namespace_name, meta.name, is_composite}, (*group)->parent_name, meta.creation_time};
}

std::optional<GroupView> ViewOf(const AnyObject& object) {
  if (auto view = ViewAs<api::PodGroup>(object, false)) return view;
  return ViewAs<api::CompositePodGroup>(object, true);
}

}  // namespace

Expected<PodGroupIntake::Naming> PodGroupIntake::Name(const api::Pod& object, const framework::PodInfo& pod) {
  Naming naming;
  if (state_.pod_groups == nullptr) return naming;
  if (!object.spec.pod_group_name.empty() && state_.release.has_pod_groups) return naming;
  const Profile* const profile = state_.profiles.Find(pod);
  if (profile == nullptr || profile->plugins->pod_group_namer == nullptr) return naming;
  naming.is_new = state_.named_groups.Find(pod.uid) == nullptr;
  const bool is_decided_alone = naming.is_new && (state_.cache.FindPod(pod.uid) != nullptr ||
                                                  state_.queue.Contains(pod.uid) || state_.queue.IsInFlight(pod.uid));
  if (is_decided_alone) return Naming();
  Expected<std::optional<framework::NamedPodGroup>> named = InvalidError("");
  const framework::Status thrown =
      framework::GuardedCall([&] { named = profile->plugins->pod_group_namer->NameGroup(object); });
  if (!thrown.IsSuccess()) named = InvalidError(thrown.Message());
  // An invalid name given later does not change the group of a pod.
  if (!naming.is_new && (!named.ok() || !*named)) return naming;
  if (!named.ok()) return named.error();
  if (!*named) return Naming();
  naming.change = state_.named_groups.Note(pod, **named);
  return naming;
}

void PodGroupIntake::PodPending(const framework::PodInfoPtr& pod) {
  if (state_.pod_groups != nullptr && !pod->pod_group_name.empty()) state_.pod_groups->SetUnscheduled(pod);
}

// With a new pod, its group may have enough members.
void PodGroupIntake::PodAdded(const framework::PodInfoPtr& pod) {
  if (state_.pod_groups == nullptr) return;
  constexpr framework::ClusterEvent kAdded{framework::EventResource::kUnschedulablePod, framework::action::kAdd};
  state_.queue.Move(kAdded, {.new_pod = pod}, state_.now);
}

void PodGroupIntake::PodGone(std::string_view uid) {
  if (state_.pod_groups != nullptr && !state_.cache.FindPod(uid)) state_.pod_groups->Remove(uid);
}

void PodGroupIntake::BeforeObject(const AnyObject& object) {
  if (state_.pod_groups == nullptr) return;
  const auto view = ViewOf(object);
  old_root_ = view ? state_.pod_groups->RootOf(view->key) : std::nullopt;
}

void PodGroupIntake::AfterObject(const AnyObject& before, const AnyObject& after) {
  if (state_.pod_groups == nullptr) return;
  const auto now = ViewOf(after);
  if (!now) return;
  const auto then = ViewOf(before);
  state_.pod_groups->RecordGroup(then ? &*then : nullptr, &*now);
  // Handles a deletion that was missed: the object is another group of the same name.
  if (then && then->parent_name != now->parent_name && old_root_) state_.queue.PodGroupGone(*old_root_, state_.now);
  if (!then || then->parent_name != now->parent_name) state_.queue.PodGroupAdded(now->key, state_.now);
}

bool PodGroupIntake::IsAnotherGroup(const AnyObject& before, const AnyObject& after) {
  const auto uid_of = [](const AnyObject& object) {
    return std::visit([](const auto& each) { return std::string_view(each->metadata.uid); }, object);
  };
  const auto then = ViewOf(before), now = ViewOf(after);
  return then && now && (uid_of(before) != uid_of(after) || then->parent_name != now->parent_name);
}

void PodGroupIntake::BeforeGone(framework::ObjectKind kind, std::string_view key) {
  if (state_.pod_groups == nullptr) return;
  const AnyObject object = state_.objects.Get(kind, key);
  BeforeObject(object);
}

void PodGroupIntake::AfterGone(const AnyObject& before) {
  if (state_.pod_groups == nullptr) return;
  const auto then = ViewOf(before);
  if (!then) return;
  state_.pod_groups->RecordGroup(&*then, nullptr);
  if (old_root_) state_.queue.PodGroupGone(*old_root_, state_.now);
}

}  // namespace berth::scheduler
