// SPDX-License-Identifier: Apache-2.0
// RecordedObjects: the cluster as a recorded core has been told of it so far. A plain value, one thread's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/objects.h"
#include "berth/whatif/cluster_state.h"

namespace berth::replay {

class RecordedObjects {
 public:
  // An input of the core; those that tell of no object are passed over.
  void Take(const scheduler::Input& input);

  const std::map<std::string, std::shared_ptr<const api::Node>>& nodes() const { return nodes_; }  // by name
  const std::map<std::string, std::shared_ptr<const api::Pod>>& pods() const { return pods_; }     // by uid
  using Key = std::pair<framework::ObjectKind, std::string>;                                       // framework::KeyOf
  const std::map<Key, framework::AnyObject>& others() const { return objects_; }
  // The same for questions, with what schedulers read and nothing else. Source, version and time are set by the caller.
  whatif::ClusterState State() const;

 private:
  std::map<std::string, std::shared_ptr<const api::Node>> nodes_;
  std::map<std::string, std::shared_ptr<const api::Pod>> pods_;
  std::map<Key, framework::AnyObject> objects_;
};

}  // namespace berth::replay
