// SPDX-License-Identifier: Apache-2.0
// PodGroupIntake: what inputs mean to pod groups: which pods a group has, and what becomes of waiting pods when a
// group's object comes, changes or goes. Without pod groups it does nothing. Within turns only.
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

  // A pod that has just come or changed, and is not in a group of the API: whether its profile's plugin says that it is
  // in another one, which holds from then on. An error: what is wrong with it. Of a pod that is scheduled by itself
  // already, nothing new is asked.
  struct Naming {
    bool is_new = false;
    std::optional<cache::NamedPodGroups::Change> change;
  };
  Expected<Naming> Name(const api::Pod& object, const framework::PodInfo& pod);
  // A pod of ours without a node, before the queue gets it, and after, if it is new there.
  void PodPending(const framework::PodInfoPtr& pod);
  void PodAdded(const framework::PodInfoPtr& pod);
  // A pod that is deleted, has ended or is not ours any more.
  void PodGone(std::string_view uid);

  // Around the change of an object of any kind.
  void BeforeObject(const framework::AnyObject& object);
  void AfterObject(const framework::AnyObject& before, const framework::AnyObject& after);
  // Whether a group has been deleted, and made again under its name: an informer that missed the deletion shows it as
  // an update.
  static bool IsAnotherGroup(const framework::AnyObject& before, const framework::AnyObject& after);
  void BeforeGone(framework::ObjectKind kind, std::string_view key);
  void AfterGone(const framework::AnyObject& before);

 private:
  CoreState& state_;
  std::optional<framework::PodGroupKey> old_root_;  // of the object that is about to change
};

}  // namespace berth::scheduler
