// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/agenda.h"

#include <algorithm>
#include <vector>

namespace berth::program_sim {

Agenda::Key Agenda::At(Time time, const void* owner, std::function<void()> work) {
  const Key key{std::max(time, now_), next_++};
  entries_.emplace_hint(entries_.end(), key, Entry{owner, std::move(work)});
  return key;
}

void Agenda::Forget(const void* owner) {
  // What the work holds may put something here, or forget, as it goes.
  std::vector<Entry> dropped;
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->second.owner == owner) {
      dropped.push_back(std::move(it->second));
      it = entries_.erase(it);
    } else {
      ++it;
    }
  }
}

std::size_t Agenda::CountOf(const void* owner) const {
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(),
                                                [owner](const auto& entry) { return entry.second.owner == owner; }));
}

bool Agenda::RunUntil(Time end, const std::function<bool()>& goes_on) {
  int steps = 0;
  while (!entries_.empty() && entries_.begin()->first.first <= end && goes_on()) {
    auto entry = entries_.extract(entries_.begin());
    if (entry.key().first > now_) steps = 0;
    now_ = entry.key().first;
    if (++steps > kStepsMax) return false;
    entry.mapped().work();
  }
  if (goes_on()) now_ = std::max(now_, end);
  return true;
}

void ProcessLoop::Post(std::function<void()> work) {
  if (!is_closed_) agenda_.At(agenda_.Now(), this, std::move(work));
}

std::function<void()> ProcessLoop::PostAfter(Duration delay, std::function<void()> work) {
  if (is_closed_) return [] {};
  const Agenda::Key key = agenda_.After(delay, this, std::move(work));
  return [this, key] {
    if (!is_closed_) agenda_.Cancel(key);
  };
}

void ProcessLoop::Close() {
  is_closed_ = true;
  agenda_.Forget(this);
}

}  // namespace berth::program_sim
