// SPDX-License-Identifier: Apache-2.0
// Reservations: places that are kept for the replacements of pods which are about to be evicted. In the core a
// stand-in, a pod that does not exist, takes the reserved place. When a new pod of the evicted one's controller comes,
// the stand-in is removed and the new pod is nominated for the node, which the scheduling cycle therefore tries first.
// A place is given up after a time limit.
//
//   informers --inputs--> Reservations --inputs--> core --outputs--> Reservations --outputs--> API
//
// A pod that preempts a stand-in gets its place: the eviction is not sent to the API server. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/time.h"
#include "berth/core/scheduler/io.h"
#include "berth/shell/client/event_loop.h"

namespace berth::runner {

class Reservations {
 public:
  // The most places at once; beyond it Reserve() returns false.
  static constexpr std::size_t kMax = 10'000;
  using Push = std::function<void(scheduler::Input)>;

  // `loop` must outlive it. Destroy it on the loop's thread, or after the loop has ended.
  Reservations(client::EventLoop& loop, Push push);
  ~Reservations();
  Reservations(const Reservations&) = delete;
  Reservations& operator=(const Reservations&) = delete;

  // Keeps the room of `evicted`, which has a controller, on the node for `time_max`. False: there are too many places,
  // or there is one for this pod already.
  bool Reserve(const api::Pod& evicted, const std::string& node_name, Duration time_max);
  // The pod was not evicted after all. Without effect when its replacement has come.
  void Cancel(const std::string& evicted_uid);

  // Passes an input on to the core, with the inputs that follow from it.
  void Take(scheduler::Input input);
  // False: the output is not about a stand-in, and has to be performed.
  bool Perform(const scheduler::Output& output);

  std::size_t size() const;

 private:
  struct Place {
    std::string evicted_uid;
    std::string controller_uid;
    std::string node_name;
    std::shared_ptr<const api::Pod> stand_in;  // the pod that the core sees in the place
    std::string arrived_uid;                   // the replacement's; empty: it has not come yet
  };
  using Inputs = std::vector<scheduler::Input>;

  void End(std::uint64_t number);
  // The input that removes the stand-in.
  static scheduler::PodGone GoneOf(const api::Pod& stand_in);
  // The pod as the core is to see it; appends further inputs to `out`. With the lock held.
  std::shared_ptr<const api::Pod> Changed(std::shared_ptr<const api::Pod> pod, Inputs& out);
  void Forget(const std::string& pod_uid);
  void PushAll(Inputs inputs) const;

  client::EventLoop& loop_;
  const Push push_;
  mutable std::mutex mutex_;               // guards places_ and next_; not held while inputs are pushed
  std::map<std::uint64_t, Place> places_;  // in the order in which they were reserved
  std::uint64_t next_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::runner
