// SPDX-License-Identifier: Apache-2.0
// ClusterState: a cluster at one moment, as far as scheduling reads it: what the questions `berth explain`,
// `berth simulate`, ... are answered from. A plain value, read from an API server (cluster_reader.h) or from a file
// (snapshot_file.h).
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/api/pod_details.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/framework/objects.h"

namespace berth::whatif {

// An object by which the API server or a controller fills pods in or refuses them before a scheduler sees them: a
// PriorityClass, RuntimeClass, ResourceClaimTemplate or ResourceQuota, reduced to what that takes.
struct AdmissionObject {
  std::string kind;
  std::string namespace_name;
  std::string name;
  codec::json::object object;
};

struct ClusterState {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  // Of all namespaces, with and without a node. Finished pods are left out.
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::vector<framework::AnyObject> objects;  // of all other kinds that plugins read
  std::vector<AdmissionObject> admission;     // for pods that are made from manifests (admission_rules.h)

  // Empty unless the reader was asked for details: those of `pods`, by index, and the finished pods with theirs.
  std::vector<std::shared_ptr<const api::PodDetails>> pod_details;
  std::vector<std::shared_ptr<const api::Pod>> finished_pods;
  std::vector<std::shared_ptr<const api::PodDetails>> finished_pod_details;

  // What PodDisruptionBudgets say of pods that are not ready; by "namespace/name".
  std::map<std::string, std::shared_ptr<const api::BudgetDetails>, std::less<>> budget_details;

  std::string source;              // "https://10.0.0.1:6443", or the path of the file
  std::string kubernetes_version;  // of the API server: "v1.36.3"; empty: not known
  Time read_at{};                  // time of day when the last list was read
  // What could not be read and why, one line each: "csinodes: forbidden: ...". Answers may differ from the scheduler's
  // where such a kind matters.
  std::vector<std::string> left_out;
};

// Whether `left_out` names the kind ("persistentvolumes"): then an object that is not there may exist all the same.
inline bool IsLeftOut(const ClusterState& state, std::string_view resource) {
  return std::ranges::any_of(state.left_out, [&](const std::string& line) {
    return line.starts_with(resource) && std::string_view(line).substr(resource.size()).starts_with(": ");
  });
}

}  // namespace berth::whatif
