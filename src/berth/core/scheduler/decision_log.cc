// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/decision_log.h"

#include "berth/base/utf8.h"

namespace berth::scheduler {

std::string Decision::Why() const {
  std::string why;
  if (node_name.empty()) {
    why = message;
  } else if (feasible_count == 1) {
    why = "the only feasible node of " + std::to_string(node_count);
  } else {
    why = "best of " + std::to_string(feasible_count) + " feasible nodes, score " + std::to_string(total);
  }
  if (node_name.empty() || refusals.empty()) return why;
  why += "; refused:";
  for (const auto& [status, count] : refusals) {
    why += " " + std::to_string(count) + " " + std::string(status.plugin()) + " (" + status.Message() + ")";
  }
  return why;
}

std::size_t Decision::TextBytes() const {
  std::size_t bytes = message.size();
  for (const auto& [status, count] : refusals) {
    for (const std::string& reason : status.reasons()) bytes += sizeof(reason) + reason.size();
  }
  return bytes;
}

Decision& DecisionLog::Append() {
  if (!ring_.empty()) {
    Decision& newest = ring_[(next_ + ring_.size() - 1) % ring_.size()];
    if (newest.TextBytes() > kTextBytesMax) {
      newest.message = std::string(CutUtf8(newest.message, kTextBytesMax));
      newest.refusals = {};
    }
  }
  if (ring_.size() < count_max_) return ring_.emplace_back();
  Decision& slot = ring_[next_];
  next_ = (next_ + 1) % count_max_;
  // In the room that it has.
  Decision cleared;
  for (std::string Decision::* text :
       {&Decision::pod_namespace, &Decision::pod_name, &Decision::pod_uid, &Decision::node_name}) {
    cleared.*text = std::move(slot.*text);
    (cleared.*text).clear();
  }
  slot = std::move(cleared);
  return slot;
}

const Decision* DecisionLog::Find(std::string_view uid) const {
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    if (At(i).pod_uid == uid) return &At(i);
  }
  return nullptr;
}

const Decision* DecisionLog::FindNamed(std::string_view namespace_name, std::string_view name) const {
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    if (At(i).pod_name == name && At(i).pod_namespace == namespace_name) return &At(i);
  }
  return nullptr;
}

absl::flat_hash_map<std::string_view, const Decision*> DecisionLog::ByUid() const {
  absl::flat_hash_map<std::string_view, const Decision*> found;
  for (std::size_t i = 0; i < ring_.size(); ++i) found.try_emplace(At(i).pod_uid, &At(i));
  return found;
}

}  // namespace berth::scheduler
