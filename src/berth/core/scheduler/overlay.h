// SPDX-License-Identifier: Apache-2.0
// Overlay: answers questions of the form "what if?". Nodes and pods of a core are changed, pods are evaluated on the
// changed cluster, and all changes are taken back. A change costs what it touches, an evaluation reuses a class's kept
// results for all other nodes, and undoing restores every count. So thousands of questions need no copy of the cluster.
// Within turns only. The scheduler that made it must not be called while changes are outstanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/core/runtime/outcome.h"
#include "berth/framework/node_table.h"
#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth::runtime {
class Evaluator;
struct ProfilePlugins;
}  // namespace berth::runtime

namespace berth::scheduler {

struct CoreState;
struct Profile;

class Overlay {
 public:
  // kChoice finds the best node and is as fast as scheduling. kAll reports all feasible nodes, their totals and the
  // score of each plugin.
  enum class Detail : std::uint8_t { kChoice, kAll };

  // `evaluator` answers questions about the outcome (StatusOf, RefusalCounts, Message, RunPostFilter with a dry run).
  // Both members are valid until the next Evaluate() with the same detail.
  struct Answer {
    runtime::Evaluator& evaluator;
    const runtime::Outcome& outcome;
  };

  // The number of changes so far, for UndoTo().
  using Mark = std::size_t;

  // `state` must outlive it.
  explicit Overlay(CoreState& state);
  ~Overlay();
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  const framework::NodeTable& nodes() const;
  const framework::Objects& objects() const;
  // The plugins of the pod's profile; null: no profile schedules it.
  const runtime::ProfilePlugins* ProfileOf(const framework::PodInfo& pod) const;
  // The name of the configuration's first profile.
  const std::string& first_profile() const;
  // Makes the core's form of a pod, which need not exist in the cluster.
  framework::PodInfoPtr MakePod(const api::Pod& pod);

  // Evaluates the pod as the next scheduling cycle would. A profile must schedule it. `seed` breaks ties.
  Answer Evaluate(const framework::PodInfoPtr& pod, Detail detail, std::uint64_t seed = 1);

  // Places the pod of the last Evaluate() on the node in `row`, as a scheduling cycle does: assumes it there and runs
  // the Reserve plugins. After a refusal by a plugin nothing is changed.
  framework::Status Place(const framework::PodInfoPtr& pod, framework::NodeIndex row);
  // Adds the pod to the node that it names, as the core does for a watch event: no plugin is called. The pod must not
  // be on a node yet.
  void AddPod(framework::PodInfoPtr pod);
  // Takes a pod off its node. False when no pod with this uid is on a node.
  bool RemovePod(std::string_view uid);
  // Adds a node, or replaces its object.
  void SetNode(std::shared_ptr<const api::Node> node);
  // Pods on the node stay in the cache; remove them first. False when there is no such node.
  bool RemoveNode(std::string_view name);
  // Adds or replaces an object. Pod groups are not allowed, because their members are counted elsewhere.
  void SetObject(framework::AnyObject object);
  // False when there is no such object.
  bool RemoveObject(framework::ObjectKind kind, const std::string& key);

  Mark mark() const { return changes_.size(); }
  // Makes the changes so far real: they are not taken back any more.
  void Keep() { changes_.clear(); }
  // Takes back all changes since `mark`, the newest first.
  void UndoTo(Mark mark);

  // For an overlay that lives long, every few minutes: drops what evaluations keep for pods not evaluated since the
  // last call. Invalidates the last answer.
  void DropIdle();

 private:
  struct Placed {
    const Profile* profile;
    framework::PodInfoPtr pod;
  };
  struct PodAdded {
    std::string uid;
  };
  struct PodRemoved {
    framework::PodInfoPtr pod;
    std::size_t place;  // among its node's pods
    bool was_assumed;
  };
  struct NodeChanged {
    std::string name;
    std::shared_ptr<const api::Node> before;  // null: there was none
    // A node's image sizes before the change. All nodes share the size that the first node with the image reported.
    std::vector<std::pair<std::string, std::int64_t>> image_sizes;
  };
  struct ObjectChanged {
    framework::ObjectKind kind;
    std::string key;
    framework::AnyObject before;  // a null pointer: it was added
  };
  using Change = std::variant<Placed, PodAdded, PodRemoved, NodeChanged, ObjectChanged>;
  struct Evaluators {
    std::unique_ptr<runtime::Evaluator> choice;
    std::unique_ptr<runtime::Evaluator> all;
  };

  NodeChanged RecordNode(const std::string& name) const;
  void Undo(const Placed& change);
  void Undo(const PodAdded& change);
  void Undo(const PodRemoved& change);
  void Undo(const NodeChanged& change);
  void Undo(const ObjectChanged& change);

  CoreState& state_;
  // Separate from the scheduler's evaluators, so that questions do not change what these keep for later pods.
  std::map<const Profile*, Evaluators> evaluators_;
  const Profile* profile_ = nullptr;         // of the last Evaluate()
  runtime::Evaluator* evaluator_ = nullptr;  // ran the last Evaluate()
  std::vector<Change> changes_;
};

}  // namespace berth::scheduler
