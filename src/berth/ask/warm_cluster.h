// SPDX-License-Identifier: Apache-2.0
// WarmCluster: a copy of a cluster with a core on it that is kept between questions: what has changed in the cluster is
// changed in the copy, and what a question tries is taken back. Asking costs what the question touches, and no loading.
// The core is loaded anew where a trial has done what cannot be taken back (whatif/trial_journal.h), and where a node
// has come or gone. Answers are those of a core that was loaded just now. One thread's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/ask/asked_cluster.h"
#include "berth/ask/change_log.h"
#include "berth/ask/followed_state.h"
#include "berth/base/time.h"

namespace berth::ask {

class WarmCluster final : public AskedCluster {
 public:
  // `log` and `clock` must outlive it. `is_live`: the time of day goes on; else it stays that of the state.
  WarmCluster(const ChangeLog& log, CoreFor core_for, const Clock& clock, bool is_live);
  ~WarmCluster() override;

  // Takes in what has changed.
  void CatchUp();
  // The same, and makes the core that most questions need, for who has time: before the first question, or after one
  // that has spoilt it.
  void Prepare();
  // Ends a trial that is under way; asked now and then. Empty: nobody does.
  void SetInterrupt(std::function<bool()> is_interrupted) { is_interrupted_ = std::move(is_interrupted); }

  const whatif::ClusterState& state() const override { return state_.state(); }
  const whatif::PodIndex* index() const override { return index_ ? &*index_ : nullptr; }
  Expected<whatif::OfflineCluster*> Core(OtherSchedulers others) override;
  Expected<void> Try(const Pods& added, const std::function<Expected<void>(whatif::OfflineCluster&)>& trial) override;
  Expected<void> UseUp(const std::function<Expected<void>(whatif::OfflineCluster&)>& use) override;
  std::vector<std::string> TakeNotes() override;

  // Cores that have been loaded so far.
  std::size_t loads() const { return loads_; }

 private:
  struct Kept {
    std::unique_ptr<whatif::OfflineCluster> core;  // null: not made yet, or spoilt
    std::vector<std::string> notes;
    std::set<std::string> others;  // schedulers of pods that the configuration does not have
    // Nodes whose pods have changed and may be in another order than that of the state.
    std::set<std::string> changed_nodes;
  };

  Expected<Kept*> Find(OtherSchedulers others);
  Expected<void> UseOnce(const Pods& added, const std::function<Expected<void>(whatif::OfflineCluster&)>& use);
  Expected<Kept> Load(const Pods& added, OtherSchedulers others);
  std::set<std::string> UnknownSchedulers(const whatif::OfflineCluster& core) const;
  void Change(Kept& kept, const StateChange& change, const std::string& replaced_uid);
  void Order(Kept& kept) const;
  // The pods that have no node.
  whatif::PodPtrs WaitingPods() const;

  const ChangeLog& log_;
  const CoreFor core_for_;
  const Clock& clock_;
  const bool is_live_;
  std::uint64_t read_until_ = 0;
  FollowedState state_;
  std::optional<whatif::PodIndex> index_;  // nullopt: the pods are not in the order of the API server's list
  Kept plain_;                             // with the profiles of the configuration alone
  Kept with_others_;                       // where pods name other schedulers, and these have a profile too
  bool adds_no_others_ = false;            // the configuration is somebody's, and no profile is added to it
  std::vector<std::string> notes_;
  std::function<bool()> is_interrupted_;
  std::size_t loads_ = 0;
};

}  // namespace berth::ask
