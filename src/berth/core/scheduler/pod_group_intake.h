// SPDX-License-Identifier: Apache-2.0
// PodGroupIntake: applies inputs to pod groups: which pods a group has, and what happens to waiting pods when a group's
// object is added, changed or deleted. Does nothing when pods are scheduled one by one. Within turns only.
#pragma once

#include <optional>
#include <string_view>

#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/core/cache/named_pod_groups.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/framework/objects.h"
#include "berth/framework/pod_groups.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

class PodGroupIntake {
 public:
  // `state` must outlive it.
  explicit PodGroupIntake(CoreState& state) : state_(state) {}

  // For a new or changed pod that is in no group of the API: asks the plugin of its profile whether the pod is in a
  // named group, which it then stays in. The plugin is not asked about a pod that is already scheduled by itself. The
  // error says what is wrong with the pod.
  struct Naming {
    bool is_new = false;
    std::optional<cache::NamedPodGroups::Change> change;
  };
  Expected<Naming> Name(const api::Pod& object, const framework::PodInfo& pod);
  // For one of our pods without a node: PodPending before it goes into the queue, and PodAdded afterwards if it is new
  // there.
  void PodPending(const framework::PodInfoPtr& pod);
  void PodAdded(const framework::PodInfoPtr& pod);
  // For a pod that is deleted, has ended or belongs to another scheduler now.
  void PodGone(std::string_view uid);

  // Called before and after the change of an object of any kind.
  void BeforeObject(const framework::AnyObject& object);
  void AfterObject(const framework::AnyObject& before, const framework::AnyObject& after);
  // Whether a group was deleted and created again under its name. An informer that missed the deletion shows this as an
  // update.
  static bool IsAnotherGroup(const framework::AnyObject& before, const framework::AnyObject& after);
  void BeforeGone(framework::ObjectKind kind, std::string_view key);
  void AfterGone(const framework::AnyObject& before);

 private:
  CoreState& state_;
  std::optional<framework::PodGroupKey> old_root_;  // root of the group that is about to change
};

}  // namespace berth::scheduler
