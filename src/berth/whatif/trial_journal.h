// SPDX-License-Identifier: Apache-2.0
// TrialJournal: what a trial on an OfflineCluster touches first, so that it can be taken back. What was added is taken
// away again; pods that got or lost a node, and nodes that went, are put back, each node's pods in their order. A trial
// that does more than that (evicts pods, adds nodes, changes objects that were there) spoils the cluster, which then
// has to be loaded anew. A plain value.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/framework/objects.h"

namespace berth::whatif {

class TrialJournal {
 public:
  using PodPtr = std::shared_ptr<const api::Pod>;
  using NodePtr = std::shared_ptr<const api::Node>;
  using ObjectId = std::pair<framework::ObjectKind, std::string>;

  // `before` is what was there; null: nothing.
  void NotePod(const std::string& uid, PodPtr before) {
    if (seen_pods_.insert_or_assign(uid, true).second) pods.emplace_back(uid, std::move(before));
  }
  void NoteNode(const std::string& name, NodePtr before) { nodes.emplace_back(name, std::move(before)); }
  void Spoil() { is_spoilt = true; }

  std::vector<std::pair<std::string, PodPtr>> pods;    // in the order in which they were touched first
  std::vector<std::pair<std::string, NodePtr>> nodes;  // each change, in order
  std::set<ObjectId> added_objects;
  // The uids of the pods of nodes that were to lose one of them, in their order, by the node's name.
  std::map<std::string, std::vector<std::string>> orders;
  bool is_spoilt = false;
  // Of the cluster before the trial.
  Time began{};
  bool had_refused_groups = false;
  bool was_retry_due = false;
  Time retried_until{};

 private:
  StringHashMap<bool> seen_pods_;
};

}  // namespace berth::whatif
