// SPDX-License-Identifier: Apache-2.0
// `berth simulate` as a question; see questions.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/ask/ask_limits.h"
#include "berth/ask/asked_cluster.h"
#include "berth/ask/reply.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/manifests.h"

namespace berth::ask {

// So many more pods of a workload, each like one that the cluster has.
struct MoreReplicas {
  static constexpr std::size_t kAddMax = 10'000;
  whatif::Workload workload;
  std::size_t add = 0;
};

// The field "replicas"; without it none.
Expected<std::vector<MoreReplicas>> ReplicasIn(const codec::json::object& of);
// kInvalid: the cluster has no pod of the workload. `index`, of the state's pods, may be null.
Expected<void> AddReplicas(const whatif::ClusterState& state, const whatif::PodIndex* index, const MoreReplicas& more,
                           whatif::Additions& additions);

struct SimulateQuestion {
  std::vector<whatif::ManifestFile> files;
  std::string namespace_name = "default";  // of manifests that name none
  std::size_t add_nodes = 0;               // so many more, like `node_like`
  std::string node_like;
  std::vector<std::string> remove_nodes;
  std::vector<MoreReplicas> replicas;

  static Expected<SimulateQuestion> Parse(const codec::json::object& body);
  codec::json::object ToJson() const;
};
Expected<Reply> Answer(const SimulateQuestion& question, const AskLimits& limits, AskedCluster& cluster);

}  // namespace berth::ask
