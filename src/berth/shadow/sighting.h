// SPDX-License-Identifier: Apache-2.0
// Sightings: what the objects of a cluster show of another scheduler's decisions. A pod that had no node and now has
// one was placed; a pod whose condition PodScheduled says so was refused. Pure: inputs in their order are all that it
// knows. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <absl/container/flat_hash_set.h>

#include "berth/api/pod.h"
#include "berth/base/hash_map.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/pod_info.h"

namespace berth::shadow {

// Whether the pod has succeeded or failed, so that it takes no room any more.
bool HasEnded(const api::Pod& pod);

struct Sighting {
  std::shared_ptr<const api::Pod> before;  // without a node, as it was seen last
  std::shared_ptr<const api::Pod> after;   // with a node, or refused
  // `before` as the core keeps it.
  framework::PodInfoPtr pod;
  // Grows with the order in which pods came to the other scheduler's queue.
  std::uint64_t arrival = 0;
  // It came while we looked on, and has been refused never: its place in the other scheduler's queue is known.
  bool is_fresh = false;

  bool is_placed() const { return !after->spec.node_name.empty(); }
};

// Pods whose decision is not compared, by the reason.
struct LeftOut {
  std::uint64_t other_scheduler = 0;  // that none of our profiles is called by
  std::uint64_t had_node = 0;         // when it was seen first: nobody decided it, or we did not look on
  std::uint64_t deleted = 0;          // gone before it was decided, or decided while it was being deleted
  std::uint64_t failed = 0;           // attempts of the other scheduler that ended with an error
  std::uint64_t own_claims = 0;       // its claims were allocated or bound for it before its binding was seen
  std::uint64_t late = 0;             // seen, but we were too far behind to decide it
};

class SightingFilter {
 public:
  using IsOurs = std::function<bool(const api::Pod&)>;
  using MakePod = std::function<framework::PodInfoPtr(const api::Pod&)>;

  // `is_ours` tells the pods that the other scheduler is watched for.
  SightingFilter(IsOurs is_ours, MakePod make_pod) : is_ours_(std::move(is_ours)), make_pod_(std::move(make_pod)) {}

  // Is called once for each input, in the order in which they come.
  std::optional<Sighting> Look(const scheduler::Input& input);
  // What has been seen so far was there before we looked on: nothing of it was a decision.
  void BeginLooking() { looks_on_ = true; }

  const LeftOut& left_out() const { return left_out_; }
  // Pods of the watched scheduler without a node, by what they wait for.
  struct Waiting {
    std::size_t undecided = 0;
    std::size_t refused = 0;
    std::size_t gated = 0;
  };
  Waiting waiting() const;

 private:
  struct Pending {
    std::shared_ptr<const api::Pod> pod;
    std::uint64_t arrival = 0;
    bool is_ours = false;
    bool is_fresh = false;
    bool is_decided = false;  // refused at least once
  };

  std::optional<Sighting> LookAtPod(const std::shared_ptr<const api::Pod>& pod);
  std::optional<Sighting> LookAtPlaced(const std::shared_ptr<const api::Pod>& pod);
  std::optional<Sighting> LookAtPending(const std::shared_ptr<const api::Pod>& pod);
  void Forget(const std::string& uid);
  Sighting Make(const Pending& before, const std::shared_ptr<const api::Pod>& after) const;

  const IsOurs is_ours_;
  const MakePod make_pod_;
  bool looks_on_ = false;
  std::uint64_t arrivals_ = 0;
  StringHashMap<Pending> pending_;           // by uid
  absl::flat_hash_set<std::size_t> placed_;  // hashes of uids: a pod more or less in a count is all that hangs on it
  LeftOut left_out_;
};

}  // namespace berth::shadow
