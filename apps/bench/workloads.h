// SPDX-License-Identifier: Apache-2.0
// The synthetic clusters of berth-bench. Names and shapes are those of bench/cluster, which times a scheduler from
// outside; some more are here only.
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

// How large a run is. -1: the workload's own default.
struct Shape {
  int nodes = 5000;
  int existing = -1;
  int pods = -1;
  int zones = 3;         // node i is in zone i % zones
  int deployments = -1;  // of workloads whose pods have owners
  int amount = -1;       // of what is bad about bad input
  bool interleaved = false;
};

// Pods are of one of these groups; each has its own names and, if the recipe does not say otherwise, its namespace.
enum class Group : std::uint8_t { kExisting, kMeasured, kSide };
inline constexpr int kGroupCount = 3;

// How the pods of a group look: of a few kinds, made once each, and what differs from pod to pod.
struct Recipe {
  int kinds = 1;
  std::function<int(int i)> kind_of;  // empty: i % kinds
  std::function<void(api::Pod&, int kind)> dress;
  std::function<void(api::Pod&, int i)> vary;  // must set all that it sets for any i; may be empty

  int KindOf(int i) const { return kind_of ? kind_of(i) : i % kinds; }
};

inline constexpr int kNowhere = -1;

// Where the pods of a finished run are: the node's number by the pod's, kNowhere for pods without one.
struct Placements {
  int nodes = 0;
  int zones = 0;
  std::vector<int> of[kGroupCount];

  const std::vector<int>& existing() const { return of[static_cast<int>(Group::kExisting)]; }
  const std::vector<int>& measured() const { return of[static_cast<int>(Group::kMeasured)]; }
};

// What a workload does while its pods are being scheduled.
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
  Shape shape;                                             // nothing in it is a default any more
  std::string scheduler_name{api::kDefaultSchedulerName};  // of all pods
  Recipe existing;
  Recipe measured;
  Recipe side;
  int side_count = 0;                         // pods of kSide that are there, pending, before the measured ones
  std::function<int(int i)> home;             // node of an existing pod; empty: i % nodes
  std::function<void(api::Node&, int)> node;  // changes a plain node; may be empty
  std::vector<framework::AnyObject> objects;  // there from the start
  std::vector<std::string> gates;             // feature gates that are on, of Kubernetes 1.37
  int step_cycles = 0;                        // step is called after each so many cycles; 0: never
  std::function<void(Feed&, int step)> step;  // step counts from 0
  // What is wrong with the placements; empty: nothing.
  std::function<std::string(const Placements&)> rule;
};

struct WorkloadEntry {
  const char* name;
  const char* about;
  double existing_per_node;  // default sizes
  double pods_per_node;
  void (*make)(Workload&);  // completes a workload whose shape is set
};

// Nullptr when there is none of that name.
const WorkloadEntry* FindWorkload(const std::string& name);
Workload MakeWorkload(const WorkloadEntry& entry, Shape shape);

std::string NodeName(int i);
// The number in a name such as NodeName's or PodName's; kNowhere when there is none.
int NumberIn(const std::string& name);
std::shared_ptr<const api::Node> MakeNode(const Workload& workload, int i);

// Makes the pods of a group, one after another, in the same few objects: a cluster's worth of pods would outweigh the
// scheduler.
class PodSource {
 public:
  // `recipe` must outlive it.
  PodSource(Group group, const Recipe& recipe, std::string scheduler_name = std::string(api::kDefaultSchedulerName))
      : group_(group), recipe_(recipe), scheduler_name_(std::move(scheduler_name)) {}

  // Pod i as new, valid until the next call. Each call gives it a newer resource version.
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
