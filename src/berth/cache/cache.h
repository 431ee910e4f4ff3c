// Cache: nodes and the pods on them as the scheduler counts them: what the API server says, plus the pods that were
// decided and whose binding is not confirmed yet (assumed). Single-threaded: the core's thread.
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

#include "berth/base/hash_map.h"
#include "berth/cache/column_node_table.h"
#include "berth/framework/pod_info.h"

namespace berth::cache {

class Cache {
 public:
  enum class PodChange { kAdded, kConfirmed, kMoved, kUpdated };

  const ColumnNodeTable& nodes() const { return nodes_; }

  framework::NodeIndex SetNode(std::shared_ptr<const api::Node> node) { return nodes_.SetNode(std::move(node)); }
  void RemoveNode(std::string_view name) { nodes_.RemoveNode(name); }

  // Counts the pod on pod->node_name before the API server has said so. It must not be known.
  void AssumePod(framework::PodInfoPtr pod);
  // Ends an assumption that came to nothing. The pod must be assumed.
  void ForgetPod(std::string_view uid);

  // What the API server says of an assigned pod. kMoved: it runs elsewhere than assumed or known.
  PodChange SetPod(framework::PodInfoPtr pod);
  // False when it is not known.
  bool RemovePod(std::string_view uid);

  // Null when it is not known.
  const framework::PodInfoPtr* FindPod(std::string_view uid) const;
  bool IsAssumed(std::string_view uid) const;
  std::size_t pod_count() const { return pods_.size(); }
  std::size_t assumed_count() const { return assumed_count_; }

 private:
  struct Entry {
    framework::PodInfoPtr pod;
    framework::NodeIndex row = framework::kNoNode;
    bool is_assumed = false;
  };

  ColumnNodeTable nodes_;
  StringHashMap<Entry> pods_;  // by uid
  std::size_t assumed_count_ = 0;
};

}  // namespace berth::cache
