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
  // Destructors of what the work holds may add entries or call Forget(), so the entries are destroyed last.
  std::vector<Entry> dropped;
  for (auto* entries : {&entries_, &held_}) {
    for (auto it = entries->begin(); it != entries->end();) {
      if (it->second.owner == owner) {
        dropped.push_back(std::move(it->second));
        it = entries->erase(it);
      } else {
        ++it;
      }
    }
  }
  held_owners_.erase(owner);
}

// The entries keep their keys, so that Cancel() still finds them.
void Agenda::LetGo(const void* owner) {
  held_owners_.erase(owner);
  for (auto it = held_.begin(); it != held_.end();) {
    const auto entry = it++;
    if (entry->second.owner == owner) entries_.insert(held_.extract(entry));
  }
}

std::size_t Agenda::CountOf(const void* owner) const {
  const auto is_owners = [owner](const auto& entry) { return entry.second.owner == owner; };
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), is_owners) +
                                  std::count_if(held_.begin(), held_.end(), is_owners));
}

bool Agenda::RunUntil(Time end, const std::function<bool()>& goes_on) {
  int steps = 0;
  while (!entries_.empty() && entries_.begin()->first.first <= end && goes_on()) {
    auto entry = entries_.extract(entries_.begin());
    if (held_owners_.contains(entry.mapped().owner)) {
      held_.insert(std::move(entry));
      continue;
    }
    if (entry.key().first > now_) steps = 0;
    now_ = std::max(now_, entry.key().first);  // Entries that were held have an earlier time.
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
