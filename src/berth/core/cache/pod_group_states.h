// SPDX-License-Identifier: Apache-2.0
// PodGroupStates: which pods each pod group has, and which of them have a node, and the tree that groups form. It
// follows the cache by itself; of pods without a node and of groups it is told. Within turns only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/framework/objects.h"
#include "berth/framework/pod_groups.h"

namespace berth::cache {

class PodGroupStates final : public framework::PodGroups {
 public:
  using Key = framework::PodGroupKey;

  // `objects` must outlive it. Without `has_composites` each PodGroup stands for itself: there are no other groups.
  PodGroupStates(const framework::Objects& objects, bool has_composites)
      : objects_(objects), has_composites_(has_composites) {}

  // framework::PodGroups
  std::optional<Key> RootOf(const Key& group) const override;
  std::vector<Key> ChildrenOf(const Key& composite) const override;
  const api::PodGroup* FindPodGroup(const Key& group) const override;
  const api::CompositePodGroup* FindComposite(const Key& composite) const override;
  std::vector<Key> GroupsOfPods() const override;
  Counts CountsOf(const Key& group) const override;
  std::vector<framework::PodInfoPtr> ScheduledPods(const Key& group) const override;
  std::vector<framework::PodInfoPtr> UnscheduledPods(const Key& group) const override;
  std::uint64_t version() const override { return version_; }
  void AllowWaiting(const Key& group, std::string_view plugin) override;

  // A pod of a group: it has, or has not, a node; or it is gone. Each may be repeated.
  void SetScheduled(const framework::PodInfoPtr& pod);
  void SetUnscheduled(const framework::PodInfoPtr& pod);
  void Remove(std::string_view uid);

  // The object of a group has been added, changed or removed: it may be null before or after.
  struct GroupView {
    Key key;
    std::string_view parent_name;
    std::optional<Time> creation_time;
  };
  void RecordGroup(const GroupView* before, const GroupView* after);

  // While a trial lives, pods that the cache adds, assumes, forgets and removes count as before: none of it need come
  // true. Trials may be within each other.
  class Trial {
   public:
    // Null: there are no groups. `states` must outlive it.
    explicit Trial(PodGroupStates* states) : states_(states) {
      if (states_ != nullptr) ++states_->trial_count_;
    }
    ~Trial() {
      if (states_ != nullptr) --states_->trial_count_;
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

   private:
    PodGroupStates* const states_;
  };

  // A pod that has a node waits at Permit for the plugin, until it is allowed, or loses its node.
  void RecordWaiting(const framework::PodInfo& pod, std::string_view plugin);
  // Uid and plugin of those that have been allowed since the last call.
  struct Allowed {
    std::string uid;
    std::string plugin;
  };
  std::vector<Allowed> TakeAllowed() { return std::exchange(allowed_, {}); }

  // Groups with a pod.
  std::size_t size() const { return states_.size(); }

 private:
  // By uid, so that lists are in the same order each time.
  using Pods = std::map<std::string, framework::PodInfoPtr, std::less<>>;
  struct State {
    Pods scheduled;
    Pods unscheduled;
    std::map<std::string, std::vector<std::string>, std::less<>> waiting;  // at Permit: uid to plugins
  };

  const State* Find(const Key& group) const;
  static std::vector<framework::PodInfoPtr> ListOf(const Pods& pods);

  const framework::Objects& objects_;
  const bool has_composites_;
  absl::flat_hash_map<Key, State> states_;
  StringHashMap<Key> group_of_uid_;  // of the pods in states_
  // Of composite groups, whether their objects exist or not: age, name, kind.
  using Child = std::tuple<std::optional<Time>, std::string, bool>;
  absl::flat_hash_map<Key, std::set<Child>> children_;
  std::vector<Allowed> allowed_;
  int trial_count_ = 0;
  std::uint64_t version_ = 1;
};

}  // namespace berth::cache
