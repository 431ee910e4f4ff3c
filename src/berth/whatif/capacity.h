// SPDX-License-Identifier: Apache-2.0
// `berth capacity`: how many more pods of a shape a cluster takes. They are placed one by one as the scheduler would
// place them, evicting nobody, until one does not fit; then all are taken back. The cluster's own pending pods take no
// room. One thread's.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/framework/objects.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/placement.h"

namespace berth::whatif {

// A kind of pod that is asked about.
struct Shape {
  std::string name;    // "default/web"
  std::string origin;  // where it is from, for people: "web.yaml", "--like default/web-1", "flags"
  api::Pod pod;        // its name, uid, node and status do not matter

  // Makes the pod of that number, 0 being the first, with the claims that are made for it; `claims` may hold some that
  // are there already. Empty: all are copies of `pod`.
  using MakePod = std::function<Expected<api::Pod>(std::size_t number, std::vector<framework::AnyObject>& claims)>;
  MakePod make{};
  // Of a DaemonSet: it gets one pod on each node that its rules allow, except on the nodes that have one.
  struct Daemon {
    std::set<std::string, std::less<>> has_one;
  };
  std::optional<Daemon> daemon{};
};

struct CapacityOptions {
  std::size_t pods_max = 10'000;  // of each shape
  // Places one pod of each shape in turn, until one does not fit. Otherwise each shape has the cluster for itself.
  bool is_together = false;
  // Asked now and then; true: end with what has been counted so far.
  std::function<bool()> is_interrupted = {};
};

struct ShapeCapacity {
  std::string name;
  std::string origin;
  framework::Resource requests;  // of one pod
  std::size_t fits = 0;
  // By node, the one with the most of them first; as many names as nodes that take at least one.
  std::vector<std::pair<std::string, std::size_t>> nodes;
  // Why the next pod was refused; absent where `pods_max` was reached, or where another shape stopped first.
  std::optional<PlacementRefusal> refusal;
  // Of a DaemonSet: nodes that its rules allow and that have no pod of it.
  std::optional<std::size_t> daemon_nodes{};
};

struct Capacity {
  CapacityOptions options;
  std::size_t node_count = 0;
  std::size_t pod_count = 0;      // on nodes
  std::size_t pending_count = 0;  // of the cluster's own
  std::vector<ShapeCapacity> shapes;
  bool is_interrupted = false;  // more may fit
};

// Fails when no profile schedules a shape. Leaves the cluster as it was.
Expected<Capacity> MeasureCapacity(OfflineCluster& cluster, const std::vector<Shape>& shapes,
                                   const CapacityOptions& options);

}  // namespace berth::whatif
