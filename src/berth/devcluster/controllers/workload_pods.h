// SPDX-License-Identifier: Apache-2.0
// The pods that controllers make of a workload's template: what upstream's controllers add to it, as far as the API
// server and a scheduler read it. The controllers of this folder make their pods here, and the questions of whatif do,
// so that both are about the same pods. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/devcluster/controllers/objects.h"
#include "berth/devcluster/controllers/pod_decision.h"

namespace berth::controllers {

// Which version of its template a pod of a DaemonSet or a StatefulSet is of.
inline constexpr const char* kRevisionHashLabel = "controller-revision-hash";
// A label and an annotation of the pods of an indexed Job.
inline constexpr const char* kCompletionIndexKey = "batch.kubernetes.io/job-completion-index";

// The template of a Deployment's ReplicaSet.
json::object ReplicaSetTemplate(const WorkloadView& deployment, const std::string& hash);

class PodMaker {
 public:
  // `kind` is "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet" or "Job". The workload must outlive it.
  PodMaker(std::string_view kind, const WorkloadView& workload);

  // `number` is the ordinal of a StatefulSet's pod, or the index of one of an indexed Job; others have none. A
  // DaemonSet's pod may go to any node.
  json::object Make(const std::string& name, std::int64_t number = -1) const;
  // A DaemonSet's pod, which may go to that node alone.
  json::object MakeFor(const std::string& node, const std::string& name) const;
  // The PersistentVolumeClaims of a StatefulSet's pod.
  std::vector<PodDecision::New> Claims(std::int64_t ordinal) const;

  // The value of kRevisionHashLabel; empty: its pods have none.
  const std::string& revision() const { return revision_; }

 private:
  void NumberStatefulPod(const std::string& name, std::int64_t ordinal, json::object& pod) const;

  std::string kind_;
  const WorkloadView& workload_;
  std::string revision_;
  json::object template_;  // with what all pods of the workload have
};

}  // namespace berth::controllers
