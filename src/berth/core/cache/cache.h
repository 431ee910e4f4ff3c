// SPDX-License-Identifier: Apache-2.0
// Cache: nodes and the pods on them as the scheduler counts them: what the API server says, plus the pods that were
// decided and whose binding is not confirmed yet (assumed). Within turns only.
//
//            Assume            SetPod (same node)
//   (none) ---------> assumed --------------------> added ---+
//      ^                | |                           ^      | SetPod
//      |  Forget        | | SetPod (other node)       +------+
//      +----------------+ +---> added on that node
//      |                          |
//      +--------------------------+  RemovePod
//
// An assumed pod never expires: only its outcome ends the assumption.
#pragma once

#include <memory>
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

  // They are told of each pod that gets or loses a node from now on. Must outlive the cache.
  void SetPodGroups(PodGroupStates& groups) { groups_ = &groups; }

  framework::NodeIndex SetNode(std::shared_ptr<const api::Node> node) { return nodes_.SetNode(std::move(node)); }
  void RemoveNode(std::string_view name) { nodes_.RemoveNode(name); }

  void SetImageSizeBytes(std::string_view image, std::int64_t size_bytes) {
    nodes_.SetImageSizeBytes(image, size_bytes);
  }
  void RecordChange(framework::NodeIndex row) { nodes_.RecordChange(row); }

  // Counts the pod on pod->node_name before the API server has said so. It must not be known.
  void AssumePod(framework::PodInfoPtr pod);
  // The same where the row of that node is at hand.
  void AssumePod(framework::PodInfoPtr pod, framework::NodeIndex row);
  // Ends an assumption that came to nothing. The pod must be assumed.
  void ForgetPod(std::string_view uid);

  // What the API server says of an assigned pod. kMoved: it runs elsewhere than assumed or known. `before`, if given,
  // gets the object that was known.
  PodChange SetPod(framework::PodInfoPtr pod, framework::PodInfoPtr* before = nullptr);
  // False when it is not known.
  bool RemovePod(std::string_view uid);

  // Null when it is not known.
  const framework::PodInfoPtr* FindPod(std::string_view uid) const;
  bool IsAssumed(std::string_view uid) const;
  std::size_t pod_count() const { return pods_.size(); }
  std::size_t assumed_count() const { return assumed_count_; }

 private:
  // Found by the pod's own uid, so that no pod's uid is kept twice. The hash beside it spares the table's growth a look
  // at every pod.
  struct Entry {
    std::size_t hash = 0;
    // Changed in place, always for a pod of the same uid.
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
  // Null: nobody looks at groups, or the pod is in none.
  PodGroupStates* GroupsOf(const framework::PodInfo& pod) const {
    return groups_ == nullptr || pod.pod_group_name.empty() ? nullptr : groups_;
  }
  using Pods = absl::flat_hash_set<Entry, EntryHash, EntryEqual>;
  void Erase(Pods::iterator entry);

  ColumnNodeTable nodes_;
  Pods pods_;
  std::size_t assumed_count_ = 0;
  PodGroupStates* groups_ = nullptr;
};

}  // namespace berth::cache
