// SPDX-License-Identifier: Apache-2.0
// DecisionLog: the newest decisions, for explanations. A ring, bounded in decisions and in the bytes of each;
// single-threaded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/time.h"
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
  std::string node_name;   // empty: not placed
  std::int64_t total = 0;  // of the chosen node; 0 when it was the only feasible one
  std::uint32_t node_count = 0;
  std::uint32_t feasible_count = 0;
  // How many nodes were refused for what. The status names the plugin.
  std::vector<std::pair<framework::Status, std::size_t>> refusals;
  std::string message;  // why it was not placed
  // With detail (runtime::EvaluatorOptions): why this one of the feasible nodes.
  std::string reason;

  // As a new one. It keeps the room of its texts, but for a message that was longer than that.
  void Clear(std::size_t message_bytes_max);
  // About what message and refusals take.
  std::size_t TextBytes() const;
  std::string PodKey() const { return pod_namespace + "/" + pod_name; }
  // One line: "best of 3 feasible nodes, score 521; refused: 2 TaintToleration node(s) had untolerated taint(s)", with
  // detail "best of 3 feasible nodes: NodeResourcesFit scores 95 here, 91 on node-3; refused: ...".
  std::string Why() const;
};

// A decision in less room: its texts are one block.
class OlderDecision {
 public:
  // Of a message and refusals with longer texts than that, the beginning of the message alone.
  void Assign(const Decision& decision, std::size_t text_bytes_max);

  std::string_view pod_namespace() const { return {texts_.get(), namespace_end_}; }
  std::string_view pod_name() const { return Text(namespace_end_, name_end_); }
  std::string_view pod_uid() const { return Text(name_end_, uid_end_); }
  std::string_view message() const { return Text(node_end_, message_end_); }
  std::string_view reason() const { return Text(message_end_, reason_end_); }
  Decision Unpack() const;

 private:
  using Refusals = std::vector<std::pair<framework::Status, std::size_t>>;

  std::string_view Text(std::uint32_t begin, std::uint32_t end) const { return {texts_.get() + begin, end - begin}; }

  std::uint64_t cycle_ = 0;
  std::uint64_t seed_ = 0;
  Time time_{};
  std::int64_t total_ = 0;
  std::unique_ptr<char[]> texts_;  // namespace, name, uid, node, message and reason, one after the other
  std::unique_ptr<const Refusals> refusals_;
  std::int32_t attempt_ = 0;
  std::uint32_t node_count_ = 0;
  std::uint32_t feasible_count_ = 0;
  std::uint32_t namespace_end_ = 0;
  std::uint32_t name_end_ = 0;
  std::uint32_t uid_end_ = 0;
  std::uint32_t node_end_ = 0;
  std::uint32_t message_end_ = 0;
  std::uint32_t reason_end_ = 0;
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
  const Decision& Newest() const { return newest_; }
  // The newest decision about the pod.
  std::optional<Decision> Find(std::string_view uid) const;
  // The newest decision about a pod of that name.
  std::optional<Decision> FindNamed(std::string_view namespace_name, std::string_view name) const;
  // Of the newest decision about each pod, by its uid; valid until the next Append().
  absl::flat_hash_map<std::string_view, std::string_view> Messages() const;
  std::size_t size() const { return older_.size() + (has_newest_ ? 1 : 0); }
  std::size_t count_max() const { return count_max_; }

 private:
  // The i-th newest of the older ones.
  const OlderDecision& Older(std::size_t i) const { return older_[(next_ + older_.size() - 1 - i) % older_.size()]; }

  std::size_t count_max_;
  bool has_newest_ = false;
  Decision newest_;
  std::size_t next_ = 0;
  std::vector<OlderDecision> older_;
};

}  // namespace berth::scheduler
