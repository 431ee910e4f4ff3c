// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/nominator.h"

#include <algorithm>
#include <utility>

namespace berth::queue {

void Nominator::AddNominatedPod(framework::PodInfoPtr pod, std::optional<std::string_view> node_name) {
  DeleteNominated(pod->uid);
  const std::string_view node = node_name.value_or(pod->nominated_node_name);
  if (node.empty()) return;
  node_by_uid_.emplace(pod->uid, node);
  Touch(node);
  pods_by_node_[node].push_back(std::move(pod));
}

void Nominator::DeleteNominated(std::string_view uid) {
  if (node_by_uid_.empty()) return;
  const auto nomination = node_by_uid_.find(uid);
  if (nomination == node_by_uid_.end()) return;
  const auto pods = pods_by_node_.find(nomination->second);
  Touch(nomination->second);
  std::erase_if(pods->second, [uid](const framework::PodInfoPtr& pod) { return pod->uid == uid; });
  if (pods->second.empty()) pods_by_node_.erase(pods);
  node_by_uid_.erase(nomination);
}

void Nominator::UpdateNominated(const framework::PodInfo* old_pod, framework::PodInfoPtr new_pod) {
  const bool says_nothing =
      new_pod->nominated_node_name.empty() && (old_pod == nullptr || old_pod->nominated_node_name.empty());
  if (!says_nothing) return AddNominatedPod(std::move(new_pod));
  // Copied, because AddNominatedPod() first deletes the string that NominatedNode() returned.
  const std::string node(NominatedNode(new_pod->uid));
  if (!node.empty()) AddNominatedPod(std::move(new_pod), node);
}

void Nominator::Touch(std::string_view node_name) {
  log_.emplace_back(node_name);
  // A log longer than the nominations themselves is no faster than reading them all.
  const std::size_t log_max = 2 * node_by_uid_.size() + 1024;
  if (log_.size() <= log_max) return;
  const std::size_t dropped = log_.size() / 2;
  log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(dropped));
  log_base_ += dropped;
}

std::optional<std::span<const std::string>> Nominator::ChangedSince(std::uint64_t since) const {
  if (since < log_base_) return std::nullopt;
  return std::span<const std::string>(log_).subspan(std::min<std::size_t>(since - log_base_, log_.size()));
}

std::span<const framework::PodInfoPtr> Nominator::PodsForNode(std::string_view node_name) const {
  if (pods_by_node_.empty()) return {};
  const auto pods = pods_by_node_.find(node_name);
  return pods == pods_by_node_.end() ? std::span<const framework::PodInfoPtr>() : std::span(pods->second);
}

framework::PodInfoPtr Nominator::FindPod(std::string_view uid) const {
  for (const framework::PodInfoPtr& pod : PodsForNode(NominatedNode(uid))) {
    if (pod->uid == uid) return pod;
  }
  return nullptr;
}

std::string_view Nominator::NominatedNode(std::string_view uid) const {
  if (node_by_uid_.empty()) return {};
  const auto nomination = node_by_uid_.find(uid);
  return nomination == node_by_uid_.end() ? std::string_view() : std::string_view(nomination->second);
}

}  // namespace berth::queue
