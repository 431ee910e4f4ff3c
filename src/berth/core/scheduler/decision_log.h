// SPDX-License-Identifier: Apache-2.0
// DecisionLog: a ring of the newest decisions, for explanations. The number of decisions and the bytes of each are
// bounded. Single-threaded.
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
  std::uint64_t seed = 0;   // of the cycle; breaks ties
  Time time{};
  std::int32_t attempt = 0;
  // Names instead of the object, which may be megabytes large and would outlive the pod.
  std::string pod_namespace;
  std::string pod_name;
  std::string pod_uid;
  std::string node_name;   // empty: not placed
  std::int64_t total = 0;  // the chosen node's total score; 0 when only one node was feasible
  std::uint32_t node_count = 0;
  std::uint32_t feasible_count = 0;
  // How many nodes were refused for each reason. The status names the plugin.
  std::vector<std::pair<framework::Status, std::size_t>> refusals;
  std::string message;  // why the pod was not placed
  // Why this node was chosen among the feasible ones; only with detail (runtime::EvaluatorOptions).
  std::string reason;

  // Resets the decision. Its strings keep their capacity, except a message longer than `message_bytes_max`.
  void Clear(std::size_t message_bytes_max);
  // Approximate size of message and refusals.
  std::size_t TextBytes() const;
  std::string PodKey() const { return pod_namespace + "/" + pod_name; }
  // One line: "best of 3 feasible nodes, score 521; refused: 2 TaintToleration node(s) had untolerated taint(s)", with
  // detail "best of 3 feasible nodes: NodeResourcesFit scores 95 here, 91 on node-3; refused: ...".
  std::string Why() const;
};

// A decision in compact form: all its texts are in one block.
class OlderDecision {
 public:
  // If message and refusals together are longer than `text_bytes_max`, only the beginning of the message is kept.
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
  std::unique_ptr<char[]> texts_;  // namespace, name, uid, node, message and reason, concatenated
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
  // Message and refusals may be megabytes long. Beyond this size only the beginning of the message is kept, from the
  // moment a newer decision is appended.
  static constexpr std::size_t kTextBytesMax = 4096;

  // `count_max` 0 counts as 1.
  explicit DecisionLog(std::size_t count_max) : count_max_(std::max<std::size_t>(1, count_max)) {}

  // The reference is valid until the next Append().
  Decision& Append();
  // The log must not be empty.
  const Decision& Newest() const { return newest_; }
  // The newest decision about the pod.
  std::optional<Decision> Find(std::string_view uid) const;
  // The newest decision about a pod with this namespace and name.
  std::optional<Decision> FindNamed(std::string_view namespace_name, std::string_view name) const;
  // The message of the newest decision about each pod, by uid; valid until the next Append().
  absl::flat_hash_map<std::string_view, std::string_view> Messages() const;
  std::size_t size() const { return older_.size() + (has_newest_ ? 1 : 0); }
  std::size_t count_max() const { return count_max_; }

 private:
  // The i-th newest decision of `older_`.
  const OlderDecision& Older(std::size_t i) const { return older_[(next_ + older_.size() - 1 - i) % older_.size()]; }

  std::size_t count_max_;
  bool has_newest_ = false;
  Decision newest_;
  std::size_t next_ = 0;
  std::vector<OlderDecision> older_;
};

}  // namespace berth::scheduler
