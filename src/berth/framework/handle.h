// Handle: what the scheduler offers to a plugin for its whole life. Outlives the plugin. All but Decide() is for the
// core's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/metrics.h"
#include "berth/framework/objects.h"
#include "berth/framework/operation.h"
#include "berth/framework/pod_info.h"

namespace berth::framework {

class NodeTable;
class NominatedRows;

// A plugin's word about a pod that it made wait at Permit.
struct PermitDecision {
  std::string pod_uid;
  std::string plugin;
  bool allow = false;
  std::string message;  // why it is rejected
};

// An events.k8s.io/v1 Event about a pod, or about a node.
struct PodEvent {
  PodRef regarding;                  // of a node: without a namespace
  std::string reporting_controller;  // the schedulerName of the profile that speaks
  bool is_warning = false;
  std::string reason;
  std::string action;
  std::string note;
  std::string kind = "Pod";  // or "Node"
};

struct FileText {
  std::string path;  // as it can be opened from anywhere in the process: for OutsideSource::file
  std::string text;
};

class Handle {
 public:
  virtual ~Handle() = default;

  // Reaches the core as an input; without effect when the pod waits no longer. Thread-safe.
  virtual void Decide(PermitDecision decision) = 0;

  virtual const Objects& objects() const = 0;
  // The nodes as they are now, for work that outlasts a scheduling cycle; null where the handle has none. Read between
  // evaluations, as the core's other inputs are.
  virtual const NodeTable* nodes() const { return nullptr; }

  virtual Metrics& metrics() const { return Metrics::None(); }

  // Carries out an operation that no pod's binding cycle waits for. Its status is dropped: `next` sees every outcome.
  virtual void Start(Operation operation) = 0;
  virtual void Emit(PodEvent event) = 0;

  // The nominations that evaluations respect, by row; null where the handle has none. As they are within a scheduling
  // cycle: they follow the nominator when the next one begins.
  virtual const NominatedRows* nominated_rows() const { return nullptr; }
  // Pods nominated for the node, in the order of their nominations.
  virtual std::vector<PodInfoPtr> NominatedPods(std::string_view node_name) const = 0;
  // The pod of that uid that is on a node or assumed there, as last seen; null: there is none.
  virtual PodInfoPtr FindAssignedPod(std::string_view uid) const = 0;
  // Takes a pod's nomination away: in memory at once, and in its status.
  virtual void ClearNomination(const PodInfo& pod) = 0;
  // Ends the binding cycle of an assumed pod that is not being bound yet: it waits at Permit or in PreBind. It goes
  // back into the queue and says `message`, in PreBind with " by PLUGIN". False when there is no such cycle.
  virtual bool CancelBinding(std::string_view uid, std::string_view plugin, std::string_view message) = 0;
  // Asks all PreEnqueue plugins again and puts the pod into activeQ if they agree.
  virtual void Activate(std::string_view uid) = 0;
  // A file of this machine, for factories alone: what they need of it while the scheduler starts. A relative path
  // counts from the folder of the configuration file. An error where the handle has no files.
  virtual Expected<FileText> ReadFile(const std::string& path) const {
    return InvalidError(path + ": no files can be read here");
  }

  // What the instances of plugins in several profiles share, under a name that they agree on; empty until one of them
  // puts something there. It may use the handle as long as it lives.
  std::shared_ptr<void>& Shared(std::string_view name) {
    const auto it = shared_.find(name);
    return it != shared_.end() ? it->second : shared_[std::string(name)];
  }

 private:
  std::map<std::string, std::shared_ptr<void>, std::less<>> shared_;
};

}  // namespace berth::framework
