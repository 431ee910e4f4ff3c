// SPDX-License-Identifier: Apache-2.0
// DecisionLog: the newest decisions, for explanations. A ring, bounded in decisions and in the bytes of each;
// single-threaded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/time.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth::scheduler {

struct Decision {
  std::uint64_t cycle = 0;  // counts from 1
  std::uint64_t seed = 0;   // of this cycle: breaks ties
  Time time{};
  std::int32_t attempt = 0;
  // Of the pod. Not its object: what tenants write may be megabytes, and would stay after it is gone.
  std::string pod_namespace;
  std::string pod_name;
  std::string pod_uid;
  std::weak_ptr<const framework::PodInfo> pod;  // while something else keeps it
  std::string node_name;                        // empty: not placed
  std::int64_t total = 0;                       // of the chosen node; 0 when it was the only feasible one
  std::uint32_t node_count = 0;
  std::uint32_t feasible_count = 0;
  // How many nodes were refused for what. The status names the plugin.
  std::vector<std::pair<framework::Status, std::size_t>> refusals;
  std::string message;  // why it was not placed

  // About what message and refusals take.
  std::size_t TextBytes() const;
  std::string PodKey() const { return pod_namespace + "/" + pod_name; }
  // One line: "best of 3 feasible nodes, score 521; refused: 2 TaintToleration node(s) had untolerated taint(s)".
  std::string Why() const;
};

class DecisionLog {
 public:
  // A decision with longer texts, which may be megabytes, keeps the beginning of its message until it is the newest no
  // more.
  static constexpr std::size_t kTextBytesMax = 4096;

  // At least one is kept.
  explicit DecisionLog(std::size_t count_max) : count_max_(std::max<std::size_t>(1, count_max)) {}

  // The reference is valid until the next Append().
  Decision& Append();
  // There must be one.
  const Decision& Newest() const { return ring_[(next_ + ring_.size() - 1) % ring_.size()]; }
  // The newest decision about the pod, or null.
  const Decision* Find(std::string_view uid) const;
  // The newest decision about a pod of that name, or null.
  const Decision* FindNamed(std::string_view namespace_name, std::string_view name) const;
  // The newest decision about each pod; valid until the next Append().
  absl::flat_hash_map<std::string_view, const Decision*> ByUid() const;
  std::size_t size() const { return ring_.size(); }
  std::size_t count_max() const { return count_max_; }

 private:
  // The i-th newest.
  const Decision& At(std::size_t i) const { return ring_[(next_ + ring_.size() - 1 - i) % ring_.size()]; }

  std::size_t count_max_;
  std::size_t next_ = 0;
  std::vector<Decision> ring_;
};

}  // namespace berth::scheduler
