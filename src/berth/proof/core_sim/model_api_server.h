// SPDX-License-Identifier: Apache-2.0
// ModelApiServer: what a scheduler sees of an API server, as plain single-threaded code: pods, nodes, bindings with
// their preconditions, status patches, and a log of changes for watches. Nothing here is lost, late or doubled:
// Simulation does that to the requests and the watches. For tests only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/error.h"
#include "berth/base/expected.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/operation.h"

namespace berth::core_sim {

using PodPtr = std::shared_ptr<const api::Pod>;
using NodePtr = std::shared_ptr<const api::Node>;

class ModelApiServer {
 public:
  // Pods by namespace/name, nodes by name.
  const std::map<std::string, PodPtr>& pods() const { return pods_; }
  const std::map<std::string, NodePtr>& nodes() const { return nodes_; }
  // What changed, oldest first: inputs as an informer would hand them over. Finished pods look like deleted ones.
  const std::vector<scheduler::Input>& pod_log() const { return pod_log_; }
  const std::vector<scheduler::Input>& node_log() const { return node_log_; }

  void SetNode(api::Node node);
  void DeleteNode(const std::string& name);

  // The pod gets its uid here; uids are never used again.
  void CreatePod(api::Pod pod);
  void SetPod(api::Pod pod);
  void DeletePod(const std::string& key);

  // POST pods/<name>/binding. The node need not exist, as in Kubernetes.
  std::optional<Error> Bind(const framework::PodRef& ref, const std::string& node_name);
  // PATCH pods/<name>/status, without effect when the pod is gone.
  void Patch(const framework::PodStatusWrite& write);
  // PATCH pods/<name>/status as preemption does: a strategic merge patch of conditions, with the uid as precondition.
  std::optional<Error> Patch(const framework::ObjectPatch& patch);
  // DELETE with the uid as precondition: the pod is being deleted until DeletePod is called.
  std::optional<Error> Delete(const framework::ObjectDelete& deletion, Time now);
  // GET; null when there is none.
  PodPtr Read(const framework::PodRef& ref) const;

 private:
  Expected<PodPtr> Find(const framework::ObjectRef& ref, std::string_view uid) const;
  std::string NextVersion() { return std::to_string(++version_); }

  std::map<std::string, PodPtr> pods_;
  std::map<std::string, NodePtr> nodes_;
  std::vector<scheduler::Input> pod_log_;
  std::vector<scheduler::Input> node_log_;
  int version_ = 0;
  int next_uid_ = 1;
};

inline std::string KeyOf(const api::ObjectMeta& meta) { return meta.namespace_name + "/" + meta.name; }
inline bool IsFinished(const api::Pod& pod) {
  return pod.status.phase == api::PodPhase::kSucceeded || pod.status.phase == api::PodPhase::kFailed;
}

}  // namespace berth::core_sim
