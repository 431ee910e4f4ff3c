// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/pod_counts.h"

namespace berth::plugins {

using framework::NodeIndex;
using framework::NodeInfo;
using framework::NodeTable;
using framework::PodInfo;

std::int32_t PodCounts::Answer(const PodInfo& pod) {
  const bool is_terminating = pod.deletion_time.has_value();
  const std::uint64_t id = pod.pod_class->id;
  const std::uint64_t key = id * 2 + (is_terminating ? 2 : 1);
  KeptAnswer& kept = answers_[(is_terminating ? ~id : id) & (answers_.size() - 1)];
  if (kept.key == key) return kept.weight;
  if (kept.key != 0) ++pushed_out_;
  kept = {key, weigh_(*pod.pod_class, is_terminating)};
  return kept.weight;
}

std::int32_t PodCounts::Count(const NodeInfo& node) {
  std::int32_t count = 0;
  if (!node.has_node()) return count;
  for (const framework::PodInfoPtr& pod : node.pods()) count += Answer(*pod);
  return count;
}

std::optional<std::span<const PodCounts::Change>> PodCounts::Update(const NodeTable& nodes) {
  const auto changes = table_.Take(nodes);
  changes_.clear();
  if (answers_.empty() || (pushed_out_ > answers_.size() && answers_.size() < kAnswersMax)) {
    answers_.assign(answers_.empty() ? kAnswersMin : answers_.size() * 2, {});
    pushed_out_ = 0;
  }
  if (!changes) {
    by_row_.assign(nodes.row_count(), 0);
    total_ = 0;
    for (const NodeIndex row : nodes.rows()) total_ += by_row_[row] = Count(nodes.Info(row));
    return std::nullopt;
  }
  by_row_.resize(nodes.row_count(), 0);
  for (const NodeIndex row : changes->rows) {
    const std::int32_t before = by_row_[row];
    const std::int32_t after = Count(nodes.Info(row));
    if (before == after) continue;
    by_row_[row] = after;
    total_ += after - before;
    changes_.push_back({row, before, after});
  }
  return changes_;
}

void PodCounts::Forget() {
  answers_.clear();
  table_.Forget();
}

std::size_t PodCounts::Bytes() const {
  return by_row_.capacity() * sizeof(by_row_[0]) + changes_.capacity() * sizeof(Change) +
         answers_.capacity() * sizeof(KeptAnswer);
}

}  // namespace berth::plugins
