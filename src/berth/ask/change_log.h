// SPDX-License-Identifier: Apache-2.0
// ChangeLog: the cluster as it is followed, for several readers that each keep a copy: who has read it before gets what
// has changed since. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "berth/ask/followed_state.h"
#include "berth/whatif/cluster_state.h"

namespace berth::ask {

class ChangeLog {
 public:
  // A reader that is further behind reads everything anew.
  static constexpr std::size_t kChangesMax = 10'000;

  ChangeLog() = default;
  // What will not change: a snapshot.
  explicit ChangeLog(whatif::ClusterState state) : state_(std::move(state)) {}
  ChangeLog(const ChangeLog&) = delete;
  ChangeLog& operator=(const ChangeLog&) = delete;

  void Push(StateChange change);
  void SetFacts(std::string source, std::string kubernetes_version, std::vector<std::string> left_out);

  struct News {
    // Everything; nullopt: `changes` is all that is new.
    std::optional<whatif::ClusterState> whole;
    std::vector<StateChange> changes;
    // Of the facts that change seldom: as ClusterState's.
    std::string source;
    std::string kubernetes_version;
    std::vector<std::string> left_out;
    std::uint64_t until = 0;  // for the next call
  };
  // 0: nothing has been read yet.
  News Since(std::uint64_t from) const;

 private:
  mutable std::mutex mutex_;  // guards all below
  FollowedState state_;
  std::uint64_t count_ = 1;          // changes so far, and one
  std::deque<StateChange> changes_;  // the last ones
};

}  // namespace berth::ask
