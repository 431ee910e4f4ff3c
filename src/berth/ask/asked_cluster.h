// SPDX-License-Identifier: Apache-2.0
// AskedCluster: the cluster that a question is about, as whoever answers it sees it: its state, and cores on it. One
// thread's. Two kinds: OnceCluster, for one question, and WarmCluster (warm_cluster.h), for many.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/expected.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/offline_cluster.h"
#include "berth/whatif/pod_index.h"

namespace berth::ask {

using Pods = std::vector<std::shared_ptr<const api::Pod>>;

// Where nobody has said what decides, that is for pods whose schedulerName is not default-scheduler: nothing, they have
// no profile; or kube-scheduler's defaults too.
enum class OtherSchedulers : std::uint8_t { kHaveNoProfile, kByDefaults };

struct CoreToMake {
  whatif::OfflineOptions options;  // its time is set by who makes the core
  std::vector<std::string> notes;  // what a reader of the answer should know of it, one line each
};
// By what pods are decided; `added` are pods that the cluster does not have, `configuration` the text of a
// KubeSchedulerConfiguration that the question brings along: empty where it brings none.
using CoreFor = std::function<Expected<CoreToMake>(const whatif::ClusterState& state, const Pods& added,
                                                   OtherSchedulers others, std::string_view configuration)>;

class AskedCluster {
 public:
  virtual ~AskedCluster() = default;
  virtual const whatif::ClusterState& state() const = 0;
  // Of the state's pods; null: nobody keeps one.
  virtual const whatif::PodIndex* index() const { return nullptr; }
  // Whether the configuration that decides is one that the question has brought along.
  virtual bool HasOwnConfiguration() const { return false; }
  // A core that has been loaded with the state. It must be left as it was. Valid until the next call of either.
  virtual Expected<whatif::OfflineCluster*> Core(OtherSchedulers others) = 0;
  // Calls `trial` with such a core for these and `added` pods, which it may change as it likes.
  virtual Expected<void> Try(const Pods& added,
                             const std::function<Expected<void>(whatif::OfflineCluster&)>& trial) = 0;
  // Calls `use` with a core that is thrown away afterwards, for what cannot be taken back.
  virtual Expected<void> UseUp(const std::function<Expected<void>(whatif::OfflineCluster&)>& use) = 0;
  // What a reader should know of the core that was asked last.
  virtual std::vector<std::string> TakeNotes() = 0;
};

// Of a state that is asked about once, or a few times.
class OnceCluster final : public AskedCluster {
 public:
  // `state` must outlive it. `is_interrupted` ends trials, see whatif::OfflineOptions; `configuration` as CoreFor has
  // it.
  OnceCluster(const whatif::ClusterState& state, CoreFor core_for, std::function<bool()> is_interrupted = {},
              std::string configuration = {});
  ~OnceCluster() override;

  const whatif::ClusterState& state() const override { return state_; }
  bool HasOwnConfiguration() const override { return !configuration_.empty(); }
  Expected<whatif::OfflineCluster*> Core(OtherSchedulers others) override;
  Expected<void> Try(const Pods& added, const std::function<Expected<void>(whatif::OfflineCluster&)>& trial) override;
  Expected<void> UseUp(const std::function<Expected<void>(whatif::OfflineCluster&)>& use) override {
    return Try({}, use);
  }
  std::vector<std::string> TakeNotes() override { return notes_; }

 private:
  Expected<void> MakeCore(const Pods& added, OtherSchedulers others);

  const whatif::ClusterState& state_;
  const CoreFor core_for_;
  const std::function<bool()> is_interrupted_;
  const std::string configuration_;
  std::unique_ptr<whatif::OfflineCluster> core_;              // null: none, or a trial has changed it
  OtherSchedulers others_ = OtherSchedulers::kHaveNoProfile;  // that it is for
  std::vector<std::string> notes_;
};

}  // namespace berth::ask
