// SPDX-License-Identifier: Apache-2.0
// Handle: the services of the scheduler for a plugin. It outlives the plugin. Decide() may be called on any thread;
// everything else within turns only, which means during a call of the plugin. No call blocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/metrics.h"
#include "berth/framework/objects.h"
#include "berth/framework/operation.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/release.h"

namespace berth::framework {

class NodeList;       // node_list.h
class NodeTable;      // fast_path.h
class NominatedRows;  // nominated_rows.h
class PodGroups;      // pod_groups.h

// A plugin's decision about a pod that waits for it at Permit.
struct PermitDecision {
  std::string pod_uid;
  std::string plugin;
  bool allow = false;
  std::string message;  // why the pod is rejected
};

// An events.k8s.io/v1 Event about a pod, or about a node.
struct PodEvent {
  PodRef regarding;                  // of a node: without a namespace
  std::string reporting_controller;  // the schedulerName of the profile
  bool is_warning = false;
  std::string reason;
  std::string action;
  std::string note;
  std::string kind = "Pod";         // or "Node"
  std::optional<PodRef> related{};  // another pod that it is about
};

struct FileText {
  std::string path;  // a path that can be opened from anywhere in the process, for OutsideSource::file
  std::string text;
};

// Base class of objects that the plugin instances of several profiles share (Handle::Shared).
class SharedState {
 public:
  virtual ~SharedState() = default;
};

class Handle {
 public:
  virtual ~Handle() = default;

  // Allows or rejects a pod that waits at Permit. No effect if it does not wait any more. Thread-safe.
  virtual void Decide(PermitDecision decision) = 0;

  virtual const Objects& objects() const = 0;
  // The current nodes, for calls without a Cycle; null if the handle has none.
  const NodeList* nodes() const;

  virtual Metrics& metrics() const { return Metrics::None(); }

  // Runs an operation in the background, without a binding cycle that waits for it. Its final status is dropped; `next`
  // receives the outcome of each step.
  virtual void Start(Operation operation) = 0;
  virtual void Emit(PodEvent event) = 0;

  // The pods nominated for the node, in order of nomination.
  virtual std::vector<PodInfoPtr> NominatedPods(std::string_view node_name) const = 0;
  // The node that the pod is nominated for, even if only in memory; empty: none.
  virtual std::string NominatedNode(std::string_view uid) const = 0;
  // The latest object of the pod if it is on a node or assumed there; otherwise null.
  virtual PodInfoPtr FindAssignedPod(std::string_view uid) const = 0;
  // Removes a pod's nomination, from memory at once and from its status by a write.
  virtual void ClearNomination(const PodInfo& pod) = 0;
  // Ends the binding cycle of a pod that waits at Permit or is in PreBind. The pod returns to the queue with `message`,
  // in PreBind followed by " by PLUGIN". Returns false when there is no such cycle.
  virtual bool CancelBinding(std::string_view uid, std::string_view plugin, std::string_view message) = 0;
  // Moves the pod to activeQ, if the PreEnqueue plugins allow it.
  virtual void Activate(std::string_view uid) = 0;
  // Reads a file of this machine. Only for factories, while the scheduler starts. A relative path is relative to the
  // folder of the configuration file.
  virtual Expected<FileText> ReadFile(const std::string& path) const {
    return InvalidError(path + ": no files can be read here");
  }

  // Returns the T under that name, which the plugin instances of all profiles share. The first caller makes it with
  // `make()`, which returns a std::shared_ptr<T>. It lives as long as the handle, and may use it. Null: the name is
  // used by an object of another class.
  template <typename T, typename Make>
  std::shared_ptr<T> Shared(std::string_view name, const Make& make) {
    auto it = shared_.find(name);
    if (it == shared_.end()) it = shared_.emplace(std::string(name), make()).first;
    return std::dynamic_pointer_cast<T>(it->second);
  }

  // The release of kube-scheduler that is followed. It is set before plugins are made, and does not change.
  const Release& release() const { return release_; }
  void SetRelease(const Release& release) { release_ = release; }

  // For the fast path: the same nodes with their columns.
  virtual const NodeTable* node_table() const { return nullptr; }
  // The nominations that evaluations use, by row; null if the handle has none. They are updated from the nominator when
  // the next scheduling cycle begins.
  virtual const NominatedRows* nominated_rows() const { return nullptr; }

  // The pod groups of the cluster; null if pods are scheduled one by one.
  virtual PodGroups* pod_groups() const { return nullptr; }

 private:
  std::map<std::string, std::shared_ptr<SharedState>, std::less<>> shared_;
  Release release_;
};

}  // namespace berth::framework
