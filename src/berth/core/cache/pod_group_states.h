// SPDX-License-Identifier: Apache-2.0
// PodGroupStates: the pods of each pod group, with and without a node, and the tree of groups. The cache keeps it
// informed of pods with a node; pods without a node and groups are reported by its functions. Within turns only.
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

  // `objects` must outlive it. Without `has_composites` there are no composite groups, and each PodGroup is a root.
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

  // The pod of a group has a node, has none, or is gone. Calls may be repeated.
  void SetScheduled(const framework::PodInfoPtr& pod);
  void SetUnscheduled(const framework::PodInfoPtr& pod);
  void Remove(std::string_view uid);

  // The object of a group was added, changed or removed; either argument may be null.
  struct GroupView {
    Key key;
    std::string_view parent_name;
    std::optional<Time> creation_time;
  };
  void RecordGroup(const GroupView* before, const GroupView* after);

  // During a trial, changes in the cache do not change the counts, because they will be undone. Trials may be nested.
  class Trial {
   public:
    // `states` is null when there are no groups; otherwise it must outlive the trial.
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

  // The pod, which has a node, waits at Permit for the plugin until it is allowed or loses its node.
  void RecordWaiting(const framework::PodInfo& pod, std::string_view plugin);
  // A pod that AllowWaiting() allowed, and the plugin; TakeAllowed() returns those since the last call.
  struct Allowed {
    std::string uid;
    std::string plugin;
  };
  std::vector<Allowed> TakeAllowed() { return std::exchange(allowed_, {}); }

  // Number of groups with pods.
  std::size_t size() const { return states_.size(); }

 private:
  // Sorted by uid, so that the order of lists is deterministic.
  using Pods = std::map<std::string, framework::PodInfoPtr, std::less<>>;
  struct State {
    Pods scheduled;
    Pods unscheduled;
    // At Permit: the plugins that each uid waits for.
    std::map<std::string, std::vector<std::string>, std::less<>> waiting;
  };

  const State* Find(const Key& group) const;
  static std::vector<framework::PodInfoPtr> ListOf(const Pods& pods);

  const framework::Objects& objects_;
  const bool has_composites_;
  absl::flat_hash_map<Key, State> states_;
  StringHashMap<Key> group_of_uid_;  // the pods in states_
  // The children of composite groups, sorted by age, name and kind. The objects of the composite groups need not exist.
  using Child = std::tuple<std::optional<Time>, std::string, bool>;
  absl::flat_hash_map<Key, std::set<Child>> children_;
  std::vector<Allowed> allowed_;
  int trial_count_ = 0;
  std::uint64_t version_ = 1;
};

}  // namespace berth::cache
