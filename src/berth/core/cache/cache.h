// SPDX-License-Identifier: Apache-2.0
// Cache: the nodes, and the pods on them as the scheduler counts them. These are the pods that the API server shows on
// a node, and the assumed ones, whose binding is not confirmed yet. Within turns only.
//
//            Assume            SetPod (same node)
//   (none) ---------> assumed --------------------> added ---+
//      ^                | |                           ^      | SetPod
//      |  Forget        | | SetPod (other node)       +------+
//      +----------------+ +---> added on that node
//      |                          |
//      +--------------------------+  RemovePod
//
// An assumed pod never expires: only the outcome of its binding ends the assumption.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_set.h>

#include "berth/base/text_hash.h"
#include "berth/core/cache/column_node_table.h"
#include "berth/core/cache/pod_group_states.h"
#include "berth/framework/pod_info.h"

namespace berth::cache {

class Cache {
 public:
  enum class PodChange { kAdded, kConfirmed, kMoved, kUpdated };

  const ColumnNodeTable& nodes() const { return nodes_; }

  // From now on `groups` is informed of each pod that gets or loses a node. It must outlive the cache.
  void SetPodGroups(PodGroupStates& groups) { groups_ = &groups; }

  framework::NodeIndex SetNode(std::shared_ptr<const api::Node> node) { return nodes_.SetNode(std::move(node)); }
  void RemoveNode(std::string_view name) { nodes_.RemoveNode(name); }

  void SetImageSizeBytes(std::string_view image, std::int64_t size_bytes) {
    nodes_.SetImageSizeBytes(image, size_bytes);
  }
  void RecordChange(framework::NodeIndex row) { nodes_.RecordChange(row); }

  // Counts the pod on pod->node_name before its binding is confirmed. The cache must not contain the pod.
  void AssumePod(framework::PodInfoPtr pod);
  // The same with the row of that node, which saves a lookup.
  void AssumePod(framework::PodInfoPtr pod, framework::NodeIndex row);
  // Takes an assumed pod off its node after its binding failed.
  void ForgetPod(std::string_view uid);

  // Sets an assigned pod as the API server shows it. kMoved: it is on another node than assumed or known. `before`, if
  // not null, receives the previous object.
  PodChange SetPod(framework::PodInfoPtr pod, framework::PodInfoPtr* before = nullptr);
  // Returns the pod's former place among its node's pods; nullopt when it is not in the cache.
  std::optional<std::size_t> RemovePod(std::string_view uid);
  // Undoes RemovePod(), whose result is `place`: the node's pods are in the order that they had. What was done to them
  // afterwards must have been undone before.
  void PutBack(framework::PodInfoPtr pod, std::size_t place, bool is_assumed);

  // Null when the pod is not in the cache.
  const framework::PodInfoPtr* FindPod(std::string_view uid) const;
  bool IsAssumed(std::string_view uid) const;
  std::size_t pod_count() const { return pods_.size(); }
  std::size_t assumed_count() const { return assumed_count_; }

 private:
  // The key is the uid in the pod, so that it is not stored twice. The hash is stored so that growing the table reads
  // no pods.
  struct Entry {
    std::size_t hash = 0;
    // Assigned in place, always by a pod of the same uid.
    mutable framework::PodInfoPtr pod;
    mutable framework::NodeIndex row = framework::kNoNode;
    mutable bool is_assumed = false;
  };
  struct Probe {
    std::size_t hash = 0;
    std::string_view uid;
  };
  struct EntryHash {
    using is_transparent = void;
    std::size_t operator()(const Entry& entry) const { return entry.hash; }
    std::size_t operator()(const Probe& probe) const { return probe.hash; }
  };
  struct EntryEqual {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const { return a.hash == b.hash && a.pod->uid == b.pod->uid; }
    bool operator()(const Entry& a, const Probe& b) const { return a.hash == b.hash && a.pod->uid == b.uid; }
    bool operator()(const Probe& a, const Entry& b) const { return (*this)(b, a); }
  };
  static Probe ProbeFor(std::string_view uid) { return {HashText(uid), uid}; }
  const Entry* Find(std::string_view uid) const;
  void Assume(framework::PodInfoPtr pod, framework::NodeIndex row);
  // Null: pod groups are not tracked, or the pod is in none.
  PodGroupStates* GroupsOf(const framework::PodInfo& pod) const {
    return groups_ == nullptr || pod.pod_group_name.empty() ? nullptr : groups_;
  }
  using Pods = absl::flat_hash_set<Entry, EntryHash, EntryEqual>;
  std::size_t Erase(Pods::iterator entry);  // returns its place among its node's pods

  ColumnNodeTable nodes_;
  Pods pods_;
  std::size_t assumed_count_ = 0;
  PodGroupStates* groups_ = nullptr;
};

}  // namespace berth::cache
