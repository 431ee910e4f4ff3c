// SPDX-License-Identifier: Apache-2.0
// The synthetic clusters of berth-bench. Names and shapes are those of bench/cluster, which measures a scheduler from
// outside; some exist here only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/framework/objects.h"

namespace berth::bench {

// The size of a run. -1: the workload's default.
struct Shape {
  int nodes = 5000;
  int existing = -1;
  int pods = -1;
  int zones = 3;         // node i is in zone i % zones
  int deployments = -1;  // of workloads whose pods have owners
  int amount = -1;       // amount of bad input
  bool interleaved = false;
};

// Groups of pods. Each has its own names and, unless the recipe says otherwise, its own namespace.
enum class Group : std::uint8_t { kExisting, kMeasured, kSide };
inline constexpr int kGroupCount = 3;

// The pods of a group: a few kinds, made once each, and the differences from pod to pod.
struct Recipe {
  int kinds = 1;
  std::function<int(int i)> kind_of;  // empty: i % kinds
  std::function<void(api::Pod&, int kind)> dress;
  std::function<void(api::Pod&, int i)> vary;  // must set every field that it sets for any i; may be empty

  int KindOf(int i) const { return kind_of ? kind_of(i) : i % kinds; }
};

inline constexpr int kNowhere = -1;

// The placements of a finished run: the node's number by the pod's number, kNowhere for pods without a node.
struct Placements {
  int nodes = 0;
  int zones = 0;
  std::vector<int> of[kGroupCount];

  const std::vector<int>& existing() const { return of[static_cast<int>(Group::kExisting)]; }
  const std::vector<int>& measured() const { return of[static_cast<int>(Group::kMeasured)]; }
};

// What a workload may do while its pods are scheduled.
class Feed {
 public:
  virtual ~Feed() = default;
  virtual void SetNode(int i) = 0;
  virtual void RemoveNode(int i) = 0;
  virtual void AddPod(Group group, int i) = 0;  // pending
  virtual void RemovePod(Group group, int i) = 0;
  virtual void SetObject(framework::AnyObject object) = 0;
  virtual void RemoveObject(framework::ObjectKind kind, const std::string& key) = 0;
};

struct Workload {
  Shape shape;                                             // with all defaults replaced
  std::string scheduler_name{api::kDefaultSchedulerName};  // of all pods
  Recipe existing;
  Recipe measured;
  Recipe side;
  int side_count = 0;              // number of kSide pods that are pending before the measured ones are added
  std::function<int(int i)> home;  // node of an existing pod; empty: i % nodes
  std::function<void(api::Node&, int)> node;  // changes a plain node; may be empty
  std::vector<framework::AnyObject> objects;  // exist from the start
  std::vector<std::string> gates;             // enabled feature gates, of Kubernetes 1.37
  int step_cycles = 0;                        // step is called after each of this number of cycles; 0: never
  std::function<void(Feed&, int step)> step;  // step counts from 0
  // Describes an error in the placements; empty: there is none.
  std::function<std::string(const Placements&)> rule;
};

struct WorkloadEntry {
  const char* name;
  const char* about;
  double existing_per_node;  // default sizes
  double pods_per_node;
  void (*make)(Workload&);  // completes a workload with a given shape
};

// Null when there is no workload of this name.
const WorkloadEntry* FindWorkload(const std::string& name);
Workload MakeWorkload(const WorkloadEntry& entry, Shape shape);

std::string NodeName(int i);
// The number in a name made by NodeName or PodName; kNowhere when there is none.
int NumberIn(const std::string& name);
std::shared_ptr<const api::Node> MakeNode(const Workload& workload, int i);

// Makes the pods of a group one after another in the same few objects, because the pods of a whole cluster would take
// more memory than the scheduler.
class PodSource {
 public:
  // `recipe` must outlive it.
  PodSource(Group group, const Recipe& recipe, std::string scheduler_name = std::string(api::kDefaultSchedulerName))
      : group_(group), recipe_(recipe), scheduler_name_(std::move(scheduler_name)) {}

  // Pod i in its initial state, valid until the next call. Each call gives it a newer resource version.
  const std::shared_ptr<api::Pod>& Make(int i);
  static Group GroupOf(const std::string& pod_name);

 private:
  const Group group_;
  const Recipe& recipe_;
  const std::string scheduler_name_;
  std::vector<std::shared_ptr<api::Pod>> kinds_;
  long version_ = 0;
};

}  // namespace berth::bench
