// SPDX-License-Identifier: Apache-2.0
// ClusterState: a cluster at one moment, as far as scheduling reads it: what the questions `berth explain`,
// `berth simulate`, ... are answered from. A plain value, read from an API server (cluster_reader.h) or from a file
// (snapshot_file.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/api/pod_details.h"
#include "berth/base/time.h"
#include "berth/framework/objects.h"

namespace berth::whatif {

struct ClusterState {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  // Of all namespaces, with and without a node. Finished pods are left out.
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::vector<framework::AnyObject> objects;  // of all other kinds that plugins read

  // Where the reading was asked for details, else empty: those of `pods`, by index; and the finished pods with theirs.
  std::vector<std::shared_ptr<const api::PodDetails>> pod_details;
  std::vector<std::shared_ptr<const api::Pod>> finished_pods;
  std::vector<std::shared_ptr<const api::PodDetails>> finished_pod_details;

  std::string source;              // "https://10.0.0.1:6443", or the path of the file
  std::string kubernetes_version;  // of the API server: "v1.36.3"; empty: not known
  Time read_at{};                  // time of day when the last list was read
  // What could not be read and why, one line each: "csinodes: forbidden: ...". Answers may differ from the scheduler's
  // where such a kind matters.
  std::vector<std::string> left_out;
};

}  // namespace berth::whatif
