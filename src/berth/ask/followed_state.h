// SPDX-License-Identifier: Apache-2.0
// FollowedState: a ClusterState that is kept current, object by object, in the order in which the API server lists
// objects, so that an answer does not depend on how the state came about. One thread's.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/whatif/cluster_state.h"

namespace simdjson::dom {
class element;
}

namespace berth::ask {

// One object that came, changed or went.
struct StateChange {
  std::size_t kind = 0;  // of whatif::StateBuilder
  std::string namespace_name;
  std::string name;
  // A state of this one object alone, as a StateBuilder makes it; null: the object is gone.
  std::shared_ptr<const whatif::ClusterState> object;
  // Of a pod that is gone; empty: it was replaced by the one of the same name, or its uid does not matter.
  std::string uid;

  std::string Key() const { return namespace_name.empty() ? name : namespace_name + '/' + name; }
};

// Decodes the object of a kind, with what moving pods needs beside scheduling.
Expected<std::shared_ptr<const whatif::ClusterState>> DecodeForState(std::size_t kind,
                                                                     const simdjson::dom::element& object);

class FollowedState {
 public:
  FollowedState() = default;
  explicit FollowedState(whatif::ClusterState state);

  void Apply(const StateChange& change);
  void SetReadAt(Time now) { state_.read_at = now; }
  void SetLeftOut(std::vector<std::string> lines) { state_.left_out = std::move(lines); }
  void SetVersion(std::string version) { state_.kubernetes_version = std::move(version); }
  void SetSource(std::string source) { state_.source = std::move(source); }

  const whatif::ClusterState& state() const { return state_; }
  // How many pods, finished ones aside, name each scheduler.
  const std::map<std::string, std::size_t, std::less<>>& scheduler_names() const { return scheduler_names_; }
  // The pod of that name that has not finished; null: there is none.
  std::shared_ptr<const api::Pod> FindPod(const std::string& namespace_name, const std::string& name) const;

 private:
  void ApplyPod(const StateChange& change);
  void ApplyNode(const StateChange& change);
  void ApplyObject(const StateChange& change);
  void ApplyAdmission(const StateChange& change);
  void CountPods(const api::Pod& pod, bool is_added);

  whatif::ClusterState state_;
  std::map<std::string, std::size_t, std::less<>> scheduler_names_;
};

}  // namespace berth::ask
