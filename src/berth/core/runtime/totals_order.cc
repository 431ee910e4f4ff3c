// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/totals_order.h"

#include <algorithm>
#include <string>

namespace berth::runtime {

using framework::NodeIndex;

namespace {

std::string_view BytesOf(std::span<const std::uint32_t> marks) {
  return {reinterpret_cast<const char*>(marks.data()), marks.size_bytes()};
}

}  // namespace

void TotalsOrder::Reset(std::size_t width) {
  width_ = width;
  row_count_ = 0;
  places_.clear();
  levels_.clear();
  free_levels_.clear();
  groups_.clear();
  marks_.clear();
  free_groups_.clear();
  live_.clear();
  group_of_marks_.clear();
  last_level_ = kNoLevel;
}

TotalsOrder::GroupId TotalsOrder::GroupOf(NodeIndex row) const {
  if (row >= places_.size() || places_[row].level == kNoLevel) return kNoGroup;
  return levels_[places_[row].level].group;
}

TotalsOrder::LevelId TotalsOrder::BestLevel(GroupId group, std::span<const std::uint32_t> left_out) const {
  const auto& levels = groups_[group].levels;
  for (auto it = levels.rbegin(); it != levels.rend(); ++it) {
    if (levels_[it->second].rows.size() > left_out[it->second]) return it->second;
  }
  return kNoLevel;
}

bool TotalsOrder::IsOf(LevelId level, std::int64_t total, std::span<const std::uint32_t> marks) const {
  if (level == kNoLevel) return false;
  const Level& known = levels_[level];
  if (known.group == kNoGroup || known.total != total) return false;
  const std::span<const std::uint32_t> own = MarksOf(known.group);
  return std::equal(own.begin(), own.end(), marks.begin());
}

TotalsOrder::GroupId TotalsOrder::GroupFor(std::span<const std::uint32_t> marks) {
  const auto known = group_of_marks_.find(BytesOf(marks));
  if (known != group_of_marks_.end()) return known->second;
  GroupId group;
  if (free_groups_.empty()) {
    group = static_cast<GroupId>(groups_.size());
    groups_.emplace_back();
    marks_.insert(marks_.end(), marks.begin(), marks.end());
  } else {
    group = free_groups_.back();
    free_groups_.pop_back();
    std::copy(marks.begin(), marks.end(), marks_.begin() + static_cast<std::ptrdiff_t>(group * width_));
  }
  groups_[group].live_index = live_.size();
  live_.push_back(group);
  group_of_marks_.emplace(BytesOf(marks), group);
  return group;
}

TotalsOrder::LevelId TotalsOrder::LevelFor(GroupId group, std::int64_t total) {
  const auto [it, is_new] = groups_[group].levels.try_emplace(total, kNoLevel);
  if (!is_new) return it->second;
  LevelId level;
  if (free_levels_.empty()) {
    level = static_cast<LevelId>(levels_.size());
    levels_.emplace_back();
  } else {
    level = free_levels_.back();
    free_levels_.pop_back();
  }
  Level& made = levels_[level];
  made.group = group;
  made.total = total;
  it->second = level;
  return level;
}

void TotalsOrder::Put(NodeIndex row, std::int64_t total, std::span<const std::uint32_t> marks) {
  if (row >= places_.size()) places_.resize(row + 1);
  Place& place = places_[row];
  if (IsOf(place.level, total, marks)) return;
  Remove(row);
  if (!IsOf(last_level_, total, marks)) last_level_ = LevelFor(GroupFor(marks), total);
  Level& level = levels_[last_level_];
  place = {last_level_, static_cast<std::uint32_t>(level.rows.size())};
  level.rows.push_back(row);
  ++groups_[level.group].size;
  ++row_count_;
}

void TotalsOrder::Remove(NodeIndex row) {
  if (row >= places_.size()) return;
  Place& gone = places_[row];
  if (gone.level == kNoLevel) return;
  const Place place = gone;
  gone.level = kNoLevel;
  --row_count_;
  Level& level = levels_[place.level];
  const NodeIndex last = level.rows.back();
  level.rows[place.index] = last;
  if (last != row) places_[last].index = place.index;
  level.rows.pop_back();
  const GroupId id = level.group;
  Group& group = groups_[id];
  --group.size;
  if (!level.rows.empty()) return;
  group.levels.erase(level.total);
  level.group = kNoGroup;
  free_levels_.push_back(place.level);
  if (group.size != 0) return;
  group_of_marks_.erase(BytesOf(MarksOf(id)));
  live_[group.live_index] = live_.back();
  groups_[live_.back()].live_index = group.live_index;
  live_.pop_back();
  free_groups_.push_back(id);
}

std::size_t TotalsOrder::Bytes() const {
  // A row has a place, and an entry in a level; the levels' spare capacity is estimated.
  constexpr std::size_t kEntryBytes = sizeof(NodeIndex) * 3 / 2;
  return sizeof(*this) + places_.capacity() * sizeof(Place) + row_count_ * kEntryBytes +
         levels_.capacity() * (sizeof(Level) + 2 * sizeof(std::int64_t)) +
         groups_.capacity() * (sizeof(Group) + 64 + width_ * sizeof(std::uint32_t));
}

}  // namespace berth::runtime
