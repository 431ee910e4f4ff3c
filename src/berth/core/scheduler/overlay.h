// SPDX-License-Identifier: Apache-2.0
// Overlay: "what if?". Nodes and pods of a core are changed, pods are evaluated on the cluster as it would be then, and
// all changes are taken back. A change costs what it touches, evaluations reuse what a class knows of all other nodes,
// and taking back restores every count, so that questions can be asked by the thousand without a copy of the cluster.
// Within turns only. While it has changes that are not taken back, the scheduler that made it must not be called.
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

#include "berth/core/scheduler/core_state.h"
#include "berth/framework/status.h"

namespace berth::scheduler {

class Overlay {
 public:
  // How much an evaluation tells. kChoice is as fast as scheduling is; kAll tells all feasible nodes, their totals and
  // the score of each plugin.
  enum class Detail : std::uint8_t { kChoice, kAll };

  // `evaluator` answers questions about the outcome (StatusOf, RefusalCounts, Message, RunPostFilter with a dry run).
  // Both are valid until the next Evaluate() with the same detail.
  struct Answer {
    runtime::Evaluator& evaluator;
    const runtime::Outcome& outcome;
  };

  // Changes so far; for UndoTo().
  using Mark = std::size_t;

  // `state` must outlive it.
  explicit Overlay(CoreState& state) : state_(state) {}
  ~Overlay() { UndoTo(0); }
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  const framework::NodeTable& nodes() const { return state_.cache.nodes(); }
  const framework::Objects& objects() const { return state_.objects; }
  // Null: no profile schedules the pod.
  const Profile* ProfileOf(const framework::PodInfo& pod) const { return state_.profiles.Find(pod); }
  // The name of the configuration's first profile.
  const std::string& first_profile() const { return state_.profiles.first(); }
  // A pod that need not exist, as the core would keep it.
  framework::PodInfoPtr MakePod(const api::Pod& pod) { return state_.MakePodInfo(pod); }

  // Evaluates the pod as the next scheduling cycle would. A profile must schedule it. `seed` breaks ties.
  Answer Evaluate(const framework::PodInfoPtr& pod, Detail detail, std::uint64_t seed = 1);

  // Puts the pod of the last Evaluate() on the node in `row`, as a scheduling cycle does: assumes it there and runs the
  // Reserve plugins. A plugin's refusal leaves everything as it was.
  framework::Status Place(const framework::PodInfoPtr& pod, framework::NodeIndex row);
  // Counts the pod on the node that it names, as the core does when the API server tells of it: no plugin is asked. It
  // must not be on a node.
  void AddPod(framework::PodInfoPtr pod);
  // Takes a pod off its node. False when no such pod is on a node.
  bool RemovePod(std::string_view uid);
  // A node that is new, or another object for one that there is.
  void SetNode(std::shared_ptr<const api::Node> node);
  // Pods on it stay where they are; remove them first. False when there is no such node.
  bool RemoveNode(std::string_view name);
  // An object that is new, or another version of one that there is; of no kind of pod group, whose members are counted.
  void SetObject(framework::AnyObject object);
  // False when there is no such object.
  bool RemoveObject(framework::ObjectKind kind, const std::string& key);

  Mark mark() const { return changes_.size(); }
  // Takes back all changes since `mark`, the newest first.
  void UndoTo(Mark mark);

  // For an overlay that lives long, every few minutes: drops what evaluations keep of pods that have not come since the
  // last call. The last answer is of no use any more.
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
    bool was_assumed;
  };
  struct NodeChanged {
    std::string name;
    std::shared_ptr<const api::Node> before;  // null: there was none
    // Of its images: all nodes share the size that the first of them told.
    std::vector<std::pair<std::string, std::int64_t>> image_sizes;
  };
  struct ObjectChanged {
    framework::ObjectKind kind;
    std::string key;
    framework::AnyObject before;  // a null pointer: there was none
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
  // Of its own, so that questions leave no trace in what the scheduler's evaluators keep for later pods.
  std::map<const Profile*, Evaluators> evaluators_;
  const Profile* profile_ = nullptr;         // of the last Evaluate()
  runtime::Evaluator* evaluator_ = nullptr;  // that ran it
  std::vector<Change> changes_;
};

}  // namespace berth::scheduler
