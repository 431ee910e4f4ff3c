// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/change_log.h"

#include <utility>

namespace berth::ask {

void ChangeLog::Push(StateChange change) {
  const std::lock_guard lock(mutex_);
  state_.Apply(change);
  ++count_;
  changes_.push_back(std::move(change));
  if (changes_.size() > kChangesMax) changes_.pop_front();
}

void ChangeLog::SetFacts(std::string source, std::string kubernetes_version, std::vector<std::string> left_out) {
  const std::lock_guard lock(mutex_);
  state_.SetSource(std::move(source));
  state_.SetVersion(std::move(kubernetes_version));
  state_.SetLeftOut(std::move(left_out));
}

ChangeLog::News ChangeLog::Since(std::uint64_t from) const {
  News news;
  const std::lock_guard lock(mutex_);
  const whatif::ClusterState& state = state_.state();
  news.until = count_;
  news.source = state.source;
  news.kubernetes_version = state.kubernetes_version;
  news.left_out = state.left_out;
  const std::uint64_t missed = count_ - from;
  if (from == 0 || missed > changes_.size()) {
    news.whole = state;
  } else {
    news.changes.assign(changes_.end() - static_cast<std::ptrdiff_t>(missed), changes_.end());
  }
  return news;
}

}  // namespace berth::ask
