// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/decision_log.h"

#include <algorithm>
#include <array>

#include "berth/base/utf8.h"

namespace berth::scheduler {

std::string Decision::Why() const {
  std::string why;
  if (node_name.empty()) {
    why = message;
  } else if (feasible_count == 1) {
    why = reason.empty() ? "the only feasible node of " + std::to_string(node_count) : reason;
  } else {
    why = "best of " + std::to_string(feasible_count) + " feasible nodes" +
          (reason.empty() ? ", score " + std::to_string(total) : ": " + reason);
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
    for (const std::string& text : status.reasons()) bytes += sizeof(text) + text.size();
  }
  return bytes;
}

void Decision::Clear(std::size_t message_bytes_max) {
  cycle = seed = 0;
  time = {};
  attempt = 0;
  total = 0;
  node_count = feasible_count = 0;
  for (std::string* const text : {&pod_namespace, &pod_name, &pod_uid, &node_name, &message, &reason}) text->clear();
  if (message.capacity() > message_bytes_max) message.shrink_to_fit();
  refusals.clear();
}

void OlderDecision::Assign(const Decision& decision, std::size_t text_bytes_max) {
  cycle_ = decision.cycle;
  seed_ = decision.seed;
  time_ = decision.time;
  total_ = decision.total;
  attempt_ = decision.attempt;
  node_count_ = decision.node_count;
  feasible_count_ = decision.feasible_count;
  const bool is_large = decision.TextBytes() > text_bytes_max;
  const std::string_view message = is_large ? CutUtf8(decision.message, text_bytes_max) : decision.message;
  refusals_ = is_large || decision.refusals.empty() ? nullptr : std::make_unique<const Refusals>(decision.refusals);
  const std::array<std::pair<std::string_view, std::uint32_t OlderDecision::*>, 6> parts = {{
      {decision.pod_namespace, &OlderDecision::namespace_end_},
      {decision.pod_name, &OlderDecision::name_end_},
      {decision.pod_uid, &OlderDecision::uid_end_},
      {decision.node_name, &OlderDecision::node_end_},
      {message, &OlderDecision::message_end_},
      {decision.reason, &OlderDecision::reason_end_},
  }};
  std::size_t size = 0;
  for (const auto& [text, end] : parts) size += text.size();
  // The block is reused if the texts fit and fill at least half of it.
  if (size > reason_end_ || size < reason_end_ / 2) texts_ = std::make_unique_for_overwrite<char[]>(size);
  char* at = texts_.get();
  for (const auto& [text, end] : parts) {
    at += text.copy(at, text.size());
    this->*end = static_cast<std::uint32_t>(at - texts_.get());
  }
}

Decision OlderDecision::Unpack() const {
  Decision decision;
  decision.cycle = cycle_;
  decision.seed = seed_;
  decision.time = time_;
  decision.attempt = attempt_;
  decision.pod_namespace = pod_namespace();
  decision.pod_name = pod_name();
  decision.pod_uid = pod_uid();
  decision.node_name = Text(uid_end_, node_end_);
  decision.total = total_;
  decision.node_count = node_count_;
  decision.feasible_count = feasible_count_;
  if (refusals_ != nullptr) decision.refusals = *refusals_;
  decision.message = message();
  decision.reason = reason();
  return decision;
}

Decision& DecisionLog::Append() {
  if (!has_newest_) {
    has_newest_ = true;
    return newest_;
  }
  const std::size_t older_max = count_max_ - 1;
  if (older_.size() < older_max) {
    older_.emplace_back().Assign(newest_, kTextBytesMax);
  } else if (older_max > 0) {
    older_[next_].Assign(newest_, kTextBytesMax);
    next_ = (next_ + 1) % older_max;
  }
  newest_.Clear(kTextBytesMax);
  return newest_;
}

std::optional<Decision> DecisionLog::Find(std::string_view uid) const {
  if (has_newest_ && newest_.pod_uid == uid) return newest_;
  for (std::size_t i = 0; i < older_.size(); ++i) {
    if (Older(i).pod_uid() == uid) return Older(i).Unpack();
  }
  return std::nullopt;
}

std::optional<Decision> DecisionLog::FindNamed(std::string_view namespace_name, std::string_view name) const {
  if (has_newest_ && newest_.pod_name == name && newest_.pod_namespace == namespace_name) return newest_;
  for (std::size_t i = 0; i < older_.size(); ++i) {
    if (Older(i).pod_name() == name && Older(i).pod_namespace() == namespace_name) return Older(i).Unpack();
  }
  return std::nullopt;
}

absl::flat_hash_map<std::string_view, std::string_view> DecisionLog::Messages() const {
  absl::flat_hash_map<std::string_view, std::string_view> found;
  if (has_newest_) found.try_emplace(newest_.pod_uid, newest_.message);
  for (std::size_t i = 0; i < older_.size(); ++i) found.try_emplace(Older(i).pod_uid(), Older(i).message());
  return found;
}

}  // namespace berth::scheduler
