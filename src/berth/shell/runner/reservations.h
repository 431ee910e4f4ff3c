// SPDX-License-Identifier: Apache-2.0
// Reservations: places that are kept for the replacements of pods which are about to be evicted. To the core a reserved
// place is taken by a pod that does not exist. When a pod of the evicted one's controller turns up, that pod is gone,
// and the new one is nominated for the node, which the scheduling cycle therefore tries first. What does not come in
// time loses its place.
//
//   informers --inputs--> Reservations --inputs--> core --outputs--> Reservations --outputs--> API
//
// A pod that preempts such a place gets it: the eviction of a pod that does not exist ends here. Thread-safe.
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
  // Places at once; beyond it Reserve() says no.
  static constexpr std::size_t kMax = 10'000;
  using Push = std::function<void(scheduler::Input)>;

  // `loop` must outlive it. On the loop's thread, or after its end, destroyed.
  Reservations(client::EventLoop& loop, Push push);
  ~Reservations();
  Reservations(const Reservations&) = delete;
  Reservations& operator=(const Reservations&) = delete;

  // Keeps the room of `evicted`, which has a controller, on the node for so long. False: there are too many, or one of
  // that pod.
  bool Reserve(const api::Pod& evicted, const std::string& node_name, Duration time_max);
  // The pod was not evicted after all. Without effect when its replacement has come.
  void Cancel(const std::string& evicted_uid);

  // An input on its way to the core, which may become several.
  void Take(scheduler::Input input);
  // False: the output is none of ours, and is to be performed.
  bool Perform(const scheduler::Output& output);

  std::size_t size() const;

 private:
  struct Place {
    std::string evicted_uid;
    std::string controller_uid;
    std::string node_name;
    std::shared_ptr<const api::Pod> stand_in;  // whom the core believes to be there
    std::string arrived_uid;                   // of the replacement; empty: awaited
  };
  using Inputs = std::vector<scheduler::Input>;

  void End(std::uint64_t number);
  // The input that takes the stand-in away.
  static scheduler::PodGone GoneOf(const api::Pod& stand_in);
  // The pod as the core is to see it. With the lock held.
  std::shared_ptr<const api::Pod> Changed(std::shared_ptr<const api::Pod> pod, Inputs& out);
  void Forget(const std::string& pod_uid);
  void PushAll(Inputs inputs) const;

  client::EventLoop& loop_;
  const Push push_;
  mutable std::mutex mutex_;               // guards the two below; not held while inputs are pushed
  std::map<std::uint64_t, Place> places_;  // in the order in which they were reserved
  std::uint64_t next_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::runner
