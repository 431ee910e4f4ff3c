// SPDX-License-Identifier: Apache-2.0
// GarbageCollector: removes objects of any kind whose owners are all gone or have never been; deletes dependents before
// an owner that is deleted in the foreground, and lets go those of one that orphans them. As kube-controller-manager's.
//
// An object waits in the queue when something about it or its owners has changed; what becomes of it follows from the
// graph alone, but that an owner which was not seen is asked for before it is taken for gone. Writes have the version
// that was seen as a precondition: what changed meanwhile is looked at again. On the loop's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/hash_map.h"
#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/object_graph.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/devcluster/controllers/resource_monitors.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

class GarbageCollector {
 public:
  // Owners that are known to be gone; beyond it the knowledge is dropped and asked for again.
  static constexpr std::size_t kAbsentMax = 100'000;

  // `context` owns what uses it and outlives it.
  explicit GarbageCollector(Context& context);

  void Start() { monitors_.Start(); }
  // Any thread.
  void Stop() { monitors_.Stop(); }

  // Of pods, which the caller watches. Until OnPodsListed() nothing is done.
  void OnPod(const ObjectGraph::ObjectPtr& pod) { OnObject(pods_, pod); }
  void OnPodGone(std::string_view uid) { OnGone(uid); }
  void OnPodsListed();

 private:
  using Node = ObjectGraph::Node;
  using KindPtr = ObjectGraph::KindPtr;
  using ObjectPtr = ObjectGraph::ObjectPtr;
  using Done = client::WorkQueue::Done;

  // What an owner's reference is worth.
  enum class Owner { kSolid, kWaiting, kAbsent, kUnseen, kUnserved, kForeign };
  // What the API server has said of owners that were not seen, by uid; for one look at one object.
  using Answers = StringHashMap<Owner>;
  struct Verdicts {
    std::vector<Owner> owners;  // in the order of the object's
    std::size_t Count(Owner kind) const;
  };

  void OnObject(const KindPtr& kind, const ObjectPtr& object);
  void OnGone(std::string_view uid);
  void OnMonitorsChanged();
  // Puts the object and what it has an effect on into the queue. `before` null: it is new.
  void Consider(const Node& node, const ObjectPtr& before);
  // Puts each owner into the queue whose deletion has waited for what changed in the dependent.
  void ReleaseOwners(const ObjectView& dependent);
  void AddDependents(const Node& node);
  void RecordAbsent(std::string absent_key);

  void Sync(const std::string& uid, Done done);
  // Asks for owners that were not seen, one after the other, then decides.
  void Judge(const std::string& uid, const std::shared_ptr<Answers>& answers, Done done);
  void Ask(const std::string& uid, const ObjectOwner& owner, const std::shared_ptr<Answers>& answers, Done done);
  Owner Classify(const Node& node, const ObjectOwner& owner, const Answers& answers) const;
  void Decide(const Node& node, const Verdicts& verdicts, Done done);
  void Orphan(const Node& node, Done done);

  void RemoveFinalizer(const Node& node, std::string_view finalizer, Done done);
  void PatchOwners(const Node& node, const std::vector<ObjectOwner>& owners, Done done);
  // A merge patch of one list of the metadata: one that is empty goes.
  void PatchMetadata(const Node& node, std::string_view field, json::array list, Done done);
  void Delete(const Node& node, std::string_view propagation, Done done);

  Context& context_;
  const KindPtr pods_;
  std::shared_ptr<client::WorkQueue> queue_;
  ObjectGraph graph_;
  bool has_pods_ = false;
  bool is_ready_ = false;
  StringHashSet absent_;    // as AbsentKey() names them
  StringHashSet unserved_;  // uids of objects with an owner of a kind that is not served
  ResourceMonitors monitors_;
};

}  // namespace berth::controllers
