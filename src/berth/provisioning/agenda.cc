// SPDX-License-Identifier: Apache-2.0
#include "berth/provisioning/agenda.h"

#include <algorithm>

namespace berth::provisioning {

void Agenda::Set(const std::string& key, Time created, const Plans& plans) {
  const auto known = entries_.find(key);
  if (known != entries_.end() && known->second.created == created && known->second.plans == plans) return;
  Remove(key);
  if (plans == Plans{}) return;
  entries_.emplace(key, Entry{created, plans});
  if (plans.check) checks_.emplace(*plans.check, key);
  if (plans.end) ends_.emplace(*plans.end, key);
  if (plans.write) writes_.emplace(*plans.write, key);
  if (plans.is_asked) ++asked_count_;
}

void Agenda::Remove(std::string_view key) {
  const auto known = entries_.find(key);
  if (known == entries_.end()) return;
  const auto& [name, entry] = *known;
  if (entry.plans.check && checks_.erase({*entry.plans.check, name}) == 0) line_.erase({entry.created, name});
  if (entry.plans.end) ends_.erase({*entry.plans.end, name});
  if (entry.plans.write) writes_.erase({*entry.plans.write, name});
  if (entry.plans.is_asked) --asked_count_;
  entries_.erase(known);
}

std::optional<std::string> Agenda::FirstCheck(Time now) {
  while (!checks_.empty() && checks_.begin()->first <= now) {
    const auto due = checks_.extract(checks_.begin());
    line_.emplace(entries_.find(due.value().second)->second.created, due.value().second);
  }
  return line_.empty() ? std::nullopt : std::optional(line_.begin()->second);
}

std::optional<Time> Agenda::NextCheck() const {
  if (!line_.empty()) return entries_.find(line_.begin()->second)->second.plans.check;
  return FirstOf(checks_);
}

std::vector<std::string> Agenda::DueIn(const Times& times, Time now) {
  std::vector<std::string> due;
  for (const auto& [time, key] : times) {
    if (time > now) break;
    due.push_back(key);
  }
  std::ranges::sort(due);
  return due;
}

std::optional<Time> Agenda::FirstOf(const Times& times) {
  return times.empty() ? std::nullopt : std::optional(times.begin()->first);
}

}  // namespace berth::provisioning
